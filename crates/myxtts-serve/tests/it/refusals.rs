//! What cannot be done is refused in words, in the shape that clients know.

use serde_json::{Value, json};

use crate::client::{JSON, get, request, send, speech};
use crate::running::Server;

#[test]
fn what_cannot_be_spoken_is_refused_with_the_reason() {
    let server = Server::start(|config| config.max_text = 100);
    let mut told = String::new();
    let bodies: Vec<(&str, Value)> = vec![
        ("no text", json!({ "model": "tiny", "voice": "anna" })),
        ("empty text", json!({ "input": "" })),
        ("only spaces", json!({ "input": " \n " })),
        ("long text", json!({ "input": "a".repeat(101) })),
        ("unknown field", json!({ "input": "Hello.", "tempo": 2 })),
        ("wrong type", json!({ "input": "Hello.", "speed": "fast" })),
        (
            "unknown voice",
            json!({ "input": "Hello.", "voice": "alloy" }),
        ),
        (
            "traversal",
            json!({ "input": "Hello.", "voice": "../voices/anna" }),
        ),
        (
            "a path",
            json!({ "input": "Hello.", "voice": "/etc/passwd" }),
        ),
        (
            "a name with an end",
            json!({ "input": "Hello.", "voice": "anna\u{0}" }),
        ),
        (
            "an ending",
            json!({ "input": "Hello.", "voice": "anna.wav" }),
        ),
        (
            "unknown language",
            json!({ "input": "Hello.", "language": "fa" }),
        ),
        (
            "not a language",
            json!({ "input": "Hello.", "language": "../en" }),
        ),
        (
            "unknown format",
            json!({ "input": "Hello.", "response_format": "aac" }),
        ),
        (
            "unknown model",
            json!({ "input": "Hello.", "model": "gpt-9" }),
        ),
        ("too fast", json!({ "input": "Hello.", "speed": 4.5 })),
        ("too hot", json!({ "input": "Hello.", "temperature": 0.0 })),
        ("no probability", json!({ "input": "Hello.", "top_p": 0 })),
        (
            "a reward",
            json!({ "input": "Hello.", "repetition_penalty": 0.5 }),
        ),
        ("negative seed", json!({ "input": "Hello.", "seed": -1 })),
        (
            "instructions",
            json!({ "input": "Hello.", "instructions": "whisper" }),
        ),
        (
            "both",
            json!({ "input": "Hello.", "stream": false, "stream_format": "sse" }),
        ),
        (
            "stream format",
            json!({ "input": "Hello.", "stream_format": "rtp" }),
        ),
    ];
    for (name, body) in &bodies {
        let answer = speech(server.address, body);
        told += &format!("{name}: {}\n", answer.refusal());
    }
    let raw = |body: &[u8]| request("POST", "/v1/audio/speech", &[JSON], body);
    let plain = request(
        "POST",
        "/v1/audio/speech",
        &[("Content-Type", "text/plain")],
        b"{\"input\": \"Hello.\"}",
    );
    for (name, bytes) in [
        ("bad JSON", raw(b"{\"input\": ")),
        ("not an object", raw(b"[1, 2]")),
        ("not UTF-8", raw(b"{\"input\": \"\xff\"}")),
        ("not JSON by its type", plain),
        ("wrong method", request("GET", "/v1/audio/speech", &[], b"")),
        (
            "nothing there",
            request("GET", "/v1/../etc/passwd", &[], b""),
        ),
    ] {
        told += &format!("{name}: {}\n", send(server.address, &bytes).refusal());
    }
    insta::assert_snapshot!(told);
    // Names that clients have built in mean the one model there is.
    for model in ["tts-1", "tts-1-hd", "gpt-4o-mini-tts", "tiny"] {
        let asked = json!({ "input": "Hello.", "model": model, "instructions": "" });
        assert_eq!(speech(server.address, &asked).status, 200, "{model}");
    }
    assert_eq!(get(server.address, "/health").status, 200);
    assert_eq!(server.stop().texts, 4);
}

/// A body that says how large it is, one that lies, and one that does not say.
#[test]
fn a_huge_body_is_not_read() {
    let server = Server::start(|_| {});
    let huge = json!({ "input": "a".repeat(8 << 20) }).to_string();
    let told = request("POST", "/v1/audio/speech", &[JSON], huge.as_bytes());
    let answer = send(server.address, &told);
    assert_eq!(answer.status, 413, "{}", answer.text());
    let chunked = [
        format!("{:x}\r\n", huge.len()).as_bytes(),
        huge.as_bytes(),
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    let headers = [JSON, ("Transfer-Encoding", "chunked")];
    let untold = request("POST", "/v1/audio/speech", &headers, &chunked);
    let answer = send(server.address, &untold);
    assert_eq!(answer.status, 413, "{}", answer.text());
    // Just under the limit of bytes, and over that of characters.
    let long = json!({ "input": "a".repeat(40_000) });
    let answer = speech(server.address, &long);
    assert_eq!(answer.json()["error"]["code"], "string_above_max_length");
    server.stop();
}
