//! The corpus that `train` uses when it is given nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use myxtts_audio::{Limits, decode};
use myxtts_data::layout::{Entry, Layout, detect, rows};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn entries() -> Vec<Entry> {
    let layout = detect(&folder(), None).unwrap();
    assert!(matches!(layout, Layout::Tables { .. }));
    rows(&layout)
        .unwrap()
        .map(|row| row.unwrap().unwrap())
        .collect()
}

#[test]
fn two_voices_say_the_same_sentences() {
    let mut by_voice: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in entries() {
        by_voice
            .entry(entry.speaker.unwrap())
            .or_default()
            .push(entry.text);
    }
    assert_eq!(by_voice.len(), 2);
    assert_eq!(by_voice["slt"], by_voice["rms"]);
    assert_eq!(by_voice["slt"].len(), 56);
}

#[test]
fn every_clip_decodes_and_lasts_two_to_five_seconds() {
    for entry in entries() {
        let decoded = decode(&entry.audio, &Limits::default()).unwrap();
        let seconds = decoded.waveform.duration().0;
        assert!(
            (2.0..5.0).contains(&seconds),
            "{}: {seconds} s",
            entry.audio.display()
        );
    }
}

#[test]
fn held_out_sentences_are_new_combinations_of_known_words() {
    let known: Vec<String> = entries().into_iter().map(|entry| entry.text).collect();
    let held_out = fs::read_to_string(folder().join("held_out.txt")).unwrap();
    assert_eq!(held_out.lines().count(), 12);
    let words: Vec<&str> = known
        .iter()
        .flat_map(|text| text.split_whitespace())
        .collect();
    for sentence in held_out.lines() {
        assert!(!known.iter().any(|text| text == sentence), "{sentence}");
        for word in sentence.split_whitespace() {
            assert!(words.contains(&word), "{word} of {sentence}");
        }
    }
}

#[test]
fn it_is_small_enough_to_embed() {
    let files = fs::read_dir(folder().join("wavs")).unwrap();
    let bytes: u64 = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(bytes < 8 << 20, "{bytes} bytes");
}
