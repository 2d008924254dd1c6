//! Many lines into many recordings.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use myxtts_audio::{Limits, decode};
use serde_json::Value;

use super::{run_folder, synthesize};
use crate::support::Run;

fn batch(path: &Path, arguments: &[&str]) -> Run {
    synthesize(path, &[&["--out-dir", "out"], arguments].concat())
}

/// The manifest, by file.
fn manifest(path: &Path) -> BTreeMap<String, Value> {
    let text = fs::read_to_string(path.join("out/manifest.jsonl")).unwrap();
    let entries = text.lines().map(|line| {
        let entry: Value = serde_json::from_str(line).unwrap();
        (entry["file"].as_str().unwrap().to_owned(), entry)
    });
    entries.collect()
}

fn counts(run: &Run) -> [u64; 4] {
    let report = run.json();
    let failed = report["failed"].as_array().unwrap().len() as u64;
    let count = |name: &str| report[name].as_u64().unwrap();
    [count("lines"), count("spoken"), count("skipped"), failed]
}

/// What stays the same on every machine.
fn stable(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("  took:") && !line.starts_with("  device:"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn lines_become_recordings_and_what_is_there_is_not_spoken_again() {
    let folder = run_folder();
    let path = folder.path();
    let lines = [
        r#"{"text": "Hello there.", "id": "one"}"#,
        r#"{"text": "Why?", "out": "deep/two.wav", "speaker": "zoe", "seed": 7}"#,
        r#"{"text": "The fox.", "speaker_wav": "me.wav", "speed": 2}"#,
    ];
    let write = |lines: &[&str]| fs::write(path.join("a.jsonl"), lines.join("\n")).unwrap();
    write(&lines);
    let run = batch(path, &["--text-file", "a.jsonl", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(counts(&run), [3, 3, 0, 0]);
    let entries = manifest(path);
    let files: Vec<&str> = entries.keys().map(String::as_str).collect();
    assert_eq!(files, ["000003.wav", "deep/two.wav", "one.wav"]);
    for (file, entry) in &entries {
        let sound = decode(&path.join("out").join(file), &Limits::default()).unwrap();
        let samples = sound.waveform.samples.len();
        assert_eq!(entry["samples"].as_u64(), Some(samples as u64));
        let seconds = entry["seconds"].as_f64().unwrap();
        assert!((seconds - samples as f64 / 22_050.0).abs() < 1e-9);
        assert_eq!(entry["ended"], "at-the-limit");
    }
    let two = &entries["deep/two.wav"];
    assert_eq!(
        (two["seed"].as_u64(), two["line"].as_u64()),
        (Some(7), Some(2))
    );
    assert_eq!(two["text"], "Why?");
    assert!(two["voice"].as_str().unwrap().ends_with("zoe.wav"));
    assert_eq!(entries["one.wav"]["id"], "one");

    // The same again: nothing to do, and nothing is touched.
    let written = |file: &str| {
        let found = fs::metadata(path.join("out").join(file)).unwrap();
        found.modified().unwrap()
    };
    let before = written("one.wav");
    let run = batch(path, &["--text-file", "a.jsonl", "--json"]);
    assert_eq!(counts(&run), [3, 0, 3, 0]);
    assert_eq!(before, written("one.wav"));
    assert_eq!(manifest(path), entries);

    // A line that changed, a recording that is gone, one that was cut short.
    let changed = [&lines[0].replace("there", "fox")[..], lines[1], lines[2]];
    write(&changed);
    let run = batch(path, &["--text-file", "a.jsonl", "--json"]);
    assert_eq!(counts(&run), [3, 1, 2, 0]);
    assert_eq!(manifest(path)["one.wav"]["text"], "Hello fox.");
    fs::remove_file(path.join("out/deep/two.wav")).unwrap();
    fs::write(path.join("out/000003.wav"), "cut short").unwrap();
    let run = batch(path, &["--text-file", "a.jsonl", "--json"]);
    assert_eq!(counts(&run), [3, 2, 1, 0]);
    // A flag that is about every line, and says something else.
    let run = batch(
        path,
        &["--text-file", "a.jsonl", "--json", "--temperature", "0.3"],
    );
    assert_eq!(counts(&run), [3, 3, 0, 0]);
    let hidden = fs::read_dir(path.join("out")).unwrap().flatten();
    let left = hidden.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0, "something was left behind");
}

/// Texts that are spoken together are what each is alone.
#[test]
fn together_is_as_alone() {
    let folder = run_folder();
    let path = folder.path();
    let texts = [
        "Hello there.",
        "Why?",
        "The quick brown fox jumps over lazy dogs!",
    ];
    fs::write(path.join("a.txt"), texts.join("\n")).unwrap();
    let run = batch(path, &["--text-file", "a.txt", "--greedy", "--similarity"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    insta::assert_snapshot!("texts", stable(&run.stdout));
    for (number, text) in (1..).zip(texts) {
        let run = synthesize(path, &["--text", text, "--out", "a.wav", "--greedy"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let sound = |name: String| {
            let sound = decode(&path.join(name), &Limits::default());
            sound.unwrap().waveform.samples
        };
        let [together, alone] = [format!("out/00000{number}.wav"), "a.wav".to_owned()].map(sound);
        assert_eq!(together.len(), alone.len(), "{text}");
        let pairs = together.iter().zip(&alone);
        let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-3, "{text}: {apart}");
    }
    let entries = manifest(path);
    assert!(
        entries
            .values()
            .all(|entry| entry["similarity"]["cosine"].is_number())
    );
    assert!(entries.values().all(|entry| entry["seed"].is_null()));
}

#[test]
fn bad_lines_do_not_end_the_others() {
    let folder = run_folder();
    let path = folder.path();
    fs::write(path.join("short.wav"), "not audio").unwrap();
    let lines = [
        r#"{"text": "Hello there.", "id": "good"}"#,
        r#"{"text": "Hello there.", "id": "#,
        r#"{"text": "..."}"#,
        r#"{"text": "Hello.", "speaker": "bob"}"#,
        r#"{"text": "Hello.", "speaker_wav": "short.wav"}"#,
        r#"{"text": "Hello.", "language": "de"}"#,
        r#"{"text": "Why?", "id": "good too"}"#,
    ];
    fs::write(path.join("a.jsonl"), lines.join("\n")).unwrap();
    let run = batch(path, &["--text-file", "a.jsonl"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    insta::assert_snapshot!("bad_lines", stable(&run.stdout));
    insta::assert_snapshot!("bad_lines_told", run.stderr);
    let files: Vec<String> = manifest(path).into_keys().collect();
    assert_eq!(files, ["good too.wav", "good.wav"]);
    let run = batch(path, &["--text-file", "a.jsonl", "--json"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(counts(&run), [7, 0, 2, 5]);
}

/// What a crash leaves of the manifest does not matter.
#[test]
fn a_manifest_that_was_cut_short_is_continued() {
    let folder = run_folder();
    let path = folder.path();
    fs::write(path.join("a.txt"), "Hello.\nWhy?\n").unwrap();
    assert_eq!(batch(path, &["--text-file", "a.txt"]).code, Some(0));
    let manifest = path.join("out/manifest.jsonl");
    let whole = fs::read(&manifest).unwrap();
    fs::write(&manifest, &whole[..whole.len() - 20]).unwrap();
    let run = batch(path, &["--text-file", "a.txt", "--json"]);
    assert_eq!(counts(&run), [2, 1, 1, 0]);
    assert_eq!(fs::read(&manifest).unwrap(), whole);
}

#[test]
fn what_cannot_be_begun_is_refused() {
    let folder = run_folder();
    let path = folder.path();
    fs::write(path.join("empty.txt"), " \n\n").unwrap();
    fs::write(path.join("a.txt"), "Hello.").unwrap();
    fs::write(path.join("taken"), "a file").unwrap();
    fs::write(path.join("a.jsonl"), "{}").unwrap();
    let told = |arguments: &[&str], code: i32| {
        let run = synthesize(path, arguments);
        assert_eq!(run.code, Some(code), "{}", run.stderr);
        run.stderr
    };
    let messages = [
        told(&["--text-file", "empty.txt", "--out-dir", "out"], 2),
        told(&["--text-file", "none.txt", "--out-dir", "out"], 2),
        told(&["--text-file", "a.txt", "--out-dir", "taken"], 1),
        told(&["--text-file", "a.jsonl", "--out", "a.wav"], 2),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
