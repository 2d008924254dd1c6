//! `myxtts config`.

use crate::support::{myxtts, myxtts_with_file, run_in};

#[test]
fn show_names_the_origin_of_every_value() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = "data:\n    language: fa\n    mixed_precision: false\n    use_tf_native_loading: true\n\
                training:\n    enable_eager_debug: true\n";
    std::fs::write(folder.path().join("train.yaml"), yaml).unwrap();
    let arguments = [
        "config",
        "show",
        "--config",
        "train.yaml",
        "--gpu-profile",
        "rtx4090",
        "--lr",
        "3e-4",
        "--set",
        "training.name=voice",
        "--optimization-level",
        "plateau_breaker",
    ];
    let run = run_in(folder.path(), &arguments, &[("MYXTTS_TRAINING_SEED", "7")]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    insta::assert_snapshot!(run.stdout);
    let mut json = arguments.to_vec();
    json.push("--json");
    let run = run_in(folder.path(), &json, &[("MYXTTS_TRAINING_SEED", "7")]);
    let document = run.json();
    assert_eq!(document["data.batch_size"]["origin"], "presets rtx4090");
    assert_eq!(document["data.language"]["origin"], "train.yaml:2:5");
    assert_eq!(
        document["training.precision"]["alias"],
        "data.mixed_precision"
    );
    assert_eq!(document["training.seed"]["value"], 7);
}

#[test]
fn every_shipped_example_loads() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut examples = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let run = myxtts(&["config", "validate", path.to_str().unwrap()]);
        assert_eq!(run.code, Some(0), "{}: {}", path.display(), run.stderr);
        let run = myxtts(&[
            "plan",
            "--assume-gpus",
            "4",
            "--config",
            path.to_str().unwrap(),
            // Weights that an example starts from are not beside it.
            "--set",
            "training.init=none",
        ]);
        assert_eq!(run.code, Some(0), "{}: {}", path.display(), run.stderr);
        examples += 1;
    }
    assert!(examples >= 4);
}

#[test]
fn a_new_file_loads_and_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let new = |arguments: &[&str]| {
        run_in(
            folder.path(),
            &[&["config", "new"], arguments].concat(),
            &[],
        )
    };
    assert_eq!(new(&[]).code, Some(0));
    let written = std::fs::read_to_string(folder.path().join("myxtts.yaml")).unwrap();
    assert_eq!(new(&["-"]).stdout, written);
    let again = new(&[]);
    assert_eq!(again.code, Some(2));
    insta::assert_snapshot!(again.stderr, @r"
    error: myxtts.yaml already exists
      fix:   give another name, or --force to replace it
    ");
    assert_eq!(new(&["--force"]).code, Some(0));
    let valid = run_in(folder.path(), &["config", "validate", "myxtts.yaml"], &[]);
    insta::assert_snapshot!(valid.stdout, @"myxtts.yaml: valid, 0 keys set");
}

#[test]
fn the_schema_accepts_what_the_loader_accepts() {
    let schema = myxtts(&["config", "schema"]).json();
    for (section, key) in [
        ("data", "batch_size"),
        ("data", "enable_xla"),
        ("training", "multi_gpu"),
    ] {
        assert!(
            schema["properties"][section]["properties"][key].is_object(),
            "{section}.{key}"
        );
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn every_key_of_the_contract_is_known() {
    let yaml = "\
data:
  batch_size: 4
  num_workers: 2
  prefetch_buffer_size: 3
  prefetch_to_gpu: true
  enhanced_gpu_prefetch: true
  optimize_cpu_gpu_overlap: true
  pad_to_fixed_length: true
  max_text_length: 100
  max_mel_frames: 500
  pipeline_buffer_size: 10
  model_start_delay: 1.5
  data_gpu: 0
  model_gpu: 1
  enable_xla: true
  mixed_precision: true
  use_tf_native_loading: true
  cache: memory
  sample_rate: 22050
  n_mels: 80
  language: fa
  trim_silence: false
  normalize_audio: true
training:
  multi_gpu: false
  visible_gpus: 0,1
  gradient_accumulation_steps: 2
  enable_graph_mode: true
  enable_xla_compilation: true
  enable_eager_debug: false
  learning_rate: 0.0001
  epochs: 3
";
    let run = myxtts_with_file(yaml, &["config", "validate", "train.yaml"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let off = yaml.replace(
        "use_tf_native_loading: true",
        "use_tf_native_loading: false",
    );
    let run = myxtts_with_file(&off, &["config", "validate", "train.yaml"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr);
}

#[test]
fn presets_are_listed() {
    insta::assert_snapshot!(myxtts(&["config", "presets"]).stdout);
    let document = myxtts(&["config", "presets", "--json"]).json();
    assert_eq!(document["gpu_profile"]["rtx3060"]["data.batch_size"], 8);
    assert_eq!(
        document["optimization_level"]["basic"]["training.lr_schedule"],
        "constant"
    );
}

/// Every way to say it: a file, a flag, the environment. `validate` says what
/// `train` says, and neither begins to work.
#[test]
fn validate_refuses_what_train_refuses() {
    for (name, yaml) in [
        ("language", "data:\n  language: farsi\n"),
        (
            "conditioning",
            "data:\n  conditioning_min: 4.0\n  conditioning_max: 2.0\n",
        ),
        ("rate", "data:\n  sample_rate: 16000\n"),
        ("bands", "data:\n  n_mels: 100\n"),
        ("name", "training:\n  name: ../../x\n"),
        ("freeze_nothing", "training:\n  freeze: [text_embeding]\n"),
        ("freeze_all", "training:\n  freeze: [\"\"]\n"),
        ("same_gpu", "data:\n  data_gpu: 1\n  model_gpu: 1\n"),
        ("one_gpu_alone", "data:\n  data_gpu: 1\n"),
        (
            "ring",
            "data:\n  pipeline_buffer_size: 4\n  prefetch_buffer_size: 9\n",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("train.yaml"), yaml).unwrap();
        let run = |arguments: &[&str]| run_in(folder.path(), arguments, &[]);
        let validated = run(&["config", "validate", "train.yaml"]);
        assert_eq!(validated.code, Some(2), "{name}: {}", validated.stdout);
        insta::assert_snapshot!(format!("refused_{name}"), validated.stderr);
        let by_flag = run(&["config", "validate", "--config", "train.yaml"]);
        assert_eq!(by_flag.stderr, validated.stderr, "{name}");
        let trained = run(&["train", "--config", "train.yaml"]);
        assert_eq!(trained.code, Some(2), "{name}");
        // Which GPUs there are is `train`'s to know, and the plan is made for them.
        let is_of_the_plan = validated.stderr.contains("imaginary GPUs");
        if !is_of_the_plan {
            assert_eq!(trained.stderr, validated.stderr, "{name}");
        }
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{name}: nothing was begun");
    }
}

#[test]
fn validate_takes_flags_and_asks_no_device() {
    let run = myxtts(&["config", "validate", "--data-gpu", "70", "--model-gpu", "9"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout, "flags and environment: valid, 2 keys set\n");
    let run = myxtts(&["config", "validate", "--set", "training.lr=1"]);
    assert_eq!(run.code, Some(2));
}

/// What people type, and what they are told.
#[test]
fn a_name_that_is_not_known_is_answered_with_those_that_are() {
    let mut told = String::new();
    for key in [
        "training.lr",
        "data.bufer_size",
        "training.learning_rat",
        "training.grad_accum",
        "data.lr",
        "language",
        "training.batch_size",
        "training.save_every",
        "data.workers",
    ] {
        let run = myxtts(&["plan", "--set", &format!("{key}=1")]);
        assert_eq!(run.code, Some(2), "{key}");
        told.push_str(&run.stderr);
    }
    let folder = tempfile::tempdir().unwrap();
    for variable in ["MYXTTS_TRAINING_LR", "MYXTTS_LR", "MYXTTS_DATA_BUFER_SIZE"] {
        let run = run_in(folder.path(), &["plan"], &[(variable, "1")]);
        assert_eq!(run.code, Some(2), "{variable}");
        told.push_str(&run.stderr);
    }
    insta::assert_snapshot!(told);
}

/// A shell does not expand `~` in a file, after `--set key=` or after `--flag=`.
#[test]
fn the_home_folder_is_expanded_in_paths() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().to_str().unwrap();
    let yaml = "data:\n  train_data: ~/clips\n  language: fa\ntraining:\n  init: \"~\"\n";
    std::fs::write(folder.path().join("home.yaml"), yaml).unwrap();
    crate::starting_weights::describe_xtts_v2(folder.path());
    let arguments = [
        "config",
        "show",
        "--json",
        "--config=~/home.yaml",
        "--set",
        "training.vocab=~/v.json",
        "--checkpoint-dir=~/run",
    ];
    let run = run_in(folder.path(), &arguments, &[("HOME", home)]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let shown = run.json();
    for (key, path) in [
        ("data.train_data", "/clips"),
        ("training.init", ""),
        ("training.vocab", "/v.json"),
        ("training.checkpoint_dir", "/run"),
    ] {
        assert_eq!(shown[key]["value"], format!("{home}{path}"), "{key}");
    }
    let run = myxtts(&["plan", "--train-data=~somebody/clips"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr);
}
