//! The examples of the library, one after the other: each works with what the one before made.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::few_clips;

/// An example that cargo has built beside the tests, in `examples` beside the folder `deps` of
/// this test.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    profile.join("examples").join(program)
}

/// What an example prints, if it does its work.
fn printed(folder: &Path, name: &str, arguments: &[&str]) -> String {
    let run = Command::new(example(name))
        .args(arguments)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{name}: {errors}");
    assert_eq!(
        errors, "",
        "{name} is a library and prints nothing by itself"
    );
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn they_prepare_train_and_speak() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    few_clips(&path.join("voice"), 12);
    let prepared = printed(path, "prepare", &["voice"]);
    assert!(prepared.contains("12 clips, 0 left out"), "{prepared}");
    assert!(path.join("voice/myxtts/manifest.jsonl").is_file());
    let trained = printed(path, "train", &["voice", "run"]);
    for step in ["dvae step 1:", "dvae step 2:", "gpt step 3:", "gpt step 4:"] {
        assert!(trained.contains(step), "{step} in {trained}");
    }
    let sentence = trained.lines().last().unwrap();
    printed(path, "speak", &["run", sentence, "said.wav"]);
    let wav = std::fs::read(path.join("said.wav")).unwrap();
    assert!(
        wav.starts_with(b"RIFF") && wav.len() > 10_000,
        "{}",
        wav.len()
    );
}
