//! The corpus that is made from nothing.

use std::fs;

use myxtts_data::generated_corpus::generate;

#[test]
fn the_corpus_is_the_same_each_time_and_shaped_like_speech() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    generate(one.path(), 6).unwrap();
    generate(two.path(), 6).unwrap();
    for name in ["metadata.csv", "wavs/clip-00000.wav", "wavs/clip-00005.wav"] {
        let read = |folder: &tempfile::TempDir| fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read(&one), read(&two), "{name}");
    }
    insta::assert_snapshot!(fs::read_to_string(one.path().join("metadata.csv")).unwrap());
    let limits = myxtts_audio::Limits::default();
    for clip in 0..6 {
        let path = one.path().join(format!("wavs/clip-{clip:05}.wav"));
        let waveform = myxtts_audio::decode(&path, &limits).unwrap().waveform;
        let seconds = waveform.duration().0;
        assert!((2.5..9.7).contains(&seconds), "{seconds}");
        let peak = waveform.samples.iter().fold(0.0_f32, |p, x| p.max(x.abs()));
        assert!((0.05..0.99).contains(&peak), "clip {clip} peaks at {peak}");
    }
}
