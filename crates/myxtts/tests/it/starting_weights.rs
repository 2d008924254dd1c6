//! `--init`: what a training takes from the weights it starts from, and what
//! the model it makes says of itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use myxtts_weights::{ModelWeights, TensorMap, XttsConfig, read_ours};
use serde_json::{Value, json};

use crate::support::{Run, command_in, few_clips, run_in};
use crate::tiny::Tiny;

/// The description of imported XTTS-v2 weights, without the weights: nothing
/// but a training reads those.
pub fn describe_xtts_v2(folder: &Path) {
    let config = XttsConfig::default();
    let args = &config.model_args;
    let description = json!({
        "format": "myxtts-weights",
        "version": 1,
        "sizes": {
            "layers": args.gpt_layers,
            "channels": args.gpt_n_model_channels,
            "text_tokens": 6681,
            "audio_tokens": args.gpt_num_audio_tokens,
            "text_positions": 404,
            "audio_positions": 608,
        },
        "files": {},
        "xtts": config,
    });
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("config.json"), description.to_string()).unwrap();
}

/// The README's own command trains at the rate and the length of XTTS-v2.
#[test]
fn sizes_rates_and_hearing_come_from_the_weights() {
    let folder = tempfile::tempdir().unwrap();
    describe_xtts_v2(&folder.path().join("weights"));
    let inside = |arguments: &[&str]| run_in(folder.path(), arguments, &[]);
    let show = |flags: &[&str]| -> Value {
        let fixed = ["config", "show", "--json", "--init", "weights"];
        let run = inside(&[&fixed[..], flags].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.json()
    };
    let shown = show(&[]);
    for (key, value, origin) in [
        ("model.size", json!("xtts-v2"), "weights of --init weights"),
        ("model.quirks", json!("compat"), "weights of --init weights"),
        (
            "data.trim_silence",
            json!(false),
            "weights of --init weights",
        ),
        (
            "data.conditioning_min",
            json!(3.0),
            "weights of --init weights",
        ),
        (
            "data.conditioning_max",
            json!(6.0),
            "weights of --init weights",
        ),
        ("training.learning_rate", json!(5e-6), "presets xtts-v2"),
        ("training.epochs", json!(100), "presets xtts-v2"),
    ] {
        assert_eq!(shown[key]["value"], value, "{key}");
        assert_eq!(shown[key]["origin"], origin, "{key}");
    }
    // A person's rate and treatment of the recordings win.
    let chosen = show(&["--lr", "1e-5", "--set", "data.trim_silence=true"]);
    assert_eq!(chosen["training.learning_rate"]["value"], 1e-5);
    assert_eq!(chosen["data.trim_silence"]["value"], true);

    let run = inside(&["plan", "--init", "weights"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("Model xtts-v2:"), "{}", run.stdout);
    let (_, outline) = run.stdout.split_once("Stages: ").unwrap();
    let (outline, _) = outline.split_once("\n\n").unwrap();
    insta::assert_snapshot!("outline", format!("Stages: {outline}"));

    let refused = |flags: &[&str]| {
        let run = inside(&[&["plan"], flags].concat());
        assert_eq!(run.code, Some(2), "{flags:?}");
        run.stderr
    };
    let messages = [
        refused(&["--init", "weights", "--model-size", "tiny"]),
        refused(&["--init", "weights", "--set", "model.quirks=fixed"]),
        refused(&["--init", "weights", "--set", "data.conditioning_max=4"]),
        refused(&["--init", "nowhere"]),
    ];
    insta::assert_snapshot!("contradictions", messages.join("\n"));
}

/// XTTS-v2 on a card of 6 GB: adapters where there are weights, and where there are none the way to
/// them.
#[test]
fn a_small_card_trains_adapters_beside_the_weights() {
    let folder = tempfile::tempdir().unwrap();
    describe_xtts_v2(&folder.path().join("weights"));
    let plan = |flags: &[&str]| {
        let fixed = ["plan", "--assume-gpus", "1", "--assume-memory", "6000"];
        run_in(folder.path(), &[&fixed[..], flags].concat(), &[])
    };
    let run = plan(&["--init", "weights"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.contains("Adapters: of rank 16"),
        "{}",
        run.stdout
    );
    let refused = |flags: &[&str]| {
        let run = plan(flags);
        assert_eq!(run.code, Some(2), "{flags:?}: {}", run.stdout);
        run.stderr
    };
    let fix = "--stage gpt --init DIR with `--set training.adapters=16` trains adapters";
    let new = refused(&["--model-size", "xtts-v2"]);
    assert!(new.contains(fix), "{new}");
    let off = refused(&["--init", "weights", "--set", "training.adapters=0"]);
    assert!(
        off.contains("freezes the weights and trains adapters"),
        "{off}"
    );
    for (stage, why) in [
        (&[][..], "the GPT is a new one"),
        (&["--init", "weights", "--stage", "decoder"], "no GPT stage"),
        (
            &["--init", "weights", "--stage", "all"],
            "after a DVAE stage",
        ),
    ] {
        let told = refused(&[stage, &["--set", "training.adapters=8"]].concat());
        assert!(told.contains(why), "{told}");
    }
}

/// Tiny weights, imported: they know English alone.
fn weights(folder: &Path) {
    let tiny = Tiny::with_room(&["en"], 60, 200);
    myxtts_weights::write_ours(&folder.join("weights"), &tiny.checkpoint()).unwrap();
}

/// Weights of no named size are planned with their own sizes, not with those of
/// the preset that is nearest.
#[test]
fn weights_of_no_named_size_are_planned_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    weights(folder.path());
    let gpt = read_ours(&folder.path().join("weights")).unwrap().gpt;
    let numbers: usize = gpt
        .iter()
        .map(|(_, tensor)| tensor.shape().iter().product::<usize>())
        .sum();
    let plan = |flags: &[&str]| {
        let run = run_in(folder.path(), &[&["plan"], flags].concat(), &[]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run
    };
    let own = plan(&["--json", "--init", "weights"]).json();
    assert_eq!(own["model"]["gpt_parameters"], numbers);
    let nearest = own["model"]["size"].as_str().unwrap();
    let named = plan(&["--json", "--model-size", nearest]).json();
    assert!(named["model"]["gpt_parameters"].as_u64() != Some(numbers as u64));
    let words = plan(&["--init", "weights"]).stdout;
    let (_, words) = words.split_once("\nModel ").unwrap();
    let line = words.lines().next().unwrap();
    insta::assert_snapshot!("a_size_without_a_name", line);
}

const TEXTS: [&str; 4] = [
    "سلام، حال شما چطور است؟",
    "نانوا هفت سیب می‌برد.",
    "امروز هوا بسیار خوب است.",
    "کتاب روی میز است و چراغ روشن.",
];

/// Recordings with Persian transcripts.
fn persian(folder: &Path) {
    few_clips(folder, 12);
    let list = folder.join("metadata.csv");
    let text = fs::read_to_string(&list).unwrap();
    let lines = text.lines().zip(TEXTS.iter().cycle()).map(|(line, text)| {
        let id = line.split('|').next().unwrap();
        format!("{id}|{text}|{text}\n")
    });
    fs::write(&list, lines.collect::<String>()).unwrap();
}

fn train(folder: &Path, name: &str, flags: &[&str]) -> Run {
    let fixed = [
        "train",
        "--json",
        "--init",
        "weights",
        "--train-data",
        "clips",
        "--batch-size",
        "4",
        "--max-steps",
        "1",
        "--set",
        "training.backend=cpu",
        "--set",
        "data.language=fa",
        "--set",
        "training.sample_count=0",
        "--checkpoint-dir",
        name,
    ];
    run_in(folder, &[&fixed[..], flags].concat(), &[])
}

fn model_of(folder: &Path, run: &str) -> (Value, ModelWeights) {
    let checkpoint = folder.join(run).join("checkpoints/step_000000001");
    let read = read_ours(&checkpoint).unwrap();
    (read.model.clone().unwrap(), read)
}

/// A Persian fine-tune: the language joins the card, the card hears as training
/// did, and the line that is printed at the end speaks Persian as it stands.
#[test]
fn a_persian_fine_tune_speaks_by_the_line_it_prints() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    weights(path);
    persian(&path.join("clips"));
    let trained = train(path, "my voice", &[]);
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    let (card, stored) = model_of(path, "my voice");
    assert_eq!(card["languages"], json!(["en", "fa"]));
    assert_eq!(stored.config.languages, ["en", "fa"]);
    // Tiny's card does not trim, and neither did this training.
    assert_eq!(card["audio"]["trim_silence"], false);

    let next = trained.json()["next"].as_str().unwrap().to_owned();
    assert!(next.contains("--language fa"), "{next}");
    assert!(next.contains("'my voice'"), "{next}");
    assert!(
        next.chars().any(|c| ('\u{600}'..='\u{6ff}').contains(&c)),
        "{next}"
    );
    let program = command_in(path);
    let arguments = next.strip_prefix("myxtts ").unwrap();
    let mut shell = Command::new("sh");
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let spoken = shell
        .current_dir(path)
        .args([
            "-c",
            &format!("'{}' {arguments}", env!("CARGO_BIN_EXE_myxtts")),
        ])
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&spoken.stderr);
    assert!(spoken.status.success(), "{next}\n{words}");
    assert!(path.join("hello.wav").is_file());

    let flags = ["--set", "data.trim_silence=true"];
    let trained = train(path, "trimmed", &flags);
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    let (card, _) = model_of(path, "trimmed");
    assert_eq!(card["audio"]["trim_silence"], true);
}

/// Weights whose mels were divided by statistics that are not there.
#[test]
fn weights_without_their_mel_statistics_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut checkpoint = Tiny::with_room(&["en"], 60, 200).checkpoint();
    checkpoint.mel_stats = None;
    checkpoint.speakers = Some(TensorMap::new());
    myxtts_weights::write_ours(&path.join("weights"), &checkpoint).unwrap();
    persian(&path.join("clips"));
    let refused = train(path, "run", &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let (_, words) = refused.stderr.split_once("error: ").unwrap();
    let words = words.replace(path.to_str().unwrap(), "DIR");
    insta::assert_snapshot!("without_mel_statistics", words);
}
