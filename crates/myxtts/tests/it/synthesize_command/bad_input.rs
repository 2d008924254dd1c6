//! Whatever somebody gives: a clear error, or the sensible thing.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use myxtts_audio::units::SampleRate;
use myxtts_audio::{pcm16, wav_pcm16_header, write_wav_pcm16};

use super::{run_folder, synthesize};
use crate::tiny::recording;

/// The report, without what depends on the machine.
fn told(path: &Path, arguments: &[&str]) -> String {
    let fixed = ["--out", "a.wav", "--greedy"];
    let run = synthesize(path, &[&fixed[..], arguments].concat());
    let words = match run.code {
        Some(0) => run.stdout,
        code => format!("exit {code:?}: {}", run.stderr),
    };
    let stable = words.lines().filter(|line| {
        !["  took:", "  device:"]
            .iter()
            .any(|name| line.starts_with(name))
    });
    format!(
        "{:?}\n{}\n",
        arguments[1],
        stable.collect::<Vec<_>>().join("\n")
    )
}

#[test]
fn texts() {
    let folder = run_folder();
    let path = folder.path();
    let huge = "9".repeat(200);
    let texts = [
        "",
        "...",
        "?!",
        "😀 👍🏽",
        "你好",
        "\u{200F}\u{202E}\u{1b}\u{7}",
        "Hello\u{7}there\u{1b}[31m \u{202E}fox\u{202C}.",
        "Hello 😀 there ➡ fox.",
        "Hello 1000000000000000000000000000000.",
        &huge,
        "- why?",
        "-- why",
        "سلام",
    ];
    let told: Vec<String> = texts
        .iter()
        .map(|text| told(path, &["--text", text]))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

/// As much as an argument may have is spoken or refused at once; a megabyte is
/// refused at once.
#[test]
fn long_texts() {
    let folder = run_folder();
    let path = folder.path();
    fs::write(path.join("megabyte.txt"), "Hello. ".repeat(150_000)).unwrap();
    let started = Instant::now();
    let words = told(path, &["--text-file", "megabyte.txt"]);
    assert!(started.elapsed() < Duration::from_secs(5), "{words}");
    insta::assert_snapshot!(words);
}

#[test]
fn recordings() {
    let folder = run_folder();
    let path = folder.path();
    write_wav_pcm16(&path.join("short.wav"), &recording(7_000)).unwrap();
    let mut silent = recording(30_000);
    silent.samples.fill(0.0);
    write_wav_pcm16(&path.join("silent.wav"), &silent).unwrap();
    // The part that is heard is silent, and the rest is not.
    let mut late = recording(40 * 22_050);
    late.samples[..35 * 22_050].fill(0.0);
    write_wav_pcm16(&path.join("late.wav"), &late).unwrap();
    fs::write(path.join("text.wav"), "this is no sound").unwrap();
    fs::write(path.join("empty.wav"), "").unwrap();
    fs::create_dir(path.join("folder.wav")).unwrap();
    let refused = [
        "short.wav",
        "silent.wav",
        "late.wav",
        "text.wav",
        "empty.wav",
        "folder.wav",
        "none.wav",
    ];
    let told: Vec<String> = refused
        .iter()
        .map(|name| told(path, &["--speaker-wav", name, "me.wav", "--text", "Hello."]))
        .collect();
    assert!(!path.join("a.wav").exists());
    insta::assert_snapshot!(told.join("\n"));
}

/// Two hours take as long as half a minute.
#[test]
fn a_recording_of_two_hours() {
    let folder = run_folder();
    let path = folder.path();
    let rate = SampleRate::new(44_100).unwrap();
    let mut bytes = wav_pcm16_header(rate);
    bytes.extend(pcm16(&recording(40 * 44_100).samples));
    fs::write(path.join("long.wav"), bytes).unwrap();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(path.join("long.wav"))
        .unwrap();
    file.set_len(44 + 2 * 3600 * 2 * 44_100).unwrap();
    let started = Instant::now();
    let words = told(path, &["--speaker-wav", "long.wav", "--text", "Hello."]);
    assert!(started.elapsed() < Duration::from_secs(20), "{words}");
    insta::assert_snapshot!(words);
}
