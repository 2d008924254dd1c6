//! Recordings that go after they were prepared.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use myxtts_run::observer::Silent;
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::session::{TrainRequest, run};

use crate::mini;

fn train(job: &TrainRequest) -> Result<(), String> {
    let placement = Placement::on(&Device::flex());
    let finished = run(
        job,
        &placement,
        StopRequest::install().unwrap(),
        Arc::new(Silent),
    );
    finished.map(|_| ()).map_err(|why| why.to_string())
}

/// Of eight clips, one is taken away and one is cut.
fn lose(folder: &Path) {
    fs::remove_file(folder.join("dataset/wavs/clip1.wav")).unwrap();
    let path = folder.join("dataset/wavs/clip6.wav");
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(20_000).unwrap();
}

#[test]
fn a_few_are_left_out_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = mini::job(folder.path());
    job.config.data.dataset.max_bad_fraction = 0.25;
    lose(folder.path());
    train(&job).unwrap();
    assert_eq!(mini::losses(&job.folder()).len(), 4, "no step is missing");
    let quarantine = fs::read_to_string(job.folder().join("quarantine.jsonl")).unwrap();
    let mut reasons: Vec<String> = quarantine
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["reason"].to_string())
        .collect();
    reasons.sort();
    assert_eq!(reasons, ["\"not_found\"", "\"truncated\""]);
    let log = fs::read_to_string(job.folder().join("train.log")).unwrap();
    assert!(log.contains("clip1.wav: while training: "), "{log}");
}

#[test]
fn too_many_end_the_training_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = mini::job(folder.path());
    job.config.data.dataset.max_bad_fraction = 0.2;
    lose(folder.path());
    let why = train(&job).unwrap_err();
    let why = why.replace(&folder.path().display().to_string(), "DIR");
    assert!(
        why.contains(
            "2 of 8 clips can no longer be read, but data.max_bad_fraction allows only 20.00 %"
        ),
        "{why}"
    );
    assert!(why.contains("--set data.max_bad_fraction=0.25"), "{why}");
    assert!(
        why.contains("DIR/prepared/") || why.contains("clip"),
        "{why}"
    );
}
