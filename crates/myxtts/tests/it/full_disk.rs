//! Disks that are full: a small file system of one's own, mounted where the
//! program writes. Needs a Linux that lets everybody mount in a namespace.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use crate::support::{command_in, few_clips, run_in};

/// `myxtts train` with a file system of `size` at `place`; nothing where the
/// system does not let us.
fn train_on(folder: &Path, place: &str, size: &str, flags: &[&str]) -> Option<(i32, String)> {
    let allowed = Command::new("unshare").args(["-rm", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no rights to mount a small file system");
        return None;
    }
    std::fs::create_dir_all(folder.join(place)).unwrap();
    let program = command_in(folder);
    let mount = format!("mount -t tmpfs -o size={size} none '{place}' && exec \"$@\"");
    let mut command = Command::new("unshare");
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command
        .current_dir(folder)
        .args(["-rm", "sh", "-c", &mount, "sh"])
        .arg(program.get_program())
        .args(["train", "--train-data", "clips", "--batch-size", "4"])
        .args([
            "--set",
            "training.sample_count=0",
            "--checkpoint-dir",
            "run",
        ])
        .args(flags)
        .output()
        .unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    Some((output.status.code().unwrap(), words))
}

#[test]
fn under_the_codes() {
    let folder = tempfile::tempdir().unwrap();
    few_clips(&folder.path().join("clips"), 24);
    // The dataset is prepared while there is room.
    let prepared = run_in(folder.path(), &["prepare", "clips"], &[]);
    assert_eq!(prepared.code, Some(0), "{}", prepared.stderr);
    let flags = ["--max-steps", "2"];
    let place = "clips/myxtts/cache";
    let Some((code, words)) = train_on(folder.path(), place, "8k", &flags) else {
        return;
    };
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("No space left on device"), "{words}");
    assert!(words.contains("data.cache to memory or none"), "{words}");
    // What the DVAE learnt is kept; elsewhere the training goes on.
    let memory = ["--max-steps", "2", "--cache", "memory"];
    let (code, words) = train_on(folder.path(), place, "8k", &memory).unwrap();
    assert_eq!(code, 0, "{words}");
    assert!(words.contains("resuming from step 2 (dvae"), "{words}");
}

#[test]
fn under_the_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    few_clips(&folder.path().join("clips"), 24);
    let flags = ["--max-steps", "3", "--set", "training.checkpoint_every=1"];
    let Some((code, words)) = train_on(folder.path(), "run", "30m", &flags) else {
        return;
    };
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("No space left on device"), "{words}");
    assert!(words.contains("free some space"), "{words}");
}

#[test]
fn under_the_samples() {
    let folder = tempfile::tempdir().unwrap();
    few_clips(&folder.path().join("clips"), 24);
    let flags = [
        "--max-steps",
        "3",
        "--set",
        "training.sample_count=1",
        "--set",
        "training.sample_every=2",
    ];
    // By this file the program knows a folder as its own.
    std::fs::create_dir(folder.path().join("run")).unwrap();
    std::fs::write(folder.path().join("run/run.lock"), "").unwrap();
    let Some((code, words)) = train_on(folder.path(), "run/samples", "4k", &flags) else {
        return;
    };
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("No space left on device"), "{words}");
    // The step before them is kept, though no checkpoint of it was due.
    assert!(
        words.contains("writing an emergency checkpoint of step"),
        "{words}"
    );
    let (code, words) = train_on(folder.path(), "run/samples", "30m", &flags).unwrap();
    assert_eq!(code, 0, "{words}");
    assert!(words.contains("resuming from step"), "{words}");
}
