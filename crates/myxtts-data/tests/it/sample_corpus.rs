//! The corpus that `train` uses when it is given nothing.

use std::collections::{BTreeMap, BTreeSet};
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
fn two_voices_share_640_sentences_and_say_every_phrase_as_often() {
    let mut sentences = BTreeSet::new();
    let mut voices: BTreeMap<String, usize> = BTreeMap::new();
    let mut openings: BTreeMap<(String, String), usize> = BTreeMap::new();
    for entry in entries() {
        let voice = entry.speaker.unwrap();
        *voices.entry(voice.clone()).or_default() += 1;
        let words: Vec<&str> = entry.text.split_whitespace().collect();
        // Each of the eight who-phrases has a second word of its own.
        *openings.entry((voice, words[..2].join(" "))).or_default() += 1;
        assert!(sentences.insert(entry.text), "none is said twice");
    }
    assert_eq!(
        voices,
        BTreeMap::from([("rms".to_owned(), 320), ("slt".to_owned(), 320)])
    );
    assert_eq!(sentences.len(), 640);
    assert_eq!(openings.len(), 16);
    for (opening, count) in openings {
        assert_eq!(count, 40, "{opening:?}");
    }
}

#[test]
fn every_clip_decodes_and_lasts_one_to_five_seconds() {
    for entry in entries() {
        let decoded = decode(&entry.audio, &Limits::default()).unwrap();
        let seconds = decoded.waveform.duration().0;
        assert!(
            (1.0..5.0).contains(&seconds),
            "{}: {seconds} s",
            entry.audio.display()
        );
    }
}

#[test]
fn held_out_sentences_are_new_combinations_of_known_words() {
    let known: Vec<String> = entries().into_iter().map(|entry| entry.text).collect();
    let held_out = fs::read_to_string(folder().join("held_out.txt")).unwrap();
    assert_eq!(held_out.lines().count(), 24);
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
    assert!(bytes < 12_000_000, "{bytes} bytes");
}
