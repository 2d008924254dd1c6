//! The padding of the corpus that `bench pipeline` makes, without its devices.
//!
//! `cargo run --release -p myxtts-data --example padding [CLIPS [BUCKETS [BATCH_SIZE]]]`;
//! 0 clips: the embedded sample corpus.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an example")]

use std::num::NonZeroUsize;
use std::time::Instant;

use myxtts_data::bench::generate;
use myxtts_data::corpus::unpack;
use myxtts_data::prepare::{Manifest, Request, Settings, prepare};
use myxtts_data::schedule::{ClipLength, Schedule, choose_buckets, padding_percent};
use myxtts_data::units::{Codes, Tokens};
use myxtts_text::{CleanOptions, Training, Vocabulary, clean_with};

fn main() {
    let numbers: Vec<u32> = std::env::args()
        .skip(1)
        .map(|number| number.parse().unwrap())
        .collect();
    let number = |at: usize, default| numbers.get(at).copied().unwrap_or(default);
    let (clips, buckets, batch_size) = (number(0, 1200), number(1, 8), number(2, 8));
    let t = Instant::now();
    let lengths = lengths(clips);
    eprintln!("{:?}", t.elapsed());
    if let Ok(p) = std::env::var("DUMP") {
        let s: Vec<String> = lengths
            .iter()
            .map(|l| format!("{} {}", l.text.0, l.audio.0))
            .collect();
        std::fs::write(p, s.join("\n")).unwrap();
    }
    let begin = Instant::now();
    let shapes = choose_buckets(&lengths, buckets as usize);
    let took = begin.elapsed();
    println!("{} clips, buckets in {took:.2?}", lengths.len());
    for replicas in [1, 2, 4] {
        let schedule = Schedule::new(&lengths, &shapes, batch_size, replicas, 0).unwrap();
        println!(
            "{replicas} replicas: {:.2} % padding, {:.2} % without empty rows",
            schedule.padding_percent(&lengths),
            padding_percent(&lengths, &shapes),
        );
        for (shape, rows) in schedule.shapes() {
            println!(
                "  {} tokens, {} codes, {rows} rows",
                shape.text.0, shape.audio.0
            );
        }
    }
}

fn lengths(clips: u32) -> Vec<ClipLength> {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (folder.path().join("dataset"), folder.path().join("out"));
    if clips == 0 {
        unpack(&dataset).unwrap();
    } else {
        generate(&dataset, clips).unwrap();
    }
    let request = Request {
        dataset,
        out: out.clone(),
        vocabulary: None,
        workers: NonZeroUsize::new(2).unwrap(),
        cache: false,
        settings: Settings {
            held_out_fraction: 0.0,
            ..Settings::default()
        },
    };
    prepare(&request, &mut |_| {}).unwrap();
    let clips: Vec<_> = Manifest::open(&out)
        .unwrap()
        .map(|clip| {
            let clip = clip.unwrap();
            let language = clip.language.parse().unwrap();
            let text = clean_with(&clip.text, &language, &CleanOptions::default()).text;
            (text, language, clip.samples)
        })
        .collect();
    let mut languages: Vec<_> = clips.iter().map(|clip| clip.1.clone()).collect();
    languages.sort();
    languages.dedup();
    let training = Training {
        languages,
        ..Training::default()
    };
    let texts = clips.iter().map(|clip| clip.0.clone());
    let vocabulary = Vocabulary::train(texts, &training).unwrap();
    let length = |(text, language, samples): &(String, _, _)| ClipLength {
        text: Tokens(u32::try_from(vocabulary.encode(text, language).unwrap().len()).unwrap()),
        audio: Codes::of(*samples),
    };
    clips.iter().map(length).collect()
}
