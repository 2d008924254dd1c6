//! `synthesize`, with a model too small to say anything sensible.

use std::fs;
use std::path::Path;

use myxtts_audio::{Limits, decode, write_wav_pcm16};

use crate::support::{Run, run_in};
use crate::tiny::{Tiny, recording};

/// On the CPU, whatever the machine has.
fn synthesize(folder: &Path, arguments: &[&str]) -> Run {
    let fixed = ["synthesize", "--set", "training.backend=cpu"];
    run_in(folder, &[&fixed[..], arguments].concat(), &[])
}

/// A run with one checkpoint and two voices.
fn run_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("runs/first/checkpoints/step_000000100");
    Tiny::new(&["en"], 30).save(&checkpoint);
    fs::create_dir(checkpoint.join("voices")).unwrap();
    for (name, samples) in [("zoe", 40_000), ("anna", 30_000)] {
        let path = checkpoint.join("voices").join(name).with_extension("wav");
        write_wav_pcm16(&path, &recording(samples)).unwrap();
    }
    write_wav_pcm16(&folder.path().join("me.wav"), &recording(50_000)).unwrap();
    folder
}

#[test]
fn a_text_becomes_a_recording_and_a_seed_says_it_again() {
    let folder = run_folder();
    let path = folder.path();
    let run = synthesize(
        path,
        &["--text", "Hello there.", "--out", "a.wav", "--json"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report = run.json();
    let codes = report["codes"].as_u64().unwrap();
    assert!(codes > 0);
    assert_eq!(
        report["checkpoint"],
        "runs/first/checkpoints/step_000000100"
    );
    assert_eq!(
        report["voice"][0],
        "runs/first/checkpoints/step_000000100/voices/anna.wav"
    );
    assert_eq!(report["language"], "en");
    let sound = decode(&path.join("a.wav"), &Limits::default()).unwrap();
    assert_eq!(sound.waveform.samples.len() as u64, codes * 1024);
    assert_eq!(sound.waveform.rate.hz(), 22_050);

    let same = |out: &str, arguments: &[&str]| {
        let fixed = ["--text-file", "text.txt", "--out", out];
        let run = synthesize(path, &[&fixed[..], arguments].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        fs::read(path.join(out)).unwrap() == fs::read(path.join("a.wav")).unwrap()
    };
    fs::write(path.join("text.txt"), "Hello there.\n").unwrap();
    let given = [
        "--checkpoint",
        "runs/first",
        "--speaker",
        "anna",
        "--seed",
        "0",
    ];
    assert!(same("b.wav", &given));
    assert!(!same("c.wav", &["--seed", "1"]));
    assert!(!same("d.wav", &["--greedy"]));
    assert!(!same(
        "e.wav",
        &["--temperature", "9", "--top-k", "0", "--top-p", "1"]
    ));
    assert!(!same("f.wav", &["--repetition-penalty", "1"]));
}

#[test]
fn what_was_done_as_a_person_reads_it() {
    let folder = run_folder();
    let arguments = [
        "--text",
        "Hello, 7 ñ!",
        "--out",
        "a.wav",
        "--speaker-wav",
        "me.wav",
        "me.wav",
        "--greedy",
    ];
    let run = synthesize(folder.path(), &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let stable: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| !line.starts_with("  took:") && !line.starts_with("  device:"))
        .collect();
    insta::assert_snapshot!(stable.join("\n"));
}

#[test]
fn what_cannot_be_spoken_is_refused_with_the_fix() {
    let folder = run_folder();
    let path = folder.path();
    let empty = tempfile::tempdir().unwrap();
    let usual = ["--text", "Hello.", "--out", "a.wav"];
    let refused = |folder: &Path, arguments: &[&str]| {
        let run = synthesize(folder, arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stdout.is_empty(), "{arguments:?}");
        run.stderr
    };
    let with = |arguments: &[&str]| refused(path, &[&usual[..], arguments].concat());
    write_wav_pcm16(&path.join("short.wav"), &recording(2_000)).unwrap();
    let checkpoint = path.join("runs/first/checkpoints/step_000000100");
    let mut messages = vec![
        refused(empty.path(), &usual),
        with(&["--checkpoint", "nowhere"]),
        with(&["--best"]),
        with(&["--speaker", "bob"]),
        with(&["--speaker-wav", "missing.wav"]),
        with(&["--speaker-wav", "short.wav"]),
        with(&["--language", "de"]),
        refused(path, &["--text", " ", "--out", "a.wav"]),
        refused(path, &["--text-file", "missing.txt", "--out", "a.wav"]),
        refused(path, &["--text", "Hello.", "--out", "a.mp3"]),
    ];
    fs::remove_dir_all(checkpoint.join("voices")).unwrap();
    messages.push(with(&[]));
    let cramped = path.join("runs/second");
    Tiny::new(&["en", "fa"], 1).save(&cramped);
    messages.push(with(&[
        "--checkpoint",
        "runs/second",
        "--speaker-wav",
        "me.wav",
    ]));
    messages.push(with(&[
        "--checkpoint",
        "runs/second",
        "--speaker-wav",
        "me.wav",
        "--language",
        "en",
    ]));
    insta::assert_snapshot!(messages.join("\n"));
    assert!(!path.join("a.wav").exists());
    for arguments in [
        &["--out", "a.wav"][..],
        &["--text", "x", "--text-file", "y", "--out", "a.wav"],
        &["--text", "x"],
    ] {
        refused(path, arguments);
    }
    for wrong in [
        &["--temperature", "0"][..],
        &["--top-p", "2"],
        &["--top-k", "-1"],
        &["--repetition-penalty", "0.5"],
        &["--greedy", "--temperature", "1"],
        &["--greedy", "--seed", "1"],
        &["--speaker", "anna", "--speaker-wav", "me.wav"],
        &["--language", "english"],
    ] {
        with(wrong);
    }
}

#[test]
fn a_damaged_checkpoint_is_a_failed_job() {
    let folder = run_folder();
    let weights = "runs/first/checkpoints/step_000000100/dvae.safetensors";
    fs::write(folder.path().join(weights), "damaged").unwrap();
    let run = synthesize(folder.path(), &["--text", "Hello.", "--out", "a.wav"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("dvae.safetensors"), "{}", run.stderr);
}
