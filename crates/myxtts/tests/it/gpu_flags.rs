//! Flags that place the work on GPUs, by what a training on software GPUs did:
//! the stages and lanes of its ledger, and what it waited for. One training,
//! because a software GPU takes half a minute of both cores for it; replicas,
//! and which GPUs may be used, are in `software_gpu/train.rs` of `myxtts-train`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::support::{ONE_STEP, few_clips, run_in};

/// Whether this machine has software GPUs; CI insists on them.
pub fn has_gpus(folder: &Path) -> bool {
    let run = run_in(
        folder,
        &["plan", "--json"],
        &[("MYXTTS_SOFTWARE_GPUS", "1")],
    );
    let found = run.code == Some(0) && run.json()["strategy"] == "one_device";
    let required = std::env::var_os("REQUIRE_SOFTWARE_GPUS").is_some();
    assert!(found || !required, "software GPUs are required here");
    if !found {
        // Past the test harness, which shows no output of a test that passes.
        let skipped = b"SKIPPED: no software GPU here (Debian: mesa-vulkan-drivers)\n";
        std::io::stderr().write_all(skipped).unwrap();
    }
    found
}

/// One step of the DVAE: its log, and what the ledger says of who did what. A
/// software GPU takes seconds for a batch, and a profile would add several up.
fn train(folder: &Path, gpus: &str, name: &str, flags: &[&str]) -> (String, Vec<Value>) {
    let here = ["--grad-accum", "1", "--checkpoint-dir", name];
    let run = run_in(
        folder,
        &[&ONE_STEP[..], &here, flags].concat(),
        &[("MYXTTS_SOFTWARE_GPUS", gpus)],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let ledger = std::fs::read_to_string(folder.join(name).join("ledger.jsonl")).unwrap();
    let lines = ledger
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    (run.stderr, lines.collect())
}

/// Different values of a field, in the entries of one stage.
fn different(ledger: &[Value], stage: &str, field: &str) -> BTreeSet<u64> {
    let of_stage = ledger.iter().filter(|entry| entry["stage"] == stage);
    of_stage.filter_map(|entry| entry[field].as_u64()).collect()
}

/// `--data-gpu`, `--model-gpu`, `--model-start-delay`.
#[test]
fn data_and_model_on_two_gpus() {
    let folder = tempfile::tempdir().unwrap();
    if !has_gpus(folder.path()) {
        return;
    }
    few_clips(&folder.path().join("clips"), 8);
    let split = ["--data-gpu", "1", "--model-gpu", "0"];
    // Nothing can be ready so soon, and the model does not wait for it.
    let hasty = [&split[..], &["--model-start-delay", "0"]].concat();
    let (said, ledger) = train(folder.path(), "2", "hasty", &hasty);
    assert_eq!(different(&ledger, "hop", "step").len(), 1, "the batch hops");
    assert_eq!(different(&ledger, "model", "lane").len(), 1);
    assert!(
        said.contains("model_start_delay of 0.00 s passed with "),
        "{said}"
    );
}
