//! Peak memory of `prepare` over a number of clips: `prepare_memory 100000`.
//!
//! Every clip is a file of its own with a sound and a text of its own, so that
//! nothing is saved by duplicates. Prints one line of benchmarks/data.md.
#![allow(
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement"
)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;

use myxtts_audio::units::SampleRate;
use myxtts_audio::{Waveform, write_wav_pcm16};
use myxtts_base::process::peak_memory;
use myxtts_bench::clock::Clock;
use myxtts_data::prepare::{Request, Settings, prepare, unwatched};

fn main() {
    let clips: u32 = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .expect("a number of clips");
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), clips);
    let request = Request {
        dataset: folder.path().to_owned(),
        out: folder.path().join("myxtts"),
        vocabulary: None,
        next: vec![],
        workers: NonZeroUsize::new(2).unwrap(),
        settings: Settings::default(),
    };
    let before = peak();
    let clock = Clock::of_process();
    let report = prepare(&request, &mut unwatched).unwrap();
    assert_eq!(
        (report.total, report.kept),
        (u64::from(clips), u64::from(clips))
    );
    println!(
        "| {clips} | {:.1} MB | {:.1} MB | {:.0} |",
        before,
        peak(),
        f64::from(clips) / clock.wall().as_secs_f64()
    );
}

/// Short clips at 8 kHz, to be kind to the disk.
fn make(folder: &std::path::Path, clips: u32) {
    fs::create_dir(folder.join("wavs")).unwrap();
    let mut metadata = BufWriter::new(File::create(folder.join("metadata.csv")).unwrap());
    for clip in 0..clips {
        writeln!(
            metadata,
            "clip_{clip:06}|This is sentence number {clip} of a rather long list of them.||voice_{}",
            clip % 10
        )
        .unwrap();
        let pitch = 0.1 + f64::from(clip) * 1e-6;
        let samples = (0..4800).map(|n| (f64::from(n) * pitch).sin() as f32 * 0.5);
        let waveform = Waveform {
            samples: samples.collect(),
            rate: SampleRate::new(8000).unwrap(),
        };
        write_wav_pcm16(&folder.join(format!("wavs/clip_{clip:06}.wav")), &waveform).unwrap();
    }
    metadata.flush().unwrap();
}

/// Highest resident memory so far, in MB.
fn peak() -> f64 {
    peak_memory().unwrap() as f64 / f64::from(1 << 20)
}
