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
            "--set",
            "training.sample_count=0",
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
    let sampled = ["--stage", "all", "--set", "training.sample_count=1"];
    let run = desk.train("base", &[&sampled[..], &validated].concat());
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
    fine_tuning_starts_gently(&desk);
}

/// A decoder without its discriminators, as public weights bring one: spectra,
/// then the discriminators alone, then both, and the same from any step of it.
fn fine_tuning_starts_gently(desk: &Desk) {
    let (from, to) = ("runs/base/checkpoints/step_000000006", "public");
    fs::create_dir(desk.path(to)).unwrap();
    for entry in fs::read_dir(desk.path(from)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_training = ["manifest", "optimizer", "discriminator"]
            .iter()
            .any(|start| name.starts_with(start));
        if path.is_file() && !is_training {
            fs::copy(&path, desk.path(to).join(name)).unwrap();
        }
    }
    let arguments = [
        "--stage",
        "decoder",
        "--init",
        to,
        "--max-steps",
        "4",
        "--set",
        "training.decoder_spectral_steps=1",
        "--set",
        "training.discriminator_warmup_steps=2",
        "--set",
        "training.checkpoint_every=1",
        "--set",
        "training.keep_checkpoints=9",
    ];
    let run = desk.train("gentle", &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let said = run
        .stderr
        .lines()
        .find(|line| line.starts_with("decoder steps:"));
    insta::assert_snapshot!("acts_in_the_log", said.unwrap_or(&run.stderr));
    let steps: Vec<_> = (1..5)
        .map(|step| desk.weights(&format!("runs/gentle/checkpoints/step_{step:09}")))
        .collect();
    let moves = |name: &str| -> Vec<bool> {
        let pairs = steps.windows(2);
        pairs.map(|pair| pair[0][name] != pair[1][name]).collect()
    };
    assert_eq!(moves("hifigan_decoder.safetensors"), [false, false, true]);
    assert_eq!(moves("discriminator.safetensors"), [true, true, true]);
    for step in ["3", "1"] {
        let run = desk.train("gentle", &[&arguments[..], &["--resume", step]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let again = desk.weights("runs/gentle/checkpoints/step_000000004");
        for (name, bytes) in &steps[3] {
            assert!(*bytes == again[name], "{name} from step {step}");
        }
    }
    // A tenth of one step is none, so both move: the decoder at a rate of its own.
    let stepped = |name: &str, more: &[&str]| {
        let usual = ["--stage", "decoder", "--init", to, "--max-steps", "1"];
        let run = desk.train(name, &[&usual[..], more].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        desk.weights(&format!("runs/{name}/checkpoints/step_000000001"))
    };
    let quick = stepped("quick", &[]);
    let slow = stepped("slow", &["--set", "training.generator_learning_rate=1e-7"]);
    let same = |name: &str| quick[name] == slow[name];
    assert!(same("discriminator.safetensors"));
    assert!(!same("hifigan_decoder.safetensors"));
}

#[test]
fn a_decoder_without_a_gpt_is_refused() {
    let run = Desk::new().train("none", &["--stage", "decoder"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let said = run.stderr.find("error").map(|at| &run.stderr[at..]);
    insta::assert_snapshot!(said.unwrap_or(&run.stderr).trim());
}
