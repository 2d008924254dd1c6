//! Sound on stdout, and what ends it.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use myxtts_audio::{Limits, decode, decode_bytes};
use myxtts_weights::write_ours;

use super::{run_folder, synthesize};
use crate::support::command_in;
use crate::tiny::Tiny;

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = command_in(folder);
    command
        .args(["synthesize", "--set", "training.backend=cpu"])
        .args(arguments);
    command
}

#[test]
fn a_stream_is_the_recording() {
    let folder = run_folder();
    let path = folder.path();
    let decoder = Tiny::new(&["en"], 30).with_decoder();
    write_ours(&path.join("decoder"), &decoder).unwrap();
    for model in ["runs/first", "decoder"] {
        let fixed = ["--text", "Hello there. Why, the fox!", "--greedy"];
        let voice = ["--speaker-wav", "me.wav", "--checkpoint", model];
        let fixed = [&fixed[..], &voice].concat();
        let run = synthesize(path, &[&fixed[..], &["--out", "a.wav"]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let file = decode(&path.join("a.wav"), &Limits::default()).unwrap();
        let written = |arguments: &[&str]| {
            let output = command(path, &[&fixed[..], arguments].concat()).output();
            let output = output.unwrap();
            let words = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(0), "{words}");
            assert!(words.starts_with("stdout: "), "{words}");
            output.stdout
        };
        let whole = fs::read(path.join("a.wav")).unwrap();
        assert_eq!(written(&["--out", "-"]), whole);
        assert_eq!(written(&["--out", "-", "--format", "pcm"]), whole[44..]);
        let stream = written(&["--stream"]);
        let heard = decode_bytes(&stream, &Limits::default()).unwrap().waveform;
        assert_eq!(heard.rate, file.waveform.rate);
        assert_eq!(heard.len(), file.waveform.len());
        let pairs = heard.samples.iter().zip(&file.waveform.samples);
        let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-3, "{model}: {apart}");
        assert_eq!(written(&["--stream", "--format", "pcm"]), stream[44..]);
        assert_eq!(written(&["--stream", "--out", "-"]), stream);
    }
}

#[test]
fn a_text_comes_from_stdin() {
    let folder = run_folder();
    let path = folder.path();
    let run = synthesize(path, &["--text", "Hello there.", "--out", "a.wav"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for source in [["--text", "-"], ["--text-file", "-"]] {
        let mut child = command(path, &[&source[..], &["--out", "b.wav"]].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"Hello there.\n").unwrap();
        drop(stdin);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let bytes = |name: &str| fs::read(path.join(name)).unwrap();
        assert_eq!(bytes("a.wav"), bytes("b.wav"));
    }
}

/// A text that takes minutes.
fn long_text(path: &Path) {
    fs::write(
        path.join("long.txt"),
        "Hello there, the fox. ".repeat(5_000),
    )
    .unwrap();
}

/// A player that is closed wants no more, and nothing is wrong.
#[test]
fn a_closed_pipe_ends_it_quietly() {
    let folder = run_folder();
    let path = folder.path();
    long_text(path);
    let mut child = command(path, &["--text-file", "long.txt", "--stream"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 1000]).unwrap();
    drop(stdout);
    let closed = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(closed.elapsed() < Duration::from_secs(20), "it went on");
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.unwrap().success());
}

/// Within a second, with the code that says so, and without a half file.
#[cfg(unix)]
#[test]
fn a_signal_ends_it_at_once() {
    let folder = run_folder();
    let path = folder.path();
    long_text(path);
    let before = fs::read_dir(path).unwrap().count();
    let starts: [&[&str]; 2] = [&["--out", "a.wav"], &["--stream"]];
    for arguments in starts {
        let mut child = command(path, &[&["--text-file", "long.txt"], arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        match arguments {
            // The sound has begun.
            ["--stream"] => stdout.read_exact(&mut [0; 1000]).unwrap(),
            // The model is loaded, most likely; a signal before ends it, too.
            _ => std::thread::sleep(Duration::from_secs(3)),
        }
        let reader = std::thread::spawn(move || {
            let _ = stdout.read_to_end(&mut vec![]);
        });
        interrupt(&child);
        let asked = Instant::now();
        let output = child.wait_with_output().unwrap();
        let took = asked.elapsed();
        reader.join().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{words}");
        assert_eq!(words, "stopped by SIGINT; no partial file was left\n");
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert_eq!(fs::read_dir(path).unwrap().count(), before);
    }
}
