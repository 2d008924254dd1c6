//! Clients that leave, and a server that stops.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{connect, finish, first_part, get, post, speech};
use crate::running::Server;

/// Minutes of speech.
fn long(stream: bool) -> Value {
    let text = "The quick brown fox jumps. ".repeat(150);
    json!({ "input": text, "stream": stream, "response_format": "pcm" })
}

fn begin(server: &Server, document: &Value) -> TcpStream {
    let mut stream = connect(server.address);
    stream.write_all(&post(document)).unwrap();
    stream
}

#[test]
fn a_client_that_goes_away_is_not_spoken_for() {
    let server = Server::start(|_| {});
    // In the middle of a stream.
    let mut listening = begin(&server, &long(true));
    first_part(&mut listening);
    server.until("myxtts_rows_busy", 1.0);
    drop(listening);
    server.until("myxtts_texts_total{ending=\"cancelled\"}", 1.0);
    server.until("myxtts_rows_busy", 0.0);
    // Before a word was heard.
    let waiting = begin(&server, &long(false));
    server.until("myxtts_rows_busy", 1.0);
    drop(waiting);
    server.until("myxtts_texts_total{ending=\"cancelled\"}", 2.0);
    server.until("myxtts_rows_busy", 0.0);
    // Others are served as before.
    assert_eq!(
        speech(server.address, &json!({ "input": "Hello." })).status,
        200
    );
    let served = server.stop();
    assert_eq!((served.texts, served.cut), (1, 0));
}

#[test]
fn a_stop_lets_speech_end() {
    let server = Server::start(|config| config.rows = 1);
    let text = "The quick brown fox jumps. ".repeat(4);
    let short = json!({ "input": text, "stream": true, "response_format": "pcm" });
    let mut spoken = begin(&server, &short);
    let heard = first_part(&mut spoken);
    let mut waiting = begin(&server, &json!({ "input": "Hello." }));
    server.until("myxtts_queue_length", 1.0);
    let before = Instant::now();
    server.ask_to_stop();
    // Who waits is told; who listens hears the end; who comes is not let in.
    let refused = finish(&mut waiting, Vec::new());
    assert_eq!(refused.status, 503);
    insta::assert_snapshot!(refused.refusal());
    let answer = finish(&mut spoken, heard);
    assert!(answer.is_whole);
    let address = server.address;
    let served = server.stop();
    assert_eq!((served.texts, served.cut), (1, 0));
    assert!(before.elapsed() < Duration::from_secs(60));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_stop_cuts_what_takes_too_long() {
    let server = Server::start(|config| config.grace = Duration::from_millis(300));
    let mut streamed = begin(&server, &long(true));
    let heard = first_part(&mut streamed);
    let mut whole = begin(&server, &long(false));
    server.until("myxtts_rows_busy", 2.0);
    let before = Instant::now();
    server.ask_to_stop();
    let served = server.stop();
    assert_eq!((served.texts, served.cut), (0, 2));
    assert!(before.elapsed() < Duration::from_secs(30));
    // A stream that was cut is not a stream that ended.
    assert!(!finish(&mut streamed, heard).is_whole);
    let refused = finish(&mut whole, Vec::new());
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["error"]["code"], "stopping");
}

/// Nobody listens: the end comes at once.
#[test]
fn an_idle_server_stops_at_once() {
    let server = Server::start(|_| {});
    assert_eq!(get(server.address, "/health").status, 200);
    // A connection that is kept open does not hold it.
    let _idle = connect(server.address);
    let before = Instant::now();
    server.stop();
    assert!(
        before.elapsed() < Duration::from_secs(10),
        "{:?}",
        before.elapsed()
    );
}
