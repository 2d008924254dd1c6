//! Every training flag of the contract changes something one can see: the
//! plan, the configuration, the run's folder, its numbers, its log, or an error.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

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

/// Flags that only the plan knows of, and what they make of it. Ids are of
/// imaginary GPUs.
const PLANNED: &[(&[&str], &str, &str)] = &[
    (&["--batch-size", "3"], "/batch_size", "3"),
    (&["--grad-accum", "5"], "/gradient_accumulation_steps", "5"),
    (&["--num-workers", "1"], "/workers", "1"),
    (&["--buffer-size", "7"], "/buffer_size", "7"),
    (&["--model-start-delay", "0.5"], "/model_start_delay", "0.5"),
    (&["--prefetch-buffer-size", "5"], "/device_prefetch", "5"),
    (&["--prefetch-to-gpu"], "/device_prefetch", "2"),
    (&["--no-prefetch-to-gpu"], "/device_prefetch", "0"),
    (&["--enable-static-shapes"], "/static_shapes", "true"),
    (&["--disable-static-shapes"], "/static_shapes", "false"),
    (
        &["--assume-gpus", "1", "--graph-mode"],
        "/graph_mode",
        "true",
    ),
    (
        &["--assume-gpus", "1", "--eager-debug"],
        "/graph_mode",
        "false",
    ),
    // The CPU has no kernels to fuse.
    (
        &["--set", "training.backend=cpu", "--eager-debug"],
        "/graph_mode",
        "null",
    ),
    (
        &["--gpu-profile", "rtx3060"],
        "/gradient_accumulation_steps",
        "2",
    ),
    (
        &["--assume-gpus", "2", "--precision", "f16"],
        "/precision",
        "\"f16\"",
    ),
    (
        &["--assume-gpus", "2", "--data-gpu", "1", "--model-gpu", "0"],
        "/data_device/physical",
        "1",
    ),
    (
        &["--assume-gpus", "2", "--multi-gpu"],
        "/model_devices/1/physical",
        "1",
    ),
    (
        &["--assume-gpus", "3", "--multi-gpu", "--visible-gpus", "0,2"],
        "/model_devices/1/physical",
        "2",
    ),
    (
        &["--assume-gpus", "1", "--enable-memory-isolation"],
        "/memory_isolation",
        "true",
    ),
    (
        &[
            "--assume-gpus",
            "2",
            "--enable-memory-isolation",
            "--data-gpu",
            "0",
            "--model-gpu",
            "1",
            "--data-gpu-memory",
            "3000",
        ],
        "/data_device/memory_budget_mb",
        "3000",
    ),
    (
        &[
            "--assume-gpus",
            "2",
            "--enable-memory-isolation",
            "--data-gpu",
            "0",
            "--model-gpu",
            "1",
            "--model-gpu-memory",
            "5000",
        ],
        "/model_devices/0/memory_budget_mb",
        "5000",
    ),
    (
        &[
            "--assume-gpus",
            "1",
            "--allow-fallback",
            "--data-gpu",
            "0",
            "--model-gpu",
            "1",
        ],
        "/strategy",
        "\"one_device\"",
    ),
];

#[test]
fn flags_of_the_plan() {
    for (flags, place, expected) in PLANNED {
        let run = myxtts(&[&["plan", "--json"], *flags].concat());
        assert_eq!(run.code, Some(0), "{flags:?}: {}", run.stderr);
        let found = run.json().pointer(place).cloned();
        let found = found.unwrap_or_else(|| panic!("{flags:?}: no {place}"));
        assert_eq!(found.to_string(), *expected, "{flags:?}");
    }
}

/// A folder with datasets and a training of both stages.
struct World {
    folder: tempfile::TempDir,
    base: Trained,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    few_clips(&folder.path().join("clips"), 24);
    let base = train_in(folder.path(), "base", &["--max-steps", "2"]);
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

    /// A line of the effective configuration, with its origin.
    fn config(&self, key: &str) -> String {
        let text = self.text("config.yaml");
        let line = text.lines().find(|line| line.trim().starts_with(key));
        line.unwrap_or_else(|| panic!("no {key}")).trim().to_owned()
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
    assert!(
        base.config("checkpoint_dir")
            .ends_with("# flag --checkpoint-dir")
    );
    assert!(base.place.join("checkpoints/step_000000004").exists());
    assert!(WORLD.folder.path().join("clips/myxtts/cache").exists());
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
}

/// Flags whose effects do not touch each other, in one training.
#[test]
fn flags_of_data_and_optimiser() {
    let file = WORLD.folder.path().join("train.yaml");
    std::fs::write(&file, "training:\n  log_every: 1\n").unwrap();
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
            "--num-workers",
            "2",
            "--eager-debug",
            "--set",
            "data.max_bad_fraction=1",
        ],
    );
    let trained = trained.well();
    assert!(trained.config("log_every: 1").contains("train.yaml"));
    trained.says("others: ");
    trained.says("held: ");
    let left_out = trained.text("quarantine.jsonl").lines().count();
    assert!(
        (1..24).contains(&left_out),
        "{left_out} longer than 230 frames"
    );
    trained.says(" in 1 shapes,");
    let (_, words) = trained.run.stderr.split_once("stage gpt: ").unwrap();
    let (steps, rest) = words.split_once(" steps, ").unwrap();
    let (batches, _) = rest.split_once(" batches an epoch").unwrap();
    let [steps, batches] = [steps, batches].map(|number| number.parse::<usize>().unwrap());
    assert_eq!(steps, batches / 2, "one epoch of steps of two batches");
    assert_eq!(trained.steps("gpt").len(), steps);
    assert_eq!(trained.first("gpt", "learning_rate"), 0.005);
    let constant = WORLD.base.config("lr_schedule") != trained.config("lr_schedule");
    assert!(constant, "{}", trained.config("lr_schedule"));
    assert!(!WORLD.folder.path().join("others/myxtts/cache").exists());
    let plan: Value = serde_json::from_str(&trained.text("plan.json")).unwrap();
    assert_eq!(plan["gradient_accumulation_steps"], 2);
    assert_eq!(plan["graph_mode"], Value::Null);
    assert_eq!(plan["workers"], 2);
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
