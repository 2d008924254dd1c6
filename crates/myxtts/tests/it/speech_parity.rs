//! Imported weights speak as they do in the reference: `parity/speech`, made by
//! `tools/check-speech-parity`, through the commands a person types.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::support::run_in;

/// What the reference said, as raw `f32` samples.
#[derive(Deserialize)]
struct Spoken {
    text: String,
    repetition_penalty: f32,
    file: String,
}

#[test]
fn imported_weights_speak_as_the_reference_does() {
    let parity = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../parity/speech");
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let run = run_in(folder.path(), arguments, &[]);
        assert_eq!(run.code, Some(0), "{arguments:?}\n{}", run.stderr);
    };
    run(&["import", parity.to_str().unwrap(), "--out", "weights"]);
    let list = fs::read(parity.join("spoken.json")).unwrap();
    let list: Vec<Spoken> = serde_json::from_slice(&list).unwrap();
    assert_eq!(list.len(), 4);
    let voice = parity.join("one.wav");
    let mut worst = 0.0_f32;
    for spoken in list {
        let penalty = spoken.repetition_penalty.to_string();
        run(&[
            "synthesize",
            "--checkpoint=weights",
            "--language=en",
            "--greedy",
            "--repetition-penalty",
            &penalty,
            "--speaker-wav",
            voice.to_str().unwrap(),
            "--text",
            &spoken.text,
            "--out=spoken.wav",
        ]);
        let expected = raw(&parity.join(&spoken.file));
        let found = pcm(&folder.path().join("spoken.wav"));
        assert_eq!(found.len(), expected.len(), "{}", spoken.text);
        let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
        worst = apart.fold(worst, f32::max);
        // Sound, so that equality says something.
        assert!(expected.iter().any(|x| x.abs() > 0.1));
    }
    assert!(worst < 1e-3, "largest difference {worst}");
}

fn raw(path: &PathBuf) -> Vec<f32> {
    let bytes = fs::read(path).unwrap();
    let (samples, _) = bytes.as_chunks::<4>();
    samples.iter().copied().map(f32::from_le_bytes).collect()
}

/// The samples of a WAV file as this program writes it.
fn pcm(path: &PathBuf) -> Vec<f32> {
    let bytes = fs::read(path).unwrap();
    let (samples, _) = bytes[44..].as_chunks::<2>();
    let number = |sample: [u8; 2]| f32::from(i16::from_le_bytes(sample)) / 32768.0;
    samples.iter().copied().map(number).collect()
}
