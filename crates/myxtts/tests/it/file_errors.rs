//! A file system that refuses is told with the path and the part.

use std::fs;

use crate::support::{Run, few_clips, run_in};

#[track_caller]
fn names(run: &Run, path: &str) {
    assert!(
        matches!(run.code, Some(1 | 2)),
        "{path}: {:?} {}",
        run.code,
        run.stderr
    );
    let last = run.stderr.split("error: ").last().unwrap_or_default();
    assert!(last.contains(path), "{path} is not named:\n{}", run.stderr);
}

/// Every file that a training opens, one at a time in the way: a folder where a
/// file should be, or the other way round.
#[test]
fn files_of_a_run_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    few_clips(&folder.path().join("clips"), 24);
    for name in [
        "train.log",
        "config.yaml",
        "plan.json",
        "metrics.jsonl",
        "quarantine.jsonl",
        "ledger.jsonl",
        "tensorboard",
        "checkpoints",
    ] {
        let place = folder.path().join("runs").join(name);
        // By this file the program knows a folder as its own.
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("run.lock"), "").unwrap();
        match name.contains('.') {
            true => fs::create_dir(place.join(name)).unwrap(),
            false => fs::write(place.join(name), "").unwrap(),
        }
        let run = format!("runs/{name}");
        let arguments = [
            "train",
            "--train-data",
            "clips",
            "--set",
            "training.backend=cpu",
            "--max-steps",
            "1",
            "--checkpoint-dir",
            &run,
        ];
        names(
            &run_in(folder.path(), &arguments, &[]),
            &format!("{run}/{name}"),
        );
    }
}

#[test]
fn files_of_the_other_commands() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for (arguments, path) in [
        (&["plan", "--config", "folder"][..], "folder"),
        (&["config", "validate", "folder"], "folder"),
        (&["config", "validate", "file/x.yaml"], "file/x.yaml"),
        (&["config", "new", "file/new.yaml"], "file/new.yaml"),
        (&["config", "new", "folder", "--force"], "folder"),
        (
            &["bench", "data", "--make-corpus", "file/corpus"],
            "file/corpus",
        ),
        (&["bench", "data", "--vocab", "folder"], "folder"),
        (&["bench", "step", "--peer", "folder"], "folder"),
        (
            &["bench", "train", "--peer", "file/peer.json"],
            "file/peer.json",
        ),
    ] {
        names(&run_in(folder.path(), arguments, &[]), path);
    }
}
