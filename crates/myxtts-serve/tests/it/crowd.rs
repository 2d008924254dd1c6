//! Many at once.

use std::io::Write;
use std::sync::Barrier;
use std::thread::scope;

use serde_json::json;

use crate::client::{connect, finish, first_part, get, post, speech};
use crate::running::Server;

/// Half of them streamed, four voices and seeds among them: each gets what it
/// would have got alone.
#[test]
fn fifty_at_once_are_all_answered() {
    let server = Server::start(|_| {});
    let ask = |n: usize| {
        let voice = ["anna", "zoe"][n % 2];
        let request = json!({
            "input": "The quick brown fox jumps.",
            "voice": voice,
            "seed": n % 3,
            "response_format": "pcm",
            "stream": n % 4 < 2,
        });
        speech(server.address, &request)
    };
    let alone: Vec<Vec<u8>> = (0..12).map(|n| ask(n).body).collect();
    let together = Barrier::new(50);
    scope(|scope| {
        let threads: Vec<_> = (0..50)
            .map(|n| {
                let (together, ask, alone) = (&together, &ask, &alone);
                scope.spawn(move || {
                    together.wait();
                    let answer = ask(n);
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    assert!(answer.is_whole);
                    let expected = &alone[n % 12];
                    assert_eq!(answer.body.len(), expected.len());
                    let far = |(a, b): (&[u8; 2], &[u8; 2])| {
                        i16::from_le_bytes(*a).abs_diff(i16::from_le_bytes(*b)) > 33
                    };
                    let [ours, theirs] = [&answer.body, expected].map(|it| it.as_chunks::<2>().0);
                    assert!(
                        !ours.iter().zip(theirs).any(far),
                        "request {n} is another sound"
                    );
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(server.metric("myxtts_queue_length"), 0.0);
    server.until("myxtts_rows_busy", 0.0);
    assert_eq!(server.metric("myxtts_texts_total{ending=\"spoken\"}"), 62.0);
    assert_eq!(
        server.metric("myxtts_requests_total{status=\"200\"}"),
        62.0 + 3.0
    );
    let served = server.stop();
    assert_eq!((served.texts, served.cut), (62, 0));
}

/// The pieces of a text that is not streamed are spoken beside each other, and
/// there are many more of them than rows.
#[test]
fn a_long_text_does_not_hold_up_a_short_one() {
    let server = Server::start(|config| config.rows = 3);
    let long = json!({ "input": "The fox jumps. ".repeat(270), "response_format": "pcm" });
    let mut patient = connect(server.address);
    patient.write_all(&post(&long)).unwrap();
    server.until("myxtts_rows_busy", 1.0);
    for _ in 0..2 {
        let answer = speech(server.address, &json!({ "input": "Hello." }));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    // It was being spoken all the while.
    assert_eq!(server.metric("myxtts_rows_busy"), 1.0);
    assert_eq!(server.metric("myxtts_texts_total{ending=\"spoken\"}"), 2.0);
    drop(patient);
    server.until("myxtts_texts_total{ending=\"cancelled\"}", 1.0);
    server.stop();
}

#[test]
fn a_full_queue_says_when_to_come_again() {
    let server = Server::start(|config| {
        config.rows = 1;
        config.queue = 1;
    });
    let long =
        json!({ "input": "The fox jumps. ".repeat(200), "stream": true, "response_format": "pcm" });
    // One is spoken, one waits.
    let mut spoken = connect(server.address);
    spoken.write_all(&post(&long)).unwrap();
    first_part(&mut spoken);
    let mut waiting = connect(server.address);
    waiting
        .write_all(&post(&json!({ "input": "Hello." })))
        .unwrap();
    server.until("myxtts_queue_length", 1.0);
    let refused = speech(server.address, &json!({ "input": "Hello." }));
    assert_eq!(refused.status, 503);
    let after: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&after));
    insta::assert_snapshot!(refused.refusal());
    assert_eq!(get(server.address, "/health").status, 200);
    // The place of a client that leaves is free for another.
    drop(waiting);
    let mut next = connect(server.address);
    let before = std::time::Instant::now();
    loop {
        next.write_all(&post(&json!({ "input": "Hello." })))
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        if server.metric("myxtts_queue_length") == 1.0 {
            break;
        }
        assert!(before.elapsed().as_secs() < 30);
        next = connect(server.address);
    }
    // When the one that is spoken leaves, the one that waits is spoken.
    drop(spoken);
    let answer = finish(&mut next, Vec::new());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        server.metric("myxtts_texts_total{ending=\"cancelled\"}"),
        1.0
    );
    server.stop();
}
