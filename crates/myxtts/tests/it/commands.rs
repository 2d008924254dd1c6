//! Every command of the contract is there, and exits as the contract says.

use crate::support::{myxtts, myxtts_with_file, run_in};

const COMMANDS: [&str; 17] = [
    "train",
    "synthesize",
    "evaluate",
    "serve",
    "prepare",
    "plan",
    "devices",
    "doctor",
    "diagnose",
    "profile",
    "tune",
    "monitor",
    "dashboard",
    "config",
    "import",
    "export",
    "bench",
];

const LATER: [&str; 1] = ["dashboard"];

#[test]
fn help_lists_every_command() {
    let run = myxtts(&["--help"]);
    assert_eq!(run.code, Some(0));
    for command in COMMANDS {
        assert!(run.stdout.contains(command), "{command} is not in --help");
    }
    insta::assert_snapshot!(run.stdout);
}

#[test]
fn every_command_has_help() {
    for command in COMMANDS {
        let run = myxtts(&[command, "--help"]);
        assert_eq!(run.code, Some(0), "{command}");
        assert!(run.stdout.contains("Usage: myxtts"), "{command}");
        assert!(run.stdout.contains("--json"), "{command}");
    }
    insta::assert_snapshot!("plan_help", myxtts(&["plan", "--help"]).stdout);
    insta::assert_snapshot!("prepare_help", myxtts(&["prepare", "--help"]).stdout);
    insta::assert_snapshot!("synthesize_help", myxtts(&["synthesize", "--help"]).stdout);
    insta::assert_snapshot!("monitor_help", myxtts(&["monitor", "--help"]).stdout);
    insta::assert_snapshot!("serve_help", myxtts(&["serve", "--help"]).stdout);
    insta::assert_snapshot!("config_help", myxtts(&["config", "--help"]).stdout);
}

#[test]
fn commands_of_later_versions_say_so_and_exit_2() {
    for command in LATER {
        let run = myxtts(&[command]);
        assert_eq!(run.code, Some(2), "{command}");
        assert!(
            run.stderr.contains("is not in this version"),
            "{command}: {}",
            run.stderr
        );
        assert!(run.stdout.is_empty(), "{command}");
    }
    insta::assert_snapshot!(myxtts(&["dashboard", "--dry"]).stderr, @r"
    error: `myxtts dashboard` is not in this version
      found: this version prepares data, trains and speaks
      fix:   `myxtts train`, `myxtts synthesize`, `myxtts devices` and `myxtts plan` work today
    ");
}

#[test]
fn a_failure_is_a_document_too() {
    let run = myxtts(&["dashboard", "--json"]);
    assert_eq!(run.code, Some(2));
    let run = myxtts(&[
        "plan",
        "--assume-gpus",
        "1",
        "--data-gpu",
        "0",
        "--model-gpu",
        "1",
        "--json",
    ]);
    assert_eq!(run.code, Some(2));
    let message = run.json()["error"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with("Insufficient GPUs for Multi-GPU Mode"),
        "{message}"
    );
    assert!(run.stderr.contains(&message));
}

#[test]
fn wrong_usage_exits_2() {
    for arguments in [
        &["frobnicate"][..],
        &["plan", "--no-such-flag"],
        &["plan", "--assume-gpus", "many"],
        &["plan", "--assume-memory", "8192"],
        &["plan", "--graph-mode", "--eager-debug"],
        &["plan", "--set", "novalue"],
        &["plan", "--set", "data.nokey=1"],
        &["plan", "--batch-size", "0"],
        &["train", "--lr", "fast"],
        &["train", "--config", "missing.yaml"],
        &["config", "validate", "missing.yaml"],
        &["config"],
        &["bench"],
        &["bench", "data", "--clips", "0"],
        &["bench", "data", "--corpus", "missing"],
        &["bench", "data", "--vocab", "missing.json"],
        &[],
    ] {
        let run = myxtts(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn the_version_names_the_backends() {
    let run = myxtts(&["--version"]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.stdout.starts_with("myxtts 0.1.0 (backends: cpu, wgpu"),
        "{}",
        run.stdout
    );
}

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = myxtts(&["completions", shell]);
        assert_eq!(run.code, Some(0), "{shell}");
        assert!(run.stdout.contains("visible-gpus"), "{shell}");
    }
}

#[test]
fn devices_lists_every_backend_with_a_reason_or_a_device() {
    let run = myxtts(&["devices", "--json"]);
    assert_eq!(run.code, Some(0));
    let document = run.json();
    let backends = document["backends"].as_array().unwrap();
    let names: Vec<&str> = backends
        .iter()
        .map(|b| b["backend"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["cpu", "cuda", "rocm", "metal", "vulkan", "wgpu"]);
    for backend in backends {
        let has_device = !backend["devices"].as_array().unwrap().is_empty();
        assert!(
            has_device || backend["unavailable"].is_string(),
            "{backend}"
        );
    }
    let cpu = &backends[0]["devices"][0];
    assert!(cpu["cores"].as_u64().unwrap() >= 1);
    assert!(cpu["memory"]["value"].as_u64().unwrap() > 100);
    let text = myxtts(&["devices"]).stdout;
    for name in names {
        assert!(
            text.lines().any(|line| line == name),
            "{name} is not in:\n{text}"
        );
    }
}

#[test]
fn a_broken_driver_does_not_hurt_the_listing() {
    // A Vulkan loader pointed at nothing finds no adapter, whatever the machine has.
    let folder = tempfile::tempdir().unwrap();
    let broken = [
        ("VK_ICD_FILENAMES", "/nonexistent"),
        ("VK_DRIVER_FILES", "/nonexistent"),
    ];
    let run = run_in(folder.path(), &["devices"], &broken);
    assert_eq!(run.code, Some(0));
    assert!(
        run.stdout
            .contains("wgpu\n  unavailable: no Vulkan adapter"),
        "{}",
        run.stdout
    );
}

#[test]
fn software_gpus_must_be_a_count() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_in(
        folder.path(),
        &["devices"],
        &[("MYXTTS_SOFTWARE_GPUS", "yes")],
    );
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr
            .contains("MYXTTS_SOFTWARE_GPUS takes a whole number"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_file_with_everything_wrong_is_refused_once_with_every_place() {
    let yaml = "data:\n  batch_sise: 4\n  buckets: 99\ntraining:\n  precision: f8\n";
    let run = myxtts_with_file(yaml, &["config", "validate", "train.yaml"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.stderr);
}
