//! A model that cannot learn ten clips by heart cannot learn anything.

use crate::support::{few_clips, run_in};

/// Chances enough on two cores, and minutes at most.
const EPOCHS: &str = "150";

#[test]
#[ignore = "takes minutes; not yet seen to its end"]
fn ten_clips_are_learnt_by_heart() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["clips", "same"] {
        few_clips(&folder.path().join(name), 10);
    }
    let run = run_in(
        folder.path(),
        &[
            "train",
            "--train-data",
            "clips",
            "--val-data",
            "same",
            "--batch-size",
            "10",
            "--buckets",
            "1",
            "--epochs",
            EPOCHS,
            "--lr",
            "0.002",
            "--set",
            "training.dvae_epochs=15",
            "--set",
            "training.dropout=0",
            "--set",
            "training.lr_schedule=constant",
            "--set",
            "training.sample_count=0",
            "--set",
            "training.validate_every=25",
            "--set",
            "training.checkpoint_every=0",
            "--checkpoint-dir",
            "run",
        ],
        &[],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
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
