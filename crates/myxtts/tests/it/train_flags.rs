//! Every training flag of the contract changes what a training does. It is
//! judged by that: the steps taken, their numbers, the batches on the ledger,
//! the files, or an error; never by the value coming back in `config.yaml`.
//! Flags of buffers and prefetch are in `pipeline_flags`, those that place the
//! work on GPUs in `gpu_flags`, and what kernel fusion launches, on and off, is
//! counted in `software_gpu/fusion.rs` of `myxtts-train`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use myxtts_testkit::SharedFolder;
use serde_json::Value;

use crate::support::{Run, few_clips, myxtts, run_in};

/// What makes a training short. Every test adds its flags to it.
const SHORT: [&str; 6] = [
    "train",
    "--json",
    "--set",
    "training.sample_count=0",
    "--set",
    "data.conditioning_min=0.5",
];

/// A folder with datasets and a training of both stages.
struct World {
    folder: SharedFolder,
    base: Trained,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let folder = SharedFolder::new(env!("CARGO_TARGET_TMPDIR"), "train-flags");
    few_clips(&folder.path().join("clips"), 24);
    let flags = [
        "--max-steps",
        "2",
        "--enable-static-shapes",
        "--set",
        "training.checkpoint_every=1",
        "--set",
        "training.keep_checkpoints=9",
    ];
    let base = train_in(folder.path(), "base", &flags);
    World { folder, base }
});

/// A training, and what it left behind.
struct Trained {
    run: Run,
    place: PathBuf,
}

impl World {
    /// A dataset of a test's own: trainings that prepare one differently must
    /// not share it while they run.
    fn dataset(&self, name: &str) {
        few_clips(&self.folder.path().join(name), 24);
    }

    fn base(&self) -> &str {
        self.base.place.to_str().unwrap()
    }
}

/// `myxtts train` with flags besides those that make it short.
fn train(name: &str, flags: &[&str]) -> Trained {
    train_in(WORLD.folder.path(), name, flags)
}

fn train_in(folder: &Path, name: &str, flags: &[&str]) -> Trained {
    let place = folder.join("runs").join(name);
    let at = ["--checkpoint-dir", place.to_str().unwrap()];
    let unless_given = |flag: &'static str, value| match flags.contains(&flag) {
        true => vec![],
        false => vec![flag, value],
    };
    let batch = unless_given("--batch-size", "4");
    let data = unless_given("--train-data", "clips");
    let arguments = [&SHORT, &at[..], &batch, &data, flags].concat();
    Trained {
        run: run_in(folder, &arguments, &[]),
        place,
    }
}

impl Trained {
    fn well(self) -> Self {
        assert_eq!(self.run.code, Some(0), "{}", self.run.stderr);
        self
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.place.join(file)).unwrap()
    }

    /// The lines of steps.
    fn steps(&self, stage: &str) -> Vec<Value> {
        let metrics = self.text("metrics.jsonl");
        let lines = metrics
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        lines
            .filter(|line: &Value| line["stage"] == stage && line["loss"].is_number())
            .collect()
    }

    fn first(&self, stage: &str, number: &str) -> f64 {
        self.steps(stage)[0][number].as_f64().unwrap()
    }

    /// Steps and batches an epoch of the GPT, as the log announces them.
    fn announced(&self) -> (usize, usize) {
        let (_, words) = self.run.stderr.split_once("stage gpt: ").unwrap();
        let (steps, rest) = words.split_once(" steps, ").unwrap();
        let (batches, _) = rest.split_once(" batches an epoch").unwrap();
        (steps.parse().unwrap(), batches.parse().unwrap())
    }

    /// The host threads that made batches, and the bytes of the largest one.
    fn made_on_the_host(&self) -> (usize, u64) {
        let ledger = self.text("ledger.jsonl");
        let lines = ledger
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let made: Vec<Value> = lines.filter(|line| line["stage"] == "host").collect();
        let threads: BTreeSet<u64> = made
            .iter()
            .filter_map(|line| line["worker"].as_u64())
            .collect();
        let bytes = made.iter().filter_map(|line| line["bytes"].as_u64()).max();
        (threads.len(), bytes.unwrap())
    }

    /// Whether the log says so.
    #[track_caller]
    fn says(&self, words: &str) {
        assert!(self.run.stderr.contains(words), "{}", self.run.stderr);
    }
}

/// `--train-data`, `--checkpoint-dir`, `--max-steps`, `--batch-size`,
/// `--stage all`, `--cache disk`.
#[test]
fn the_training_all_others_are_compared_with() {
    let base = &WORLD.base;
    assert_eq!(base.run.code, Some(0), "{}", base.run.stderr);
    base.says("clips: 24 clips");
    assert_eq!(base.steps("dvae").len(), 2);
    assert_eq!(base.steps("gpt").len(), 2);
    // The waveform decoder is not trained unless somebody asks for it.
    assert_eq!(base.steps("decoder").len(), 0);
    base.says("Stages: DVAE, then GPT (the waveform decoder is left out");
    let verdict = &base.run.json()["verdict"];
    let codes: Vec<&str> = verdict
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["codes_in_use", "near_silence", "best_checkpoint"]);
    let log = base.text("train.log");
    for finding in verdict.as_array().unwrap() {
        let words = finding["words"].as_str().unwrap();
        assert!(log.contains(words), "{words}\n{log}");
    }
    assert!(base.place.join("checkpoints/step_000000004").exists());
    assert!(WORLD.folder.path().join("clips/myxtts/cache").exists());
}

/// `--enable-memory-isolation` with budgets that the estimate does not fit is
/// refused; where that only warns, the training is stopped by what it holds.
#[test]
fn a_memory_budget_is_enforced() {
    let budgets = [
        "--stage",
        "dvae",
        // Any step of it holds more than the smallest budgets.
        "--model-size",
        "small",
        "--max-steps",
        "4",
        "--enable-memory-isolation",
        "--data-gpu-memory",
        "64",
        "--model-gpu-memory",
        "64",
    ];
    let refused = train("budget-refused", &budgets);
    assert_eq!(refused.run.code, Some(2), "{}", refused.run.stderr);
    refused.says("the training does not fit CPU");
    assert!(!refused.place.exists(), "nothing was begun");
    let warn = ["--set", "data.memory_check=warn"];
    let stopped = train("budget", &[&budgets[..], &warn].concat());
    assert_eq!(stopped.run.code, Some(1), "{}", stopped.run.stderr);
    stopped.says("may run out");
    stopped.says("CPU holds more than its memory budget\n  asked: 128 MB in all");
    stopped.says("writing an emergency checkpoint of step 2");
    assert!(stopped.place.join("checkpoints/step_000000002").exists());
}

/// `--data-gpu-memory`, `--model-gpu-memory`: each bounds its own work, and what
/// does not fit is refused by the flag that is too small.
#[test]
fn each_budget_bounds_its_own_work() {
    for (data, model, refused) in [
        ("64", "6000", "--data-gpu-memory 64"),
        ("6000", "64", "--model-gpu-memory 64"),
    ] {
        let trained = train(
            "own-budget",
            &[
                "--enable-memory-isolation",
                "--data-gpu-memory",
                data,
                "--model-gpu-memory",
                model,
            ],
        );
        assert_eq!(trained.run.code, Some(2), "{}", trained.run.stderr);
        trained.says("the training does not fit CPU");
        trained.says(&format!("found: {refused}"));
        assert!(!trained.place.exists(), "nothing was begun");
    }
}

/// `--allow-fallback`: what is refused without it is trained on what is there,
/// and the log says what was given up.
#[test]
fn a_fallback_trains_where_it_can() {
    let flags = [
        "--stage",
        "dvae",
        "--max-steps",
        "1",
        "--data-gpu",
        "7",
        "--model-gpu",
        "8",
    ];
    let refused = train("no-fallback", &flags);
    assert_eq!(refused.run.code, Some(2), "{}", refused.run.stderr);
    let trained = train("fallback", &[&flags[..], &["--allow-fallback"]].concat()).well();
    assert_eq!(trained.steps("dvae").len(), 1);
    trained.says("Multi-GPU Mode (data GPU 7, model GPU 8) was given up");
}

/// The plan says the clips of a step as they are, once the clips are known.
#[test]
fn the_plan_says_the_clips_of_a_step_as_they_will_be() {
    WORLD.dataset("counted");
    let plan = |flags: &[&str]| {
        let plan = [
            "plan",
            "--json",
            "--train-data",
            "counted",
            "--batch-size",
            "4",
        ];
        let quiet = ["--set", "data.conditioning_min=0.5"];
        let run = run_in(
            WORLD.folder.path(),
            &[&plan[..], &quiet, flags].concat(),
            &[],
        );
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.json()
    };
    assert!(plan(&[])["clips_per_step"].is_null(), "it is not prepared");
    let flags = ["--train-data", "counted", "--max-steps", "1"];
    let trained = train("counted", &flags).well();
    let planned = plan(&[])["clips_per_step"].clone();
    let [least, most] = ["least", "most"].map(|end| planned[end].as_u64().unwrap());
    let mean = planned["mean"].as_f64().unwrap();
    trained.says(&format!("{least} to {most} clips in each (mean {mean:.1})"));
    let twice = plan(&["--grad-accum", "2"])["clips_per_step"]["mean"].as_f64();
    assert_eq!(twice, Some(2.0 * mean));
}

/// `--seed`, `--stage dvae`.
#[test]
fn another_seed_is_another_training() {
    let base = WORLD.base.first("dvae", "loss");
    let stage = ["--stage", "dvae", "--max-steps", "1", "--seed"];
    let same = train("seed-0", &[&stage[..], &["0"]].concat()).well();
    let other = train("seed-1", &[&stage[..], &["1"]].concat()).well();
    assert_eq!(same.first("dvae", "loss").to_bits(), base.to_bits());
    assert!(other.first("dvae", "loss").to_bits() != base.to_bits());
    assert_eq!(other.steps("gpt").len(), 0);
    // It cannot speak, and no command is printed that would fail.
    assert_eq!(other.run.json()["next"], Value::Null);
    let run = run_in(
        WORLD.folder.path(),
        &[
            "synthesize",
            "--text",
            "x",
            "--out",
            "x.wav",
            "--checkpoint",
            "runs/seed-1",
        ],
        &[],
    );
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("no GPT yet"), "{}", run.stderr);
    // The command it prints is one that `train` takes.
    let (_, command) = run.stderr.split_once(": myxtts train ").unwrap();
    let program = env!("CARGO_BIN_EXE_myxtts");
    let planned = std::process::Command::new("sh")
        .current_dir(WORLD.folder.path())
        .args(["-c", &format!("'{program}' plan {command}")])
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&planned.stderr);
    assert!(planned.status.success(), "{command}{words}");
}

/// `--stage` with a list.
#[test]
fn a_list_of_stages_leaves_one_out() {
    let stages = |list: &str| {
        let run = myxtts(&["plan", "--json", "--stage", list]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.json()["training"]["stages"].to_string()
    };
    assert_eq!(stages("all"), r#"["dvae","gpt","decoder"]"#);
    assert_eq!(stages("gpt,dvae"), r#"["dvae","gpt"]"#);
    assert_eq!(stages("gpt,decoder"), r#"["gpt","decoder"]"#);
    assert_eq!(stages("dvae"), r#"["dvae"]"#);
    let run = myxtts(&["plan", "--stage", "dvae,decoder"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!("a_stage_between", run.stderr);
    let run = myxtts(&["plan", "--stage", "dvae,vocoder"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!("an_unknown_stage", run.stderr);
}

/// Flags whose effects do not touch each other, in one training.
#[test]
fn flags_of_data_and_optimiser() {
    let file = WORLD.folder.path().join("train.yaml");
    let yaml = "training:\n  checkpoint_every: 1\n  keep_checkpoints: 99\n";
    std::fs::write(&file, yaml).unwrap();
    for name in ["others", "held"] {
        WORLD.dataset(name);
    }
    let trained = train(
        "flags",
        &[
            "--init",
            WORLD.base(),
            "--config",
            file.to_str().unwrap(),
            "--train-data",
            "others",
            "--val-data",
            "held",
            "--epochs",
            "1",
            "--grad-accum",
            "2",
            "--lr",
            "0.005",
            "--optimization-level",
            "basic",
            "--buckets",
            "1",
            "--cache",
            "none",
            "--max-mel-frames",
            "230",
            "--set",
            "data.max_bad_fraction=1",
        ],
    );
    let trained = trained.well();
    trained.says("others: ");
    trained.says("held: ");
    let left_out = trained.text("quarantine.jsonl").lines().count();
    assert!(
        (1..24).contains(&left_out),
        "{left_out} longer than 230 frames"
    );
    trained.says(" in 1 shapes,");
    let (steps, batches) = trained.announced();
    assert_eq!(steps, batches / 2, "one epoch of steps of two batches");
    assert_eq!(trained.steps("gpt").len(), steps);
    assert_eq!(trained.first("gpt", "learning_rate"), 0.005);
    // The basic level keeps the rate; that of the base changes it at every step.
    let rates = |run: &Trained| -> BTreeSet<u64> {
        let steps = run.steps("gpt");
        let rates = steps
            .iter()
            .map(|step| step["learning_rate"].as_f64().unwrap());
        rates.map(f64::to_bits).collect()
    };
    assert_eq!(rates(&trained).len(), 1, "a constant rate");
    assert_eq!(rates(&WORLD.base).len(), 2, "one a step");
    let checkpoints = std::fs::read_dir(trained.place.join("checkpoints")).unwrap();
    let kept = checkpoints.filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(kept.count(), steps, "one a step, as the file says");
    assert!(!WORLD.folder.path().join("others/myxtts/cache").exists());
}

/// `--batch-size`, `--num-workers`: seen in the batches that were made.
#[test]
fn batches_of_one_clip_by_three_threads() {
    let flags = [
        "--init",
        WORLD.base(),
        "--epochs",
        "2",
        "--batch-size",
        "1",
        "--num-workers",
        "3",
    ];
    let trained = train("ones", &flags).well();
    let (_, batches) = trained.announced();
    let (_, larger) = WORLD.base.announced();
    assert!(batches > larger, "{batches} of one clip, {larger} of four");
    let (threads, bytes) = trained.made_on_the_host();
    let (_, larger) = WORLD.base.made_on_the_host();
    assert!((2..=3).contains(&threads), "{threads} threads made batches");
    assert!(bytes < larger, "{bytes} bytes, {larger} of four clips");
}

/// `--gpu-profile`, `--precision`: two batches a step, rounded otherwise.
#[test]
fn a_profile_and_a_precision() {
    let short = ["--init", WORLD.base(), "--epochs", "1", "--gpu-profile"];
    let profile = train("profile", &[&short[..], &["rtx3060"]].concat()).well();
    let (steps, batches) = profile.announced();
    assert_eq!(steps, batches / 2, "the profile adds two batches up");
    let coarse = ["rtx3060", "--precision", "bf16"];
    let coarse = train("coarse", &[&short[..], &coarse].concat()).well();
    let losses = [&profile, &coarse].map(|run| run.first("gpt", "loss"));
    let apart = (losses[0] - losses[1]).abs() / losses[0];
    assert!(apart > 0.0 && apart < 0.02, "{losses:?}");
}

/// `--disable-static-shapes`, `--cache memory`, `--max-text-length`.
#[test]
fn shapes_as_they_come() {
    WORLD.dataset("short-texts");
    let flags = [
        "--init",
        WORLD.base(),
        "--train-data",
        "short-texts",
        "--disable-static-shapes",
        "--max-steps",
        "4",
        "--buckets",
        "1",
        "--cache",
        "memory",
        "--max-text-length",
        "20",
    ];
    let trained = train("shapes", &flags).well();
    let closed = trained.run.stderr.contains("shapes after warm-up: 0");
    assert!(!closed, "{}", trained.run.stderr);
    WORLD.base.says("shapes after warm-up: 0");
    let quarantine = trained.text("quarantine.jsonl");
    assert!(quarantine.contains("text_too_long"), "{quarantine}");
    trained.says("--max-text-length");
}

/// `--init`: the GPT alone is trained, and starts where the other ended.
#[test]
fn weights_of_another_run() {
    let tuned = train("tuned", &["--init", WORLD.base(), "--max-steps", "1"]).well();
    assert_eq!(tuned.steps("dvae").len(), 0);
    let (new, known) = (WORLD.base.first("gpt", "loss"), tuned.first("gpt", "loss"));
    assert!(known < new, "{known} after {new}");
    let nowhere = train("nowhere", &["--init", "no-such-folder"]);
    assert_ne!(nowhere.run.code, Some(0));
    nowhere.says("no-such-folder");
    // How many blocks there are is known from the weights.
    let freeze = ["--init", WORLD.base(), "--set", "training.freeze=gpt.h.9."];
    let frozen = train("frozen", &freeze);
    assert_eq!(frozen.run.code, Some(2), "{}", frozen.run.stderr);
    frozen.says("no part of the GPT has a name that begins with `gpt.h.9.`");
}

/// `--resume`, `--reset-training`, `--model-size`.
#[test]
fn going_on() {
    let short = [
        "--stage",
        "dvae",
        "--max-steps",
        "4",
        "--set",
        "training.checkpoint_every=1",
        "--set",
        "training.keep_checkpoints=9",
    ];
    train("again", &short).well();
    let never = train("again", &[&short[..], &["--resume", "never"]].concat());
    assert_eq!(never.run.code, Some(2));
    never.says("--resume never");
    let larger = train("again", &[&short[..], &["--model-size", "small"]].concat());
    assert_eq!(larger.run.code, Some(2));
    larger.says("model.size");
    let at = train("again", &[&short[..], &["--resume", "3"]].concat()).well();
    at.says("resuming from step 3 (dvae, 3 of 4 steps of this stage)");
    let auto = train("again", &[&short[..], &["--resume", "auto"]].concat()).well();
    auto.says("resuming from step 4");
    assert_eq!(auto.steps("dvae").len(), 4);
    // Begun again twice: no checkpoint is deleted.
    let mut losses = vec![auto.first("dvae", "loss")];
    for aside in ["checkpoints-before-reset", "checkpoints-before-reset-2"] {
        let reset = train("again", &[&short[..], &["--reset-training"]].concat()).well();
        assert!(reset.place.join(aside).join("step_000000004").exists());
        assert_eq!(reset.steps("dvae").len(), 4);
        losses.push(reset.first("dvae", "loss"));
    }
    // The first step is on the same batch each time, with other weights.
    assert!(
        losses[1] < losses[0] && losses[2] != losses[1],
        "{losses:?}"
    );
}

/// What this machine or this version cannot do is an error, and says so.
#[test]
fn what_cannot_be_done_is_refused() {
    let cases: [(&[&str], &str); 4] = [
        (
            &["--data-gpu", "7", "--model-gpu", "8"],
            "Insufficient GPUs for Multi-GPU Mode",
        ),
        (&["--data-gpu", "0"], "--model-gpu"),
        (&["--visible-gpus", "99"], "99"),
        (&["--train-data", "no-such-folder"], "no-such-folder"),
    ];
    for (flags, words) in cases {
        let refused = train("refused", flags);
        assert_ne!(refused.run.code, Some(0), "{flags:?}");
        refused.says(words);
        assert!(!refused.place.exists(), "{flags:?}");
    }
}

/// A run whose newest checkpoint is damaged: every command lists the steps that
/// are whole, and the line it prints works as pasted.
#[test]
fn a_damaged_run_lists_its_whole_steps() {
    let place = WORLD.folder.path().join("runs/it's damaged");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .args([&WORLD.base.place, &place])
        .status();
    assert!(copied.unwrap().success());
    let file = place.join("checkpoints/step_000000004/gpt.safetensors");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let run = "runs/it's damaged";
    let speaking = ["synthesize", "--greedy", "--text", "Hi.", "--out", "hi.wav"];
    let training = train_in(WORLD.folder.path(), "it's damaged", &["--max-steps", "2"]);
    let pasted = [
        run_in(
            WORLD.folder.path(),
            &[&speaking[..], &["--checkpoint", run]].concat(),
            &[],
        ),
        run_in(
            WORLD.folder.path(),
            &["export", run, "--out", "exported"],
            &[],
        ),
        training.run,
    ];
    let words = pasted.map(|run| {
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        let (_, words) = run.stderr.rsplit_once("error: ").unwrap();
        let (_, line) = words.split_once("fix:   myxtts ").unwrap();
        let program = env!("CARGO_BIN_EXE_myxtts");
        let again = std::process::Command::new("sh")
            .current_dir(WORLD.folder.path())
            .args(["-c", &format!("'{program}' {line}")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stderr);
        // Without a decoder there is nothing to export, damaged or not.
        let is_done = match line.starts_with("export ") {
            true => said.contains("the weights have no hifigan_decoder"),
            false => again.status.success(),
        };
        assert!(is_done, "{line}{said}");
        let hidden = words.replace(WORLD.folder.path().to_str().unwrap(), "FOLDER");
        let half = (whole.len() / 2).to_string();
        let hidden = hidden
            .replace(&half, "HALF")
            .replace(&whole.len().to_string(), "WHOLE");
        let is_hash = |word: &str| {
            let word = word.trim_end_matches(',');
            word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit())
        };
        let lines = hidden.lines().map(|line| {
            let words = line.split(' ');
            let words = words.map(|word| if is_hash(word) { "HASH" } else { word });
            words.collect::<Vec<_>>().join(" ")
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    insta::assert_snapshot!("a_damaged_run", words.join("\n"));
}
