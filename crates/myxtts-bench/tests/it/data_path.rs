//! The measuring itself: that it measures what it says, on what it says.

use std::fs;

use myxtts_bench::data_path::measure;
use myxtts_data::generated_corpus::generate;

#[test]
fn a_report_counts_the_corpus_and_has_every_figure() {
    let folder = tempfile::tempdir().unwrap();
    generate(folder.path(), 4).unwrap();
    let report = measure(folder.path(), None, 1).unwrap();
    assert_eq!(report.clips, 4);
    let limits = myxtts_audio::Limits::default();
    let samples: usize = (0..4)
        .map(|clip| {
            let path = folder.path().join(format!("wavs/clip-{clip:05}.wav"));
            myxtts_audio::decode(&path, &limits)
                .unwrap()
                .waveform
                .len()
                .0
        })
        .sum();
    assert_eq!(report.samples, samples as u64);
    assert!((report.audio_seconds * 22_050.0 - samples as f64).abs() < 1e-6);
    let names: Vec<&str> = report.stages.iter().map(|stage| stage.name).collect();
    assert_eq!(
        names,
        [
            "decode",
            "log-mel",
            "decode + log-mel",
            "clean + tokenise",
            "host stage",
            "host stage, silence trimmed"
        ]
    );
    let document = serde_json::to_value(&report).unwrap();
    for field in [
        "wav_decode_ms_per_10s",
        "mel_ms_per_10s",
        "decode_mel_ms_per_10s",
        "host_stage_ms_per_10s",
        "host_stage_clips_per_core_s",
    ] {
        let value = document[field].as_f64().unwrap();
        assert!(value > 0.0 && value.is_finite(), "{field}: {value}");
    }
    let rate = report.host_stage_clips_per_core_s;
    let expected =
        report.clips as f64 / (report.audio_seconds / 10.0 * report.host_stage_ms_per_10s / 1e3);
    assert!((rate / expected - 1.0).abs() < 1e-6, "{rate} {expected}");
}

#[test]
fn a_folder_without_clips_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let error = measure(folder.path(), None, 1).unwrap_err().to_string();
    insta::assert_snapshot!(error.replace(&folder.path().display().to_string(), "DATA"));
    fs::create_dir(folder.path().join("wavs")).unwrap();
    fs::write(folder.path().join("metadata.csv"), "lonely\n").unwrap();
    let error = measure(folder.path(), None, 1).unwrap_err().to_string();
    insta::assert_snapshot!(error.replace(&folder.path().display().to_string(), "DATA"));
}
