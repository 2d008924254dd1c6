//! `train --stage decoder`, as a person runs it, with a tiny model and a few
//! clips of the sample corpus.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Run, run_in};

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../myxtts-data/corpus");
        fs::create_dir_all(desk.path("voice/wavs")).unwrap();
        let metadata = fs::read_to_string(corpus.join("metadata.csv")).unwrap();
        let lines: Vec<&str> = metadata.lines().take(8).collect();
        for line in &lines {
            let name = format!("wavs/{}.ogg", line.split('|').next().unwrap());
            fs::copy(corpus.join(&name), desk.path("voice").join(&name)).unwrap();
        }
        fs::write(desk.path("voice/metadata.csv"), lines.join("\n")).unwrap();
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn train(&self, name: &str, arguments: &[&str]) -> Run {
        let cache = self.path("cache");
        let variables = [("XDG_CACHE_HOME", cache.to_str().unwrap())];
        let run = format!("training.name={name}");
        let usual = [
            "train",
            "--train-data",
            "voice",
            "--set",
            &run,
            "--set",
            "data.batch_size=2",
            "--set",
            "training.backend=cpu",
        ];
        run_in(self.0.path(), &[&usual, arguments].concat(), &variables)
    }

    /// The files of a checkpoint that training made; manifests tell the time.
    fn weights(&self, checkpoint: &str) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.path(checkpoint)).unwrap();
        entries
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
            .filter(|(name, _)| name.ends_with(".safetensors"))
            .map(|(name, path)| (name, fs::read(path).unwrap()))
            .collect()
    }
}

#[test]
fn the_stage_follows_the_gpt_and_resumes_exactly() {
    let desk = Desk::new();
    let validated = ["--val-data", "voice", "--max-steps", "2"];
    let run = desk.train("base", &[&["--stage", "all"], &validated[..]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for stage in ["dvae", "gpt", "decoder"] {
        let line = format!("stage {stage}: 2 steps");
        assert!(run.stderr.contains(&line), "{line}\n{}", run.stderr);
    }
    let metrics = fs::read_to_string(desk.path("runs/base/metrics.jsonl")).unwrap();
    let is_validation = |line: &&str| line.contains("\"decoder\"") && line.contains("val_loss_mel");
    assert_eq!(
        metrics.lines().filter(is_validation).count(),
        1,
        "{metrics}"
    );
    assert!(desk.path("runs/base/samples/step_6/copy_0.wav").is_file());

    let arguments = &[
        "--stage",
        "decoder",
        "--init",
        "runs/base",
        "--max-steps",
        "4",
    ];
    let every = &["--set", "training.checkpoint_every=2"];
    let arguments = [&arguments[..], every].concat();
    let run = desk.train("more", &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let whole = desk.weights("runs/more/checkpoints/step_000000004");
    let names: Vec<&str> = whole.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "discriminator.safetensors",
            "dvae.safetensors",
            "gpt.safetensors",
            "hifigan_decoder.safetensors",
            "mel_stats.safetensors",
            "optimizer.safetensors",
            "optimizer_1.safetensors",
        ]
    );
    let earlier = desk.weights("runs/more/checkpoints/step_000000002");
    let frozen = [
        "dvae.safetensors",
        "gpt.safetensors",
        "mel_stats.safetensors",
    ];
    for (name, bytes) in &whole {
        let stays = frozen.contains(&name.as_str());
        assert_eq!(*bytes == earlier[name], stays, "{name}");
    }

    let again = [&arguments[..], &["--resume", "2"]].concat();
    let run = desk.train("more", &again);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("resuming from step 2 (decoder, 2 of 4"));
    let resumed = desk.weights("runs/more/checkpoints/step_000000004");
    for (name, bytes) in &whole {
        assert!(*bytes == resumed[name], "{name} is not the same");
    }
}

#[test]
fn a_decoder_without_a_gpt_is_refused() {
    let run = Desk::new().train("none", &["--stage", "decoder"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let said = run.stderr.find("error").map(|at| &run.stderr[at..]);
    insta::assert_snapshot!(said.unwrap_or(&run.stderr).trim());
}
