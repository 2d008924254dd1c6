//! `serve`, with a model too small to say anything sensible.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use myxtts_audio::units::Seconds;
use myxtts_audio::{Limits, decode_bytes, write_wav_pcm16};
use serde_json::Value;

use crate::support::{command_in, run_in};
use crate::tiny::{Tiny, recording};

/// A run with one checkpoint and one voice, and a folder of voices.
fn run_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("runs/first/checkpoints/step_000000100");
    Tiny::new(&["en"], 30).save(&checkpoint);
    fs::create_dir(checkpoint.join("voices")).unwrap();
    write_wav_pcm16(&checkpoint.join("voices/anna.wav"), &recording(30_000)).unwrap();
    let voices = folder.path().join("voices");
    fs::create_dir(&voices).unwrap();
    write_wav_pcm16(&voices.join("me.wav"), &recording(40_000)).unwrap();
    write_wav_pcm16(&voices.join("short.wav"), &recording(400)).unwrap();
    fs::write(voices.join("notes.txt"), "not a voice").unwrap();
    folder
}

/// A server that is ended with its test.
struct Serving {
    child: Child,
    started: Value,
    port: u16,
}

fn serve(folder: &Path, arguments: &[&str]) -> Serving {
    let mut command = command_in(folder);
    let fixed = [
        "serve",
        "--json",
        "--port",
        "0",
        "--set",
        "training.backend=cpu",
        // A test that is killed takes its server along.
        "--parent",
    ];
    command.args(fixed).args(arguments).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One document, then nothing until the end.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut text = String::new();
    let started = loop {
        let Some(Ok(line)) = lines.next() else {
            let mut words = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut words);
            panic!("it did not start: {text}{words}");
        };
        text += &line;
        if let Ok(started) = serde_json::from_str::<Value>(&text) {
            break started;
        }
    };
    let port = started["url"].as_str().unwrap().rsplit(':').next().unwrap();
    let port = port.parse().unwrap();
    Serving {
        child,
        started,
        port,
    }
}

impl Serving {
    fn begin(&self, head: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(120)))
            .unwrap();
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Status and body.
    fn ask(&self, head: &str, body: &str) -> (u16, Vec<u8>) {
        let mut bytes = Vec::new();
        self.begin(head, body).read_to_end(&mut bytes).unwrap();
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let status = String::from_utf8_lossy(&bytes[9..12]).parse().unwrap();
        (status, bytes.split_off(end + 4))
    }

    fn speech(&self, body: &str) -> (u16, Vec<u8>) {
        self.ask("POST /v1/audio/speech", body)
    }

    #[cfg(unix)]
    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let kill = std::process::Command::new("kill")
            .args(["-s", name, &id])
            .status();
        assert!(kill.unwrap().success());
    }

    /// Exit code and last words.
    fn end(mut self) -> (Option<i32>, String) {
        let before = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            assert!(
                before.elapsed() < Duration::from_secs(60),
                "it does not end"
            );
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut words = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut words).unwrap();
        (code, words)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[test]
fn a_server_speaks_until_it_is_told_to_stop() {
    let folder = run_folder();
    // A recording, and the same voice as it is kept.
    let save = ["synthesize", "--set", "training.backend=cpu"];
    let files = [
        "--speaker-wav",
        "voices/me.wav",
        "--save-voice",
        "voices/kept.voice",
    ];
    let run = run_in(folder.path(), &[&save[..], &files].concat(), &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let serving = serve(folder.path(), &["--voices", "voices"]);
    let started = &serving.started;
    assert_eq!(started["model"], "first");
    assert_eq!(started["voices"], serde_json::json!(["anna", "kept", "me"]));
    assert_eq!(started["token"], Value::Null);
    assert_eq!(started["needs_token"], false);
    let notice = started["notices"][0].as_str().unwrap();
    assert!(notice.contains("short.wav is left out: "), "{notice}");
    let (status, bytes) =
        serving.speech(r#"{"input": "Hello there.", "voice": "me", "response_format": "wav"}"#);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
    let sound = decode_bytes(&bytes, &Limits::default()).unwrap();
    assert!(sound.waveform.duration().0 > 0.5);
    let kept = r#"{"input": "Hello there.", "voice": "kept", "response_format": "wav"}"#;
    assert_eq!(serving.speech(kept).1, bytes);
    // As `synthesize` speaks.
    let fixed = [
        "synthesize",
        "--set",
        "training.backend=cpu",
        "--text",
        "Hello there.",
    ];
    let rest = ["--speaker-wav", "voices/me.wav", "--out", "a.wav"];
    let run = run_in(folder.path(), &[&fixed[..], &rest].concat(), &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(fs::read(folder.path().join("a.wav")).unwrap(), bytes);
    serving.signal("TERM");
    let (code, words) = serving.end();
    assert_eq!(code, Some(143), "{words}");
    let length = sound.waveform.duration();
    let length = Seconds(2.0 * length.0);
    let expected = format!("stopped by SIGTERM: 2 texts were spoken, {length} of speech\n");
    assert_eq!(words, expected);
}

/// Minutes of speech, as JSON.
fn long() -> String {
    let text = "The quick brown fox jumps. ".repeat(150);
    format!("{{\"input\": \"{text}\", \"response_format\": \"pcm\", \"stream\": true}}")
}

#[cfg(unix)]
#[test]
fn signals_end_speech_after_its_grace_and_at_once_when_repeated() {
    let folder = run_folder();
    let serving = serve(folder.path(), &["--grace", "0"]);
    let mut stream = serving.begin("POST /v1/audio/speech", &long());
    let mut some = [0; 600];
    stream.read_exact(&mut some).unwrap();
    serving.signal("INT");
    let (code, words) = serving.end();
    assert_eq!(code, Some(130), "{words}");
    assert!(words.contains(", 1 cut off"), "{words}");

    let serving = serve(folder.path(), &["--grace", "3600"]);
    let mut stream = serving.begin("POST /v1/audio/speech", &long());
    stream.read_exact(&mut some).unwrap();
    serving.signal("TERM");
    std::thread::sleep(Duration::from_millis(500));
    serving.signal("TERM");
    assert_eq!(serving.end().0, Some(143));
}

/// Fifty at once, and as many that leave: nothing is left open, and memory stays.
#[cfg(target_os = "linux")]
#[test]
fn a_crowd_leaves_nothing_behind() {
    let folder = run_folder();
    let serving = serve(folder.path(), &["--rows", "4"]);
    let of_process = |what: &str| format!("/proc/{}/{what}", serving.child.id());
    let open = || fs::read_dir(of_process("fd")).unwrap().count();
    let resident_kb = || -> u64 {
        let status = fs::read_to_string(of_process("status")).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let body = r#"{"input": "The fox jumps.", "voice": "anna", "response_format": "opus"}"#;
    let crowd = || {
        std::thread::scope(|scope| {
            for n in 0..50 {
                let serving = &serving;
                scope.spawn(move || match n % 2 {
                    0 => assert_eq!(serving.speech(body).0, 200),
                    _ => drop(serving.begin("POST /v1/audio/speech", &long())),
                });
            }
        });
        let idle = Instant::now();
        loop {
            let (_, page) = serving.ask("GET /metrics", "");
            let page = String::from_utf8(page).unwrap();
            if page.contains("myxtts_rows_busy 0\n") && page.contains("myxtts_queue_length 0\n") {
                break;
            }
            assert!(idle.elapsed() < Duration::from_secs(60), "{page}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    crowd();
    let (files, memory) = (open(), resident_kb());
    for _ in 0..3 {
        crowd();
    }
    // A connection may be open until its last bytes are taken.
    let before = Instant::now();
    while open() > files + 1 {
        assert!(
            before.elapsed() < Duration::from_secs(30),
            "{} of {files}",
            open()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let grown = resident_kb().saturating_sub(memory);
    assert!(grown < 60_000, "{grown} KB more than {memory} KB");
    serving.signal("INT");
    assert_eq!(serving.end().0, Some(130));
}

#[test]
fn what_cannot_be_served_is_refused_with_the_fix() {
    let folder = run_folder();
    let path = folder.path();
    let bare = path.join("runs/bare/checkpoints/step_000000100");
    Tiny::new(&["en"], 30).save(&bare);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--port", &port], 1, "or choose another --port"),
        (
            &["--host", "example.org"],
            2,
            "an address such as 127.0.0.1",
        ),
        (
            &["--host", "192.0.2.1"],
            1,
            "choose an address of this machine with --host",
        ),
        (
            &["--token", "secret"],
            2,
            "a token needs at least 16 letters",
        ),
        (
            &["--token-file", "nowhere"],
            2,
            "the token in nowhere cannot be read",
        ),
        (
            &["--token", "secret", "--token-file", "nowhere"],
            2,
            "cannot be used with",
        ),
        (
            &["--voices", "nowhere"],
            2,
            "the voices in nowhere cannot be read",
        ),
        (
            &["--checkpoint", "runs/bare"],
            2,
            "none is stored with the model",
        ),
        (&["--checkpoint", "runs/none"], 2, "there is no such folder"),
        (&["--rows", "0"], 2, "0 is not in 1..=1024"),
        (&["--queue", "0"], 2, "0 is not in 1..=100000"),
    ];
    for (case, code, words) in cases {
        let fixed = ["serve", "--set", "training.backend=cpu"];
        // The default port may be another suite's on the same machine.
        let port: &[&str] = match case.contains(&"--port") {
            true => &[],
            false => &["--port", "0"],
        };
        let run = run_in(path, &[&fixed[..], port, case].concat(), &[]);
        assert!(run.stdout.is_empty(), "{case:?}: {}", run.stdout);
        assert_eq!(run.code, Some(*code), "{case:?}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{case:?}: {}", run.stderr);
    }
}

/// A program that starts a server and dies leaves none behind.
#[test]
fn a_server_ends_with_whoever_started_it() {
    let folder = run_folder();
    let mut serving = serve(folder.path(), &[]);
    assert_eq!(serving.speech(r#"{"input": "Hello."}"#).0, 200);
    drop(serving.child.stdin.take());
    let (code, words) = serving.end();
    assert_eq!(code, Some(143), "{words}");
    let expected = "stopped by the end of standard input: 1 text was spoken, ";
    assert!(words.starts_with(expected), "{words}");
}

/// An address that others reach has a token, whether or not one was given.
#[cfg(unix)]
#[test]
fn an_open_address_has_a_token() {
    let folder = run_folder();
    // Not a loopback address by its digits, and yet one that only this machine reaches.
    let made = serve(folder.path(), &["--host", "::ffff:127.0.0.1"]);
    let token = made.started["token"].as_str().unwrap().to_owned();
    assert_eq!(token.len(), 64);
    knows(made, &token);
    // One that was given is not printed.
    let token = "correct-horse-battery";
    fs::write(folder.path().join("token"), format!("{token}\n")).unwrap();
    let given = serve(folder.path(), &["--token-file", "token"]);
    assert_eq!(given.started["token"], Value::Null);
    assert_eq!(given.started["needs_token"], true);
    knows(given, token);
}

/// Whoever has the token is answered, and nobody else.
#[cfg(unix)]
fn knows(serving: Serving, token: &str) {
    let body = r#"{"input": "Hello."}"#;
    assert_eq!(serving.speech(body).0, 401);
    let head = "POST /v1/audio/speech HTTP/1.1\r\nAuthorization: Bearer ";
    let mut stream = TcpStream::connect(("127.0.0.1", serving.port)).unwrap();
    let length = body.len();
    let request = format!(
        "{head}{token}\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"HTTP/1.1 200"));
    serving.signal("TERM");
    assert_eq!(serving.end().0, Some(143));
}
