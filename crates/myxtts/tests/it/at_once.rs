//! Processes that meet on one dataset, and signals that meet a preparation.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{ONE_STEP, command_in, few_clips};

fn start(folder: &Path, arguments: &[&str]) -> Child {
    command_in(folder)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Three trainings on a dataset that nobody has prepared, one of them with
/// other settings: each trains on the clips that its settings leave.
#[test]
fn trainings_at_once_on_one_dataset() {
    let folder = tempfile::tempdir().unwrap();
    few_clips(&folder.path().join("clips"), 24);
    let train = |run: &str, frames: &str| {
        let here = [
            "--max-mel-frames",
            frames,
            "--checkpoint-dir",
            run,
            "--set",
            "data.max_bad_fraction=1",
            "--set",
            "training.backend=cpu",
        ];
        start(folder.path(), &[&ONE_STEP[..], &here].concat())
    };
    let children = [train("a", "800"), train("b", "230"), train("c", "800")];
    let clips = children.map(|child| {
        let output = child.wait_with_output().unwrap();
        let said = told(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let (_, rest) = said.split_once("clips: ").unwrap();
        let (kept, _) = rest.split_once(" clips, ").unwrap();
        kept.parse::<usize>().unwrap()
    });
    let [all, short, same] = clips;
    assert_eq!([all, same], [24, 24]);
    assert!((1..24).contains(&short), "{short} of at most 230 frames");
    for (run, left_out) in [("a", 0), ("b", 24 - short), ("c", 0)] {
        let list = fs::read_to_string(folder.path().join(run).join("quarantine.jsonl"));
        assert_eq!(list.unwrap().lines().count(), left_out, "{run}");
    }
}

/// Whether somebody is writing the results of a preparation.
fn is_prepared_now(out: &Path) -> bool {
    names(out)
        .iter()
        .any(|name| name.starts_with(".unfinished"))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// `prepare`, and a training that prepares first: the signal ends it within a
/// second, with the signal's code, and nothing is left half-written.
#[test]
fn a_signal_while_preparing() {
    let folder = tempfile::tempdir().unwrap();
    let clips = folder.path().join("clips");
    few_clips(&clips, 112);
    // Long enough to be met: every clip a hundred times.
    let list = fs::read_to_string(clips.join("metadata.csv")).unwrap();
    fs::write(clips.join("metadata.csv"), list.repeat(100)).unwrap();
    let out = clips.join("myxtts");
    let mut words = vec![];
    for (arguments, signal, code) in [
        (&["prepare", "clips"][..], "INT", 130),
        (&["prepare", "clips"], "TERM", 143),
        (&["train", "--train-data", "clips"], "INT", 130),
    ] {
        let child = start(folder.path(), arguments);
        let begun = Instant::now();
        while !is_prepared_now(&out) {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never began");
            std::thread::sleep(Duration::from_millis(5));
        }
        let asked = Instant::now();
        let kill = Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let took = asked.elapsed();
        let said = told(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        // A second on a machine at rest; tests run beside others.
        assert!(took < Duration::from_secs(5), "{arguments:?}: {took:?}");
        // The mark and the lock file are of no preparation in particular.
        let left: Vec<String> = names(&out)
            .into_iter()
            .filter(|name| name != ".lock")
            .collect();
        assert!(left.len() <= 1, "{arguments:?} left {left:?}");
        words.push(said.lines().last().unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!("a_signal_while_preparing", words.join("\n"));
}
