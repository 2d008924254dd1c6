//! `myxtts bench`, on a corpus small enough for a test.

use crate::support::{myxtts, run_in};

#[test]
fn data_has_every_figure_of_the_contract() {
    let run = myxtts(&["bench", "data", "--clips", "3", "--passes", "1", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.json();
    for field in [
        "wav_decode_ms_per_10s",
        "mel_ms_per_10s",
        "host_stage_clips_per_core_s",
        "audio_seconds",
    ] {
        let value = document[field].as_f64();
        assert!(
            value.is_some_and(|value| value > 0.0),
            "{field}: {document}"
        );
    }
    assert_eq!(document["clips"], 3);
    assert!(document["machine"]["cores"].as_u64().unwrap() >= 1);
}

#[test]
fn data_measures_the_corpus_it_wrote_before() {
    let folder = tempfile::tempdir().unwrap();
    let made = run_in(
        folder.path(),
        &["bench", "data", "--make-corpus", "corpus", "--clips", "2"],
        &[],
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(made.stdout, "2 clips in corpus\n");
    let run = run_in(
        folder.path(),
        &["bench", "data", "--corpus", "corpus", "--passes", "1"],
        &[],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[1].starts_with("2 clips, "), "{}", run.stdout);
    for stage in ["decode ", "log-mel ", "host stage "] {
        assert!(
            lines.iter().any(|line| line.starts_with(stage)),
            "no {stage}in:\n{}",
            run.stdout
        );
    }
}

#[test]
fn data_help() {
    insta::assert_snapshot!(myxtts(&["bench", "data", "--help"]).stdout);
}

#[test]
fn pipeline_has_every_figure_of_the_contract() {
    let run = myxtts(&[
        "bench",
        "pipeline",
        "--clips=12",
        "--steps=6",
        "--step-ms=2",
        "--batch-size=1",
        "--workers=2",
        "--json",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.json();
    for field in [
        "padding_pct",
        "samples_per_s",
        "sequential_samples_per_s",
        "speedup",
    ] {
        let value = document[field].as_f64();
        assert!(
            value.is_some_and(|value| value > 0.0),
            "{field}: {document}"
        );
    }
    for field in ["data_wait_pct", "ledger_overhead_pct"] {
        let value = document[field].as_f64();
        assert!(
            value.is_some_and(|value| (0.0..=100.0).contains(&value)),
            "{field}: {document}"
        );
    }
    if cfg!(target_os = "linux") {
        assert!(document["host_cpu_pct"].is_f64(), "{document}");
    }
    assert_eq!(document["shapes_after_warmup"], 0);
    assert_eq!(document["clips"], 12);
    assert_eq!(document["phase"], "codes from the cache");
    assert_eq!(document["cached"]["pipeline"]["steps"], 6);
    assert_eq!(document["cached"]["ledger"]["stages"][0]["batches"], 6);
    assert!(document["machine"]["cores"].as_u64().unwrap() >= 1);
}

#[test]
fn pipeline_help() {
    insta::assert_snapshot!(myxtts(&["bench", "pipeline", "--help"]).stdout);
}

#[test]
fn step_help() {
    insta::assert_snapshot!(myxtts(&["bench", "step", "--help"]).stdout);
}

#[test]
fn step_has_every_figure_of_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let peer = r#"{"8 x 512, batch 4": {"step_s": 2.0, "cpu_s": 1.0}}"#;
    std::fs::write(folder.path().join("peer.json"), peer).unwrap();
    let arguments = [
        "bench",
        "step",
        "--steps",
        "1",
        "--peer",
        "peer.json",
        "--json",
    ];
    let run = run_in(folder.path(), &arguments, &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.json();
    let number = |field: &str| document[field].as_f64().unwrap_or_default();
    for field in ["step_s", "forward_s", "backward_s", "optimizer_s"] {
        assert!(number(field) > 0.0, "{field}: {document}");
    }
    assert!((number("ratio_to_pytorch") - number("step_s") / 2.0).abs() < 1e-9);
    assert_eq!(document["cases"].as_array().map(Vec::len), Some(3));
    assert_eq!(document["parameters"], 46_304_111);
    assert!(document["cases"][2]["ratio_to_pytorch"].is_null());
}

#[test]
fn a_peer_that_is_no_record_is_refused() {
    let run = myxtts(&["bench", "step", "--peer", "no-such-file.json"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr);
}

#[test]
fn telemetry_help() {
    insta::assert_snapshot!(myxtts(&["bench", "telemetry", "--help"]).stdout);
}

#[test]
fn synth_help() {
    insta::assert_snapshot!(myxtts(&["bench", "synth", "--help"]).stdout);
}

#[test]
fn synth_has_every_figure_of_the_contract() {
    let run = myxtts(&["bench", "synth", "--rounds=1", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.json();
    for field in [
        "rtf",
        "first_audio_s",
        "first_audio_samples",
        "later_first_audio_s",
    ] {
        let value = document[field].as_f64();
        assert!(
            value.is_some_and(|value| value > 0.0),
            "{field}: {document}"
        );
    }
    let lengths = document["seconds"].as_array().unwrap();
    let codes: Vec<u64> = lengths
        .iter()
        .filter_map(|length| length["codes"].as_u64())
        .collect();
    assert_eq!(codes, [100, 200, 400]);
    for length in lengths {
        let [whole, of_codes] = ["seconds", "codes_s"].map(|field| length[field].as_f64().unwrap());
        assert!(0.0 < of_codes && of_codes < whole, "{length}");
    }
    if cfg!(target_os = "linux") {
        assert!(document["peak_rss_bytes"].as_u64().unwrap() > 0);
    }
    // Nothing is said of a reference that was not there.
    for field in [
        "ratio_to_reference",
        "first_audio_ratio",
        "later_first_audio_ratio",
        "reference",
    ] {
        assert!(document[field].is_null(), "{field}: {document}");
    }
}

#[test]
fn a_reference_that_cannot_be_started_is_refused() {
    let run = myxtts(&["bench", "synth", "--peer", "no-such-python"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr);
}
