//! `myxtts doctor --run`, on folders as people have them.

use std::fs;

use crate::support::{myxtts, run_in};

#[test]
fn without_a_run_it_says_what_to_name() {
    let run = myxtts(&["doctor"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stdout.is_empty());
    insta::assert_snapshot!(run.stderr);
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
