//! The program, driven as a person would.

use std::path::Path;
use std::process::Command;

use myxtts_audio::units::SampleRate;
use myxtts_audio::{Waveform, wav_pcm16};

use crate::tiny::Tiny;

/// `myxtts ARGUMENTS` in an empty folder, without the tester's own settings.
pub fn myxtts(arguments: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), arguments, &[])
}

/// The same with a configuration file `train.yaml` beside it.
pub fn myxtts_with_file(yaml: &str, arguments: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.yaml"), yaml).unwrap();
    run_in(folder.path(), arguments, &[])
}

/// The program in a folder, without the tester's own settings.
pub fn command_in(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_myxtts"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MYXTTS_") {
            command.env_remove(&name);
        }
    }
    command
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .env("XDG_CACHE_HOME", folder.join("cache"));
    command
}

/// A training of one step of the DVAE on [`few_clips`] in `clips`, without samples.
pub const ONE_STEP: [&str; 9] = [
    "train",
    "--train-data",
    "clips",
    "--stage",
    "dvae",
    "--max-steps",
    "1",
    "--set",
    "training.sample_count=0",
];

/// A dataset of the first clips of the sample corpus.
pub fn few_clips(folder: &Path, clips: usize) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../myxtts-data/corpus");
    let text = std::fs::read_to_string(corpus.join("metadata.csv")).unwrap();
    let few: Vec<&str> = text.lines().take(clips).collect();
    std::fs::create_dir_all(folder.join("wavs")).unwrap();
    for line in &few {
        let name = format!("wavs/{}.ogg", line.split('|').next().unwrap());
        std::fs::copy(corpus.join(&name), folder.join(&name)).unwrap();
    }
    std::fs::write(folder.join("metadata.csv"), few.join("\n") + "\n").unwrap();
}

/// A dataset with a hum of each of these lengths, in milliseconds.
pub fn hums(folder: &Path, milliseconds: &[u32]) {
    const RATE: u32 = 22_050;
    std::fs::create_dir_all(folder.join("wavs")).unwrap();
    let mut rows = String::new();
    for (clip, length) in milliseconds.iter().enumerate() {
        let hertz = 110.0 + 7.0 * clip as f32;
        let samples = (0..RATE * length / 1000).map(|n| {
            let t = n as f32 / RATE as f32;
            0.3 * (std::f32::consts::TAU * hertz * t).sin()
        });
        let waveform = Waveform {
            samples: samples.collect(),
            rate: SampleRate::XTTS,
        };
        let path = folder.join(format!("wavs/hum{clip}.wav"));
        std::fs::write(path, wav_pcm16(&waveform).unwrap()).unwrap();
        let word = ["fox", "dogs", "hello", "there"][clip % 4];
        rows.push_str(&format!("hum{clip}|The {word}.|The {word}.\n"));
    }
    std::fs::write(folder.join("metadata.csv"), rows).unwrap();
}

/// Weights of a model of a few thousand numbers: what starts from them trains
/// and is measured in milliseconds.
pub fn few_weights(folder: &Path) {
    let tiny = Tiny::with_room(&["en"], 60, 200);
    myxtts_weights::write_ours(folder, &tiny.checkpoint()).unwrap();
}

pub fn run_in(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let output = command_in(folder)
        .envs(variables.iter().copied())
        .args(arguments)
        .output()
        .unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The JSON document on stdout, which must be all there is.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| {
            panic!(
                "stdout is not one document: {why}\n{}\n{}",
                self.stdout, self.stderr
            )
        })
    }
}
