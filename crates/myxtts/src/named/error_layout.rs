//! The lines below an error are laid out by `Report` alone: no other source writes their labels.

use super::{files_below, root, texts, words_of};

/// What a part of an error begins with, labels of the past included.
const LABELS: [&str; 8] = [
    "where:", "asked:", "found:", "why:", "fix:", "hint:", "next:", "-->",
];

/// Sources that may write one, and why.
const ALLOWED: [(&str, &str); 1] = [(
    "crates/myxtts-config/src/problem.rs",
    "the arrow points at a place in a file, and the line at fault is quoted below it",
)];

/// Returns whether a line of a literal begins a part of an error: a label after an indent.
fn begins_a_part(line: &str) -> bool {
    let label = line.trim_start();
    line.starts_with("  ") && LABELS.iter().any(|known| label.starts_with(known))
}

#[test]
fn only_a_report_lays_out_an_error() {
    let mut files = Vec::new();
    files_below(&root(), &mut files);
    let is_allowed = |path: &str| ALLOWED.iter().any(|(allowed, _)| *allowed == path);
    let mut wrong = Vec::new();
    for text in texts(&files) {
        // The file of this test has examples.
        let is_ours = text.path.contains("/named/") || is_allowed(&text.path);
        if !text.is(".rs") || is_ours {
            continue;
        }
        let lines = text.lines.iter().filter(|line| !line.starts_with("//"));
        for line in lines.filter(|line| begins_a_part(line)) {
            wrong.push(format!("{}: {}", text.path, line.trim()));
        }
    }
    assert!(
        wrong.is_empty(),
        "write these with `report!` of myxtts-base:\n{}",
        wrong.join("\n")
    );
}

/// The first test can fail: the ways in which sources have written a label.
#[test]
fn a_label_is_found() {
    for source in [
        r#""it failed\n  fix:   try again""#,
        "\"it failed\\n  \\\n         fix: try again\"",
        r##"r#"it failed
  hint: try again"#"##,
        r#"words.split_once("\n  fix:")"#,
        r#""the file\n  --> {}""#,
    ] {
        assert!(
            words_of(source).iter().any(|line| begins_a_part(line)),
            "{source}"
        );
    }
    for source in [
        r#"report!("it failed"; fix: "try again")"#,
        r#""fix: --set training.name=NAME""#,
        r#"/// it failed\n  fix:   try again"#,
    ] {
        let words = words_of(source);
        let mut lines = words.iter().filter(|line| !line.starts_with("//"));
        assert!(!lines.any(|line| begins_a_part(line)), "{source}");
    }
}
