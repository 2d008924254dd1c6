//! Clips that are too long: split by `prepare`, then trained on.

use std::fs;
use std::path::Path;

use myxtts_audio::{Limits, Waveform, decode, write_wav_pcm16};
use serde_json::Value;

use crate::support::{few_clips, few_weights, run_in};

/// Clips of the sample corpus, and two recordings of five of them each, one after the
/// other as a person reads them; returns where they join, in seconds.
fn reading(folder: &Path) -> Vec<Vec<f64>> {
    few_clips(folder, 24);
    let metadata = fs::read_to_string(folder.join("metadata.csv")).unwrap();
    let mut rows: Vec<String> = metadata.lines().map(str::to_owned).collect();
    let mut joins = vec![];
    for (number, five) in metadata
        .lines()
        .collect::<Vec<_>>()
        .chunks(5)
        .take(2)
        .enumerate()
    {
        let (mut whole, mut texts, mut ends) = (Waveform::default(), vec![], vec![]);
        for row in five {
            let fields: Vec<&str> = row.split('|').collect();
            let path = folder.join(format!("wavs/{}.ogg", fields[0]));
            let clip = decode(&path, &Limits::default()).unwrap().waveform;
            whole.rate = clip.rate;
            whole.samples.extend(clip.samples);
            // A reader breathes between two sentences.
            let breath = whole.samples.len() + whole.rate.hz() as usize / 3;
            whole.samples.resize(breath, 0.0);
            ends.push(whole.duration().0);
            texts.push(fields[1]);
        }
        write_wav_pcm16(&folder.join(format!("wavs/page{number}.wav")), &whole).unwrap();
        let text = texts.join(" ");
        rows.push(format!("page{number}|{text}|{text}|slt"));
        joins.push(ends);
    }
    fs::write(folder.join("metadata.csv"), rows.join("\n") + "\n").unwrap();
    joins
}

#[test]
fn a_reading_is_split_and_trained_on() {
    let desk = tempfile::tempdir().unwrap();
    let joins = reading(&desk.path().join("voice"));
    few_weights(&desk.path().join("weights"));
    let run = run_in(desk.path(), &["prepare", "voice", "--split"], &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    insta::assert_snapshot!(run.stdout);

    let manifest = fs::read_to_string(desk.path().join("voice/myxtts/manifest.jsonl")).unwrap();
    let clips = manifest
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let pieces: Vec<Value> = clips.filter(|clip| clip["span"].is_object()).collect();
    for (page, ends) in joins.iter().enumerate() {
        let of_page = |piece: &&Value| {
            let id = piece["id"].as_str().unwrap();
            id.starts_with(&format!("page{page}#part"))
        };
        let mut sentences = 0;
        for piece in pieces.iter().filter(of_page) {
            sentences += piece["text"].as_str().unwrap().matches('.').count();
            let number = |name: &str| piece["span"][name].as_u64().unwrap() as f64;
            let end = (number("first") + number("length")) / 22_050.0;
            let off = ends[sentences - 1] - end;
            assert!((-0.1..0.9).contains(&off), "{off} s from the join: {piece}");
        }
        assert_eq!(sentences, 5, "every sentence is in a piece");
    }

    // The training finds what was prepared, and the command in the report is the one for it.
    assert!(
        run.stdout
            .contains("--train-data voice --split-long --language en")
    );
    let arguments = [
        "train",
        "--train-data",
        "voice",
        "--split-long",
        "--language",
        "en",
        "--init",
        "weights",
        "--checkpoint-dir",
        "run",
        "--max-steps",
        "2",
        "--batch-size",
        "4",
        "--json",
    ];
    let trained = run_in(desk.path(), &arguments, &[]);
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    assert!(
        trained.stderr.contains("26 clips (2 of them split into"),
        "{}",
        trained.stderr
    );
    assert_eq!(trained.json()["steps"], 2);
    let mut other = arguments.to_vec();
    other.retain(|argument| *argument != "--split-long");
    let refused = run_in(desk.path(), &other, &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("data.split_long"),
        "{}",
        refused.stderr
    );
}
