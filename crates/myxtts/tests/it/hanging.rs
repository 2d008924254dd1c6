//! A measuring process that hangs, as one does in a driver: it is stopped in the
//! middle of its work, from where it neither comes back nor says a word.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Run, command_in, few_weights, hums};

/// Longer than a busy machine takes to start a process.
const LIMIT: &str = "--hang-limit=12";

/// The newest process that `parent` has started to measure, while its pipeline runs.
fn measuring(parent: u32) -> u32 {
    let begin = Instant::now();
    loop {
        assert!(
            begin.elapsed() < Duration::from_secs(300),
            "nothing is measured"
        );
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            if runs_a_pipeline(child) {
                return child.parse().unwrap();
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn runs_a_pipeline(process: &str) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return false;
    };
    let mut names = threads
        .filter_map(Result::ok)
        .filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.any(|name| name.starts_with("host-"))
}

/// `myxtts ARGUMENTS`, whose first measuring process is stopped.
fn stopped(folder: &Path, arguments: &[&str]) -> Run {
    few_weights(&folder.join("weights"));
    hums(&folder.join("clips"), &[700; 16]);
    fs::create_dir(folder.join("tmp")).unwrap();
    let program = command_in(folder)
        .args(arguments)
        .args([
            "--init=weights",
            "--train-data=clips",
            "--language=en",
            "--batch-size=2",
        ])
        .args([
            "--set=training.backend=cpu",
            "--steps=100000",
            "--seconds=6",
            LIMIT,
        ])
        .env("TMPDIR", folder.join("tmp"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let child = measuring(program.id());
    let stop = Command::new("kill")
        .args(["-STOP", &child.to_string()])
        .status()
        .unwrap();
    assert!(stop.success());
    let output = program.wait_with_output().unwrap();
    // Neither a process, not even a dead one, nor a file is left of it.
    let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
    assert!(!status.contains("myxtts"), "{status}");
    assert_eq!(fs::read_dir(folder.join("tmp")).unwrap().count(), 0);
    assert!(!folder.join("runs").exists());
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Where it was depends on when it was stopped; that it is said does not.
fn names_its_place(words: &str) {
    let (_, at) = words
        .split_once("no progress for 12 s at `")
        .unwrap_or_else(|| panic!("{words}"));
    let (at, rest) = at.split_once('`').unwrap();
    // Threads of the pipeline are there a moment before it says so.
    let known = ["reading the clips", "making the first batches"];
    assert!(known.contains(&at) || at.starts_with("step "), "{words}");
    assert!(
        rest.starts_with(", so the measuring process was stopped\n  fix:   if the machine is only slow, give --hang-limit"),
        "{words}"
    );
}

#[test]
fn a_change_that_hangs_is_an_error_that_names_the_stage() {
    let folder = tempfile::tempdir().unwrap();
    let what_if = [
        "profile",
        "--what-if=data.num_workers=1",
        "--num-workers=2",
        "--rounds=1",
    ];
    let run = stopped(folder.path(), &what_if);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.is_empty(), "{}", run.stdout);
    assert!(
        run.stderr
            .contains("error: data.num_workers=2: no progress"),
        "{}",
        run.stderr
    );
    names_its_place(&run.stderr);
}

#[test]
fn a_trial_that_hangs_ends_tuning_without_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let run = stopped(folder.path(), &["tune", "--rounds=1"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("the configuration as it is: no progress"),
        "{}",
        run.stderr
    );
    names_its_place(&run.stderr);
    assert!(!folder.path().join("myxtts.tuned.yaml").exists());
}

/// `profile` by itself measures in its own process, where a signal would stop its watchdog, too.
/// So the limit is shorter than a step of this model takes, and that step is the hang.
#[test]
fn a_measurement_that_hangs_ends_the_process_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    hums(&folder.path().join("clips"), &[9000; 64]);
    let run = command_in(folder.path())
        .args(["profile", "--trace=trace.json", "--model-size=small"])
        .args(["--train-data=clips", "--language=en", "--batch-size=64"])
        .args([
            "--buckets=1",
            "--set=training.backend=cpu",
            "--hang-limit=1",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(
        said.contains("error: the measurement: no progress for 1 s at `"),
        "{said}"
    );
    assert!(said.contains("\n  fix:   if the machine is only slow, give --hang-limit"));
    // Nor is a file left that was begun.
    let left = fs::read_dir(folder.path()).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name != "cache").collect();
    assert_eq!(left, ["clips"]);
}
