//! Scores for `benchmarks/scores.py`, one JSON object a line:
//! `score RECORDING CLIP [RECORDING CLIP ...]` of recordings,
//! `score --texts TEXT TRANSCRIPT [TEXT TRANSCRIPT ...]` of texts.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a tool of the benchmarks"
)]

use std::error::Error;
use std::path::Path;

use myxtts_audio::{Limits, decode};
use myxtts_score::{Analyser, characters, compare, edits, words};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((first, texts)) if first == "--texts" => {
            for (text, heard) in texts.chunks_exact(2).map(|pair| (&pair[0], &pair[1])) {
                let words = edits(&words(text), &words(heard));
                let characters = edits(&characters(text), &characters(heard));
                println!("{}", json!({ "words": words, "characters": characters }));
            }
            Ok(())
        }
        _ => recordings(&arguments),
    }
}

fn recordings(files: &[String]) -> Result<(), Box<dyn Error>> {
    let mut analyser = Analyser::new()?;
    for pair in files.chunks_exact(2) {
        let mut analysed = |file: &str| -> Result<_, Box<dyn Error>> {
            let decoded = decode(Path::new(file), &Limits::default())?;
            Ok(analyser.analyse(&decoded.waveform)?)
        };
        let (recording, clip) = (analysed(&pair[0])?, analysed(&pair[1])?);
        let scores = compare(&recording, &clip)?;
        println!(
            "{}",
            json!({
                "distortion_db": scores.distortion,
                "pitch_error_cents": scores.pitch_error,
                "voicing_error": scores.voicing_error,
                "pitch_hz": clip.pitch.frames,
            })
        );
    }
    Ok(())
}
