//! Who is answered.

use std::net::Ipv4Addr;

use myxtts_serve::{ServeError, Token, bind};

use crate::client::{JSON, get, request, send};
use crate::running::{Server, config};

const BODY: &[u8] = b"{\"input\": \"Hello.\", \"response_format\": \"pcm\"}";

#[test]
fn a_page_that_points_its_name_here_is_refused() {
    let server = Server::start(|_| {});
    let ask = |host: &str, path: &str| {
        send(
            server.address,
            &request("GET", path, &[("Host", host)], b""),
        )
    };
    for host in ["evil.example", "127.0.0.1.evil.example:80", "192.168.0.9"] {
        for path in ["/v1/voices", "/health", "/metrics", "/v1/audio/speech"] {
            let answer = ask(host, path);
            assert_eq!(answer.status, 403, "{host} {path}");
            assert_eq!(answer.json()["error"]["code"], "wrong_host");
        }
    }
    for host in ["localhost:1234", "127.0.0.1", "[::1]:80"] {
        assert_eq!(ask(host, "/v1/voices").status, 200, "{host}");
    }
    // Not a word about whom it is for.
    let nobody = b"GET /v1/voices HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert_eq!(send(server.address, nobody).status, 403);
    let told = ask("evil.example", "/v1/voices").refusal();
    insta::assert_snapshot!(told);
    server.stop();
}

#[test]
fn a_token_keeps_strangers_out() {
    let token = "correct-horse-battery";
    let server = Server::start(|config| {
        config.host = Ipv4Addr::UNSPECIFIED.into();
        config.token = Some(Token::new(token).unwrap());
    });
    let address = (Ipv4Addr::LOCALHOST, server.address.port()).into();
    let ask = |authorization: Option<&str>| {
        let mut headers = vec![JSON, ("Host", "speech.example")];
        headers.extend(authorization.map(|line| ("Authorization", line)));
        send(
            address,
            &request("POST", "/v1/audio/speech", &headers, BODY),
        )
    };
    for wrong in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer correct-horse-batterx"),
        Some("Bearer correct-horse-battery2"),
        Some("Basic correct-horse-battery"),
        Some("correct-horse-battery"),
    ] {
        let answer = ask(wrong);
        assert_eq!(answer.status, 401, "{wrong:?}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert_eq!(answer.json()["error"]["code"], "invalid_api_key");
    }
    assert_eq!(ask(Some("Bearer correct-horse-battery")).status, 200);
    assert_eq!(ask(Some("bearer  correct-horse-battery")).status, 200);
    assert_eq!(get(address, "/v1/voices").status, 401);
    assert_eq!(get(address, "/metrics").status, 401);
    assert_eq!(get(address, "/health").status, 200);
    insta::assert_snapshot!(ask(None).refusal());
    assert_eq!(server.stop().texts, 2);
}

#[test]
fn addresses_that_cannot_be_had() {
    let mut open = config();
    open.host = Ipv4Addr::UNSPECIFIED.into();
    open.port = 8020;
    let why = bind(open).unwrap_err();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut second = config();
    second.port = taken.local_addr().unwrap().port();
    let port = second.port.to_string();
    let taken = bind(second).unwrap_err();
    let mut foreign = config();
    foreign.host = Ipv4Addr::new(192, 0, 2, 1).into();
    foreign.token = Some(Token::random().unwrap());
    let foreign = bind(foreign).unwrap_err();
    let short = Token::new("secret").unwrap_err();
    let errors: [ServeError; 4] = [why, taken, foreign, short];
    let told = errors.map(|why| why.to_string().replace(&port, "PORT"));
    insta::assert_snapshot!(told.join("\n\n"));
}
