//! A model that cannot learn ten clips by heart cannot learn anything.

use crate::support::{few_clips, run_in};

/// Codes first: ten clips have few sounds, and soon have codes.
const CODES: [&str; 8] = [
    "--stage",
    "dvae",
    "--epochs",
    "15",
    "--set",
    "training.checkpoint_every=0",
    "--checkpoint-dir",
    "codes",
];

/// Then what the codes of a text are, until they are known by heart.
const BY_HEART: [&str; 25] = [
    "--stage",
    "gpt",
    "--init",
    "codes",
    "--buckets",
    "1",
    "--epochs",
    "150",
    "--lr",
    "0.002",
    "--set",
    "training.dropout=0",
    // The clips as they are validated: what a training does so that nothing is
    // learnt by heart would be in the way.
    "--set",
    "data.conditioning_from=clip",
    "--set",
    "data.clip_beginnings=1",
    "--set",
    "training.lr_schedule=constant",
    "--set",
    "training.validate_every=25",
    "--set",
    "training.checkpoint_every=0",
    "--checkpoint-dir",
    "run",
    "--json",
];

#[test]
fn ten_clips_are_learnt_by_heart() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["clips", "same"] {
        few_clips(&folder.path().join(name), 10);
    }
    let common = ["train", "--train-data", "clips", "--val-data", "same"];
    let sizes = ["--batch-size", "10", "--set", "training.sample_count=0"];
    for flags in [&CODES[..], &BY_HEART] {
        let run = run_in(folder.path(), &[&common, &sizes[..], flags].concat(), &[]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let metrics = std::fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    let lines = metrics
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let accuracies: Vec<f64> = lines
        .filter_map(|line| line["val_code_accuracy"].as_f64())
        .collect();
    let last = accuracies.last().unwrap();
    assert!(*last > 0.95, "{accuracies:?}");
    assert!(accuracies[0] < *last, "{accuracies:?}");
}
