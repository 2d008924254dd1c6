//! What is written about good clips.

use std::collections::BTreeSet;
use std::fs;

use myxtts_data::layout::Split;
use myxtts_data::prepare::{Manifest, Note, earlier};
use myxtts_text::{Training, Vocabulary};

use super::support::{Dataset, tone};

#[test]
fn a_line_of_the_manifest() {
    let mut data = Dataset::new();
    data.clip("a", 1.5, "It is 5 o'clock.");
    data.prepare();
    let text = fs::read_to_string(data.path().join("myxtts/manifest.jsonl")).unwrap();
    insta::assert_snapshot!(text);
    let mut manifest = Manifest::open(&data.path().join("myxtts")).unwrap();
    let clip = manifest.next().unwrap().unwrap();
    let bytes = fs::read(manifest.audio(&clip)).unwrap();
    assert_eq!(clip.content_hash(), Some(*blake3::hash(&bytes).as_bytes()));
    assert_eq!(clip.length().audio.0, 33_075_u32.div_ceil(1024));
}

#[test]
fn some_clips_of_every_speaker_are_held_out() {
    let mut data = Dataset::new();
    for n in 0..40 {
        let id = format!("clip_{n}");
        let speaker = if n % 2 == 0 { "anna" } else { "ben" };
        data.line(format!("{id}|one two three four||{speaker}").as_bytes());
        myxtts_audio::write_wav_pcm16(&data.wav(&id), &tone(&id, 0.8, 22_050)).unwrap();
    }
    let prepared = data.prepare();
    let held_out = prepared
        .clips
        .iter()
        .filter(|clip| clip.split == Split::Validation);
    let speakers: BTreeSet<_> = held_out.clone().map(|clip| clip.speaker.clone()).collect();
    assert_eq!((held_out.count(), speakers.len()), (2, 2));
    assert_eq!(prepared.report.speakers.len(), 2);

    let mut request = data.request();
    request.settings.held_out_fraction = 0.0;
    assert_eq!(data.prepare_as(&request).unwrap().report.validation, 0);
}

#[test]
fn a_dataset_with_validation_of_its_own_keeps_it() {
    let data = Dataset::new();
    let mut lists = [String::new(), String::new()];
    for n in 0..24 {
        let id = format!("c{n}");
        myxtts_audio::write_wav_pcm16(&data.wav(&id), &tone(&id, 0.8, 22_050)).unwrap();
        lists[usize::from(n >= 20)].push_str(&format!("wavs/{id}.wav|one two three four|x\n"));
    }
    fs::write(data.path().join("metadata_train.csv"), &lists[0]).unwrap();
    fs::write(data.path().join("metadata_eval.csv"), &lists[1]).unwrap();
    let report = data.prepare().report;
    assert_eq!((report.train, report.validation), (20, 4));

    fs::remove_file(data.path().join("metadata_eval.csv")).unwrap();
    let report = data.prepare().report;
    assert_eq!(
        (report.train, report.validation),
        (19, 1),
        "train alone: one is held out"
    );
}

#[test]
fn characters_outside_the_vocabulary_and_pieces_no_rule_covers() {
    let mut data = Dataset::new();
    data.clip("a", 2.0, "a plain text");
    data.clip("b", 2.0, "a naïve text, ï twice");
    data.clip("c", 2.0, "an \u{2208} and an ï");
    let lists = "audio|text|speaker|language\nwavs/a.wav|a plain text|x|en\nwavs/b.wav|a naïve text, ï twice|x|en\nwavs/c.wav|an \u{2208} and an ï|x|en\nwavs/d.wav|हमारे 12 घोड़े|x|hi\n";
    myxtts_audio::write_wav_pcm16(&data.wav("d"), &tone("d", 2.0, 22_050)).unwrap();
    fs::remove_file(data.path().join("metadata.csv")).unwrap();
    fs::write(data.path().join("list.csv"), lists).unwrap();
    let vocabulary = Vocabulary::train(
        ["abcdefghijklmnopqrstuvwxyz , . हमारे घोड़े"],
        &Training::default(),
    )
    .unwrap();
    let mut request = data.request();
    request.vocabulary = Some(&vocabulary);
    let prepared = data.prepare_as(&request).unwrap();
    let text = prepared.report.to_string();
    let (_, text) = text.split_once("\nText\n").unwrap();
    let (text, _) = text.split_once("\nPadding").unwrap();
    insta::assert_snapshot!(text);
    assert_eq!(prepared.clip("b").notes, [Note::UncoveredCharacter]);
    assert!(prepared.clip("a").notes.is_empty());

    request.settings.max_text = myxtts_data::units::Tokens(8);
    let prepared = data.prepare_as(&request).unwrap();
    assert!(prepared.report.reasons["text_too_long"] >= 3);
    assert_eq!(prepared.report.bad, 0, "a limit is nobody's fault");
    prepared.report.check().unwrap();
}

#[test]
fn an_earlier_preparation_is_good_until_something_changes() {
    let mut data = Dataset::new();
    data.good_clips(2);
    let mut request = data.request();
    assert_eq!(earlier(&request).unwrap(), None);
    let report = data.prepare().report;
    assert_eq!(earlier(&request).unwrap(), Some(report));
    request.settings.seed = 1;
    assert_eq!(earlier(&request).unwrap(), None, "other settings");
    request.settings.seed = 0;
    data.clip("new", 1.0, "one two");
    assert_eq!(earlier(&request).unwrap(), None, "other metadata");
}

#[test]
fn an_edited_manifest_is_named_with_its_line() {
    let mut data = Dataset::new();
    data.good_clips(2);
    data.prepare();
    let path = data.path().join("myxtts/manifest.jsonl");
    let text = fs::read_to_string(&path).unwrap() + "{\"id\":\"x\"}\n";
    fs::write(&path, text).unwrap();
    let manifest = Manifest::open(&data.path().join("myxtts")).unwrap();
    let error = manifest.collect::<Result<Vec<_>, _>>().unwrap_err();
    insta::assert_snapshot!(data.anonymous(error));
}
