//! `myxtts doctor`, on machines and folders as people have them.

use std::fs;

use crate::support::{few_clips, few_weights, hums, run_in};

/// What a report has under a section.
fn under<'a>(report: &'a str, section: &str) -> &'a str {
    let from = report
        .find(section)
        .unwrap_or_else(|| panic!("{section}\n{report}"));
    let rest = &report[from..];
    rest.find("\n[").map_or(rest, |end| &rest[..end])
}

/// No dataset, a configuration with errors, GPUs that are not there: a report,
/// the right code, and nothing measured.
#[test]
fn what_keeps_a_training_from_running_is_a_problem_of_its_section() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("wrong.yaml"), "data:\n  batch_sise: 4\n").unwrap();
    fs::create_dir(path.join("empty")).unwrap();
    let mut told = String::new();
    for (section, arguments) in [
        ("dataset:", vec!["--train-data", "nowhere"]),
        (
            "dataset:",
            vec!["--train-data", "empty", "--language", "en"],
        ),
        ("configuration:", vec!["--config", "wrong.yaml"]),
        ("configuration:", vec!["--config", "absent.yaml"]),
        (
            "configuration:",
            vec!["--data-gpu", "0", "--model-gpu", "1"],
        ),
    ] {
        let arguments = [vec!["doctor", "--quick"], arguments].concat();
        let run = run_in(path, &arguments, &[]);
        assert_eq!(
            run.code,
            Some(1),
            "{arguments:?}\n{}\n{}",
            run.stdout,
            run.stderr
        );
        let shown = under(&run.stdout, section);
        assert!(
            run.stdout.contains(&format!("[problem]  {section}")),
            "{}",
            run.stdout
        );
        told.push_str(&format!("{}\n{shown}\n\n", arguments.join(" ")));
    }
    insta::assert_snapshot!(told.replace(&path.display().to_string(), "FOLDER"));
    let arguments = ["doctor", "--quick", "--train-data", "nowhere", "--json"];
    let document = run_in(path, &arguments, &[]).json();
    assert_eq!(document["blocks_training"], true);
    assert_eq!(document["problems"][0]["section"], "dataset");
}

/// Real steps on real clips, live and cached, and the disk they lie on.
#[test]
fn without_a_run_it_measures_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    few_clips(&path.join("voice"), 24);
    let arguments = [
        "doctor",
        "--num-batches",
        "3",
        "--seconds",
        "20",
        "--train-data",
        "voice",
        "--language",
        "en",
        "--batch-size",
        "2",
        "--buckets",
        "2",
        "--json",
    ];
    let run = run_in(path, &arguments, &[]);
    assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
    let document = run.json();
    let signals = &document["signals"];
    assert_eq!(signals["steps"]["measured"], 3);
    for [section, signal] in [
        ["steps", "step"],
        ["steps", "headroom"],
        ["pipeline", "host"],
        ["pipeline", "device"],
        ["pipeline", "read"],
        ["pipeline", "decode"],
        ["storage", "warm"],
        ["storage", "needed"],
        ["dataset", "clips"],
    ] {
        let value = &signals[section][signal];
        assert!(
            value.get("unavailable").is_none(),
            "{section}.{signal}: {value}"
        );
    }
    for section in document["sections"].as_array().unwrap() {
        assert_ne!(section["state"], "unknown", "{section}");
    }
    assert!(
        !path.join("runs").exists(),
        "it keeps nothing of a training"
    );
}

#[test]
fn what_is_not_a_run_is_refused_in_both_languages() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "").unwrap();
    let mut told = String::new();
    for lang in ["en", "fa"] {
        for name in [".", "nowhere"] {
            let run = run_in(
                folder.path(),
                &["doctor", "--run", name, "--lang", lang],
                &[],
            );
            assert_eq!(run.code, Some(1), "{name}");
            assert!(run.stdout.is_empty());
            told.push_str(&run.stderr);
        }
    }
    insta::assert_snapshot!(told);
    let run = run_in(folder.path(), &["diagnose", "--run", ".", "--json"], &[]);
    assert_eq!(run.code, Some(1));
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(
        document["error"]
            .as_str()
            .unwrap()
            .contains("not a run folder")
    );
}

#[test]
fn a_run_that_has_only_begun_has_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("run.lock"), "").unwrap();
    fs::write(
        path.join("metrics.jsonl"),
        "{\"step\":1,\"wall_time\":1.0,\"sta",
    )
    .unwrap();
    fs::write(path.join("plan.json"), "{\"strategy\": \"cpu\", \"work").unwrap();
    let run = run_in(path, &["doctor", "--run", "."], &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for section in [
        "environment:",
        "devices:",
        "configuration:",
        "dataset:",
        "storage:",
        "pipeline speed:",
        "model step:",
        "verdict: no verdict yet",
        "plan.json could not be read",
    ] {
        assert!(run.stdout.contains(section), "{section}\n{}", run.stdout);
    }
    let run = run_in(path, &["diagnose", "--run", ".", "--lang", "fa"], &[]);
    assert!(
        run.stdout.contains("داوری: هنوز داوری نیست"),
        "{}",
        run.stdout
    );
    let run = run_in(path, &["doctor", "--run", ".", "--json"], &[]);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["findings"], serde_json::json!([]));
    assert_eq!(document["sections"].as_array().unwrap().len(), 8);
}

/// A fault in a file is found, `--fix` writes a file without it, and that trains and has
/// the fault no more. What stood there before is kept.
#[test]
fn a_fault_is_fixed_in_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    few_weights(&path.join("weights"));
    // One bucket for clips of half a second and of four.
    let lengths: Vec<u32> = (0..24).map(|clip| 500 + 150 * clip).collect();
    hums(&path.join("clips"), &lengths);
    let mine = "\
# my voice
data:
  train_data: clips   # hums
  language: en
  buckets: 1          # who needs more?
  batch_size: 2
training:
  init: weights
  seed: 7
";
    fs::write(path.join("mine.yaml"), mine).unwrap();
    let doctor = |file: &str, more: &[&str]| {
        let asked = [
            "doctor",
            "--num-batches=6",
            "--seconds=20",
            "--json",
            "--config",
        ];
        let run = run_in(path, &[&asked[..], &[file], more].concat(), &[]);
        assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
        run.json()
    };
    let has_padding = |document: &serde_json::Value| {
        let findings = document["findings"].as_array().unwrap();
        findings.iter().any(|finding| finding["code"] == "PADDING")
    };
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    let found = doctor("mine.yaml", &["--fix"]);
    assert!(has_padding(&found), "{found:#}");
    let fixed = &found["fixed"];
    assert_eq!(fixed["path"], "mine.fixed.yaml");
    assert_eq!(fixed["backup"], serde_json::Value::Null);
    assert_eq!(read("mine.yaml"), mine, "the old file stays as it is");
    // Line by line: the edits that are shown, and nothing else.
    let edits = fixed["edits"].as_array().unwrap();
    let key = |edit: &serde_json::Value| {
        let key = edit["key"].as_str().unwrap();
        key.split_once('.').unwrap().1.to_owned()
    };
    let new = read("mine.fixed.yaml");
    let is_of = |line: &str, key: &str| line.trim_start().starts_with(&format!("{key}:"));
    let untouched = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !edits.iter().any(|edit| is_of(line, &key(edit))));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(untouched(&new), untouched(mine));
    for edit in edits {
        let line = new.lines().find(|line| is_of(line, &key(edit))).unwrap();
        let value = line.split('#').next().unwrap().split_once(": ").unwrap().1;
        assert_eq!(value.trim(), edit["new"].as_str().unwrap(), "{new}");
    }
    let buckets = edits
        .iter()
        .find(|edit| edit["key"] == "data.buckets")
        .unwrap();
    assert_eq!(buckets["old"], "1");
    assert!(new.contains("  # who needs more?"), "{new}");

    // It trains, and the finding is gone.
    assert!(!has_padding(&doctor("mine.fixed.yaml", &[])));
    let train = [
        "train",
        "--config=mine.fixed.yaml",
        "--stage=gpt",
        "--max-steps=1",
    ];
    let run = run_in(
        path,
        &[&train[..], &["--set=training.sample_count=0"]].concat(),
        &[],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);

    // Once more: what was written before is kept.
    fs::write(path.join("mine.fixed.yaml"), "# mine now\n").unwrap();
    let again = doctor("mine.yaml", &["--fix"]);
    assert_eq!(again["fixed"]["backup"], "mine.fixed.yaml.bak");
    assert_eq!(read("mine.fixed.yaml.bak"), "# mine now\n");
    assert!(read("mine.fixed.yaml").starts_with("# my voice\n"));
}
