//! A client of a few lines, that can also behave badly.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// What came back.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the body came to its end.
    pub is_whole: bool,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|why| panic!("{why}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Status and message, for snapshots.
    pub fn refusal(&self) -> String {
        let error = &self.json()["error"];
        let [message, kind, param, code] =
            ["message", "type", "param", "code"].map(|key| error[key].as_str().unwrap_or("-"));
        format!(
            "{} {kind} param={param} code={code}\n  {message}",
            self.status
        )
    }
}

/// A request as bytes.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    let has = |name: &str| {
        headers
            .iter()
            .any(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    if !has("host") {
        head += "Host: localhost\r\n";
    }
    if !body.is_empty() && !has("content-length") && !has("transfer-encoding") {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    [head.as_bytes(), body].concat()
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    stream
}

/// Sends and reads to the end.
pub fn send(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = connect(address);
    // A server that has heard enough may close before all was sent.
    let _ = stream.write_all(request);
    finish(&mut stream, Vec::new())
}

pub fn get(address: SocketAddr, path: &str) -> Answer {
    send(address, &request("GET", path, &[], b""))
}

pub const JSON: (&str, &str) = ("Content-Type", "application/json");

pub fn post(document: &Value) -> Vec<u8> {
    let body = document.to_string();
    request("POST", "/v1/audio/speech", &[JSON], body.as_bytes())
}

pub fn speech(address: SocketAddr, document: &Value) -> Answer {
    send(address, &post(document))
}

/// Reads what is left of an answer.
pub fn finish(stream: &mut TcpStream, mut bytes: Vec<u8>) -> Answer {
    let _ = stream.read_to_end(&mut bytes);
    parse(&bytes)
}

/// Reads until some of the body is there; returns all bytes so far.
pub fn first_part(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let count = stream.read(&mut part).unwrap();
        assert!(count > 0, "closed: {}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&part[..count]);
        if find(&bytes, b"\r\n\r\n").is_some_and(|end| bytes.len() > end + 100) {
            return bytes;
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn parse(bytes: &[u8]) -> Answer {
    let end = find(bytes, b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut answer = Answer {
        status: status.parse().unwrap(),
        headers,
        body: bytes[end + 4..].to_vec(),
        is_whole: true,
    };
    if answer.header("transfer-encoding") == Some("chunked") {
        (answer.body, answer.is_whole) = unchunked(&answer.body);
    } else if let Some(length) = answer.header("content-length") {
        answer.is_whole = answer.body.len() == length.parse::<usize>().unwrap();
    }
    answer
}

fn unchunked(mut bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(end) = find(bytes, b"\r\n") {
        let size = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let size = usize::from_str_radix(&size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        let Some(part) = bytes.get(end + 2..end + 2 + size) else {
            break;
        };
        body.extend_from_slice(part);
        bytes = bytes.get(end + 4 + size..).unwrap_or_default();
    }
    (body, false)
}
