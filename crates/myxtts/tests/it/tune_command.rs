//! `myxtts tune`, on a few clips of the sample corpus.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Run, command_in, few_clips, few_weights, hums, myxtts, run_in};

fn tune(folder: &Path, arguments: &[&str]) -> Run {
    let small = [
        "--train-data",
        "few",
        "--buckets",
        "2",
        "--set=training.backend=cpu",
    ];
    run_in(folder, &[&["tune"][..], arguments, &small].concat(), &[])
}

#[test]
fn a_file_is_written_that_trains_and_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    few_clips(&folder.path().join("few"), 12);
    let effort = ["--steps=2", "--rounds=1", "--seconds=20", "--batch-size=2"];
    let run = tune(folder.path(), &[&effort[..], &["--json"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.json();
    let trials = document["trials"].as_array().unwrap();
    let outcome = |tried: &str| {
        let found = trials.iter().find(|trial| trial["tried"] == tried);
        found.unwrap_or_else(|| panic!("{tried} is not in {document}"))["outcome"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(outcome("batch size 4").contains("against 2"), "{document}");
    for tried in ["precision f16", "recompute blocks"] {
        assert!(outcome(tried).contains("of audio per second"), "{document}");
    }
    decisions_follow_from_the_figures(&document);
    let file = folder.path().join("myxtts.tuned.yaml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# Written by `myxtts tune`"), "{text}");
    assert!(text.contains("\n# record: {"), "{text}");
    assert!(text.contains("\n  train_data: \"few\"\n"), "{text}");

    // What is there is not replaced without a word.
    let again = tune(folder.path(), &effort);
    assert_eq!(again.code, Some(2));
    insta::assert_snapshot!(again.stderr);

    let valid = run_in(
        folder.path(),
        &["config", "validate", "myxtts.tuned.yaml"],
        &[],
    );
    assert_eq!(valid.code, Some(0), "{}", valid.stderr);

    // Against a record that no machine reaches.
    let begin = text.find("\"audio_per_s\":").unwrap();
    let end = begin + text[begin..].find(',').unwrap();
    let faster = format!("{}\"audio_per_s\":1e9{}", &text[..begin], &text[end..]);
    fs::write(&file, faster).unwrap();
    let verify = [
        "tune",
        "--verify=myxtts.tuned.yaml",
        "--rounds=1",
        "--seconds=20",
    ];
    let slower = run_in(folder.path(), &verify, &[]);
    assert_eq!(slower.code, Some(1), "{}", slower.stderr);
    assert!(
        slower
            .stdout
            .contains("more than 10 % slower than its record")
    );
    let slow = format!("{}\"audio_per_s\":1e-9{}", &text[..begin], &text[end..]);
    fs::write(&file, slow).unwrap();
    let kept = run_in(folder.path(), &verify, &[]);
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    // Neither a run nor a temporary file is left behind.
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !["few", "cache"].contains(&name.as_str()))
        .collect();
    assert_eq!(left, ["myxtts.tuned.yaml"]);
}

/// Figures of a test are chance; what is made of them is not.
fn decisions_follow_from_the_figures(document: &serde_json::Value) {
    let trials = document["trials"].as_array().unwrap();
    let mut rows = 2;
    for trial in trials {
        let (tried, is_kept) = (trial["tried"].as_str().unwrap(), &trial["is_kept"]);
        let Some(gain) = trial["gain_pct"].as_f64() else {
            assert_eq!(*is_kept, false, "{trial}");
            continue;
        };
        match tried {
            "all together" => assert_eq!(*is_kept, gain >= 0.0, "{trial}"),
            _ if *is_kept == true => assert!(gain >= 2.0 - 1e-9, "{trial}"),
            // A batch as large as the corpus is not larger.
            _ => assert!(gain < 2.0 || tried.starts_with("batch size"), "{trial}"),
        }
        if let Some(tried) = tried
            .strip_prefix("batch size ")
            .filter(|_| *is_kept == true)
        {
            rows = tried.parse().unwrap();
        }
    }
    let edits = document["edits"].as_array().unwrap();
    let edited = edits.iter().find(|edit| edit[0] == "data.batch_size");
    match edited {
        Some(edit) => assert_eq!(edit[2], rows.to_string(), "{document}"),
        None => {
            let whole = trials.iter().find(|trial| trial["tried"] == "all together");
            let is_dropped = whole.is_some_and(|whole| whole["is_kept"] == false);
            assert!(rows == 2 || is_dropped, "{document}");
        }
    }
    // What is written is never slower than what it was measured beside.
    let speed = |of: &str| document[of]["audio_per_s"].as_f64().unwrap();
    assert!(speed("tuned") >= speed("default"), "{document}");
}

#[test]
fn a_file_without_a_record_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.yaml"), "data:\n  batch_size: 2\n").unwrap();
    let run = run_in(folder.path(), &["tune", "--verify", "mine.yaml"], &[]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr);
    let both = myxtts(&["tune", "--verify", "mine.yaml", "--out", "x.yaml"]);
    assert_eq!(both.code, Some(2));
}

/// A trial whose memory runs out, for real: the address space of every process is
/// limited to what the configuration as it is takes, and a quarter more. The trial with
/// twice the batch dies, and nothing else does.
#[cfg(target_os = "linux")]
#[test]
fn a_trial_without_memory_ends_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    few_weights(&path.join("weights"));
    hums(&path.join("clips"), &[3000; 128]);
    fs::create_dir(path.join("tmp")).unwrap();
    let subject = [
        "--batch-size=64",
        "--init=weights",
        "--train-data=clips",
        "--language=en",
        "--buckets=1",
        "--num-workers=1",
        "--set=training.backend=cpu",
    ];
    let in_tmp = |command: &mut Command| {
        command
            .env("TMPDIR", path.join("tmp"))
            // One heap: what a thread reserves and does not use is not memory.
            .env("MALLOC_ARENA_MAX", "1");
    };
    let mut alone = command_in(path);
    in_tmp(&mut alone);
    alone
        .args(["probe-steps", "--json", "--steps=2"])
        .args(subject);
    let taken = most_address_space(&mut alone);
    let program = command_in(path);
    let mut command = Command::new("prlimit");
    command
        .arg(format!("--as={}", taken + taken / 4))
        .arg(program.get_program())
        .current_dir(path);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    in_tmp(&mut command);
    command
        .args(["tune", "--only=batch", "--json", "--steps=2", "--rounds=1"])
        .args(subject);
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{taken}\n{said}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let trials = document["trials"].as_array().unwrap();
    let twice = trials
        .iter()
        .find(|trial| trial["tried"] == "batch size 128");
    let outcome = twice.unwrap()["outcome"].as_str().unwrap();
    assert!(
        outcome.starts_with("out of memory: "),
        "{taken}\n{document:#}"
    );
    // The file is there and whole, and beside it nothing is new.
    let valid = run_in(path, &["config", "validate", "myxtts.tuned.yaml"], &[]);
    assert_eq!(valid.code, Some(0), "{}", valid.stderr);
    let mut left: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "cache")
        .collect();
    left.sort();
    assert_eq!(left, ["clips", "myxtts.tuned.yaml", "tmp", "weights"]);
    assert_eq!(fs::read_dir(path.join("tmp")).unwrap().count(), 0);
    // Neither is a process: each is told of a file in there.
    let place = path.join("tmp").display().to_string();
    for process in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        assert!(!words.contains(&place), "{words}");
    }
}

/// A signal in the middle of a measurement ends it and the measured process, and neither the
/// file that was begun nor the configuration of the trial stays.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    few_clips(&path.join("few"), 12);
    let tmp = path.join("tmp");
    fs::create_dir(&tmp).unwrap();
    let mut tune = command_in(path)
        .env("TMPDIR", &tmp)
        .args(["tune", "--train-data=few", "--steps=100000"])
        .args(["--seconds=600", "--set=training.backend=cpu"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The configuration of a trial lies there as long as it is measured.
    let in_tmp = || fs::read_dir(&tmp).unwrap().count();
    while in_tmp() == 0 {
        assert!(tune.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    let kill = Command::new("kill").arg(tune.id().to_string()).status();
    assert!(kill.unwrap().success());
    let output = tune.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(143), "{said}");
    let last = said.lines().last().unwrap();
    assert_eq!(
        last,
        "SIGTERM: stopped while measuring; nothing was written"
    );
    assert_eq!(in_tmp(), 0);
    let mut left: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "cache")
        .collect();
    left.sort();
    assert_eq!(left, ["few", "tmp"]);
}

/// The most address space that a process takes until it ends, in bytes.
#[cfg(target_os = "linux")]
pub fn most_address_space(command: &mut Command) -> u64 {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmPeak:"));
        let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
        most = most.max(peak.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(5));
    }
    most
}
