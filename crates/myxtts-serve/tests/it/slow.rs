//! Clients that take their time.

use std::io::{Read, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use myxtts_serve::Patience;

use crate::client::{JSON, connect, finish, get, request};
use crate::running::Server;

fn impatient() -> Server {
    Server::start(|config| {
        config.patience = Patience {
            head: Duration::from_millis(500),
            body: Duration::from_millis(500),
            reading: Duration::from_millis(500),
        };
    })
}

/// A line at a time, and never the last.
#[test]
fn a_head_that_does_not_end_is_not_waited_for() {
    let server = impatient();
    let mut slow = connect(server.address);
    let before = Instant::now();
    slow.write_all(b"POST /v1/audio/speech HTTP/1.1\r\n")
        .unwrap();
    let mut rest = Vec::new();
    for _ in 0..20 {
        sleep(Duration::from_millis(100));
        if slow.write_all(b"X-Slow: yes\r\n").is_err() {
            break;
        }
        // The server still answers others.
        assert_eq!(get(server.address, "/health").status, 200);
    }
    let _ = slow.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
    assert!(before.elapsed() < Duration::from_secs(30));
    server.stop();
}

#[test]
fn a_body_that_does_not_come_is_told_so() {
    let server = impatient();
    let mut slow = connect(server.address);
    let headers = [JSON, ("Content-Length", "1000")];
    let head = request("POST", "/v1/audio/speech", &headers, b"");
    slow.write_all(&head).unwrap();
    slow.write_all(b"{\"input\": \"Hel").unwrap();
    let answer = finish(&mut slow, Vec::new());
    assert_eq!(answer.status, 408);
    insta::assert_snapshot!(answer.refusal());
    server.stop();
}

/// A connection that says nothing is closed.
#[test]
fn an_idle_connection_is_closed() {
    let server = impatient();
    let mut idle = connect(server.address);
    let before = Instant::now();
    let mut rest = Vec::new();
    let _ = idle.read_to_end(&mut rest);
    assert!(before.elapsed() < Duration::from_secs(30));
    server.stop();
}
