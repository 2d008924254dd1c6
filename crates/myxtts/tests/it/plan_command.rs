//! `myxtts plan`, from flags to words.

use crate::support::{myxtts, myxtts_with_file, run_in};

fn plan(arguments: &[&str]) -> serde_json::Value {
    let run = myxtts(&[&["plan", "--json"], arguments].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.json()
}

#[test]
fn ids_map_as_written() {
    let split = ["--assume-gpus", "2", "--data-gpu", "1", "--model-gpu", "0"];
    // No device is open yet: that is said by a training, once all are.
    let words = myxtts(&[&["plan"], &split[..]].concat());
    assert!(
        !words.stdout.contains("completed successfully"),
        "{}",
        words.stdout
    );
    let plan = plan(&split);
    assert_eq!(plan["strategy"], "split");
    assert_eq!(plan["mode"], "multi_gpu");
    assert_eq!(plan["data_device"]["physical"], 1);
    assert_eq!(plan["data_device"]["logical"], 0);
    assert_eq!(plan["model_devices"][0]["physical"], 0);
    assert_eq!(plan["model_devices"][0]["logical"], 1);
}

#[test]
fn the_document_has_the_fields_people_script_against() {
    let plan = plan(&[
        "--assume-gpus",
        "3",
        "--multi-gpu",
        "--assume-memory",
        "12288",
    ]);
    assert_eq!(plan["strategy"], "mirrored");
    for device in plan["model_devices"].as_array().unwrap() {
        for field in ["logical", "physical", "backend", "name", "memory_budget_mb"] {
            assert!(!device[field].is_null(), "{field}");
        }
        assert_eq!(device["memory_budget_mb"], 12_288);
    }
    for field in [
        "data_device",
        "buffer_size",
        "device_prefetch",
        "workers",
        "precision",
        "static_shapes",
        "mode",
    ] {
        assert!(!plan[field].is_null(), "{field}");
    }
    assert!(plan["reasons"].as_array().unwrap().len() >= 5);
}

#[test]
fn the_plan_as_a_person_reads_it() {
    let arguments = [
        "plan",
        "--assume-gpus",
        "4",
        "--multi-gpu",
        "--data-gpu",
        "2",
        "--num-workers",
        "3",
        "--precision",
        "f16",
        "--eager-debug",
        "--disable-static-shapes",
        "--batch-size",
        "12",
        "--grad-accum",
        "2",
        "--buffer-size",
        "20",
        "--prefetch-buffer-size",
        "6",
        "--enable-memory-isolation",
        "--data-gpu-memory",
        "4000",
        "--model-gpu-memory",
        "20000",
        "--model-start-delay",
        "0.5",
    ];
    let run = myxtts(&arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    // What the host has is another on every machine.
    let of_host = [" (the host has", "; at most "];
    let without_host: String = run
        .stdout
        .lines()
        .map(
            |line| match of_host.iter().find_map(|words| line.find(words)) {
                Some(at) => format!("{}\n", &line[..at]),
                None => format!("{line}\n"),
            },
        )
        .collect();
    insta::assert_snapshot!(without_host);
}

#[test]
fn the_gpu_profile_follows_the_memory_unless_named() {
    let batch = |arguments: &[&str]| plan(arguments)["batch_size"].as_u64().unwrap();
    assert_eq!(batch(&["--assume-gpus", "1"]), 48);
    assert_eq!(
        batch(&["--assume-gpus", "1", "--assume-memory", "12288"]),
        32
    );
    assert_eq!(
        batch(&["--assume-gpus", "1", "--assume-memory", "8192"]),
        16
    );
    assert_eq!(batch(&["--assume-gpus", "1", "--assume-memory", "6144"]), 8);
    assert_eq!(batch(&["--assume-gpus", "0"]), 16);
    assert_eq!(
        batch(&["--assume-gpus", "1", "--gpu-profile", "rtx3060"]),
        8
    );
    assert_eq!(
        batch(&[
            "--assume-gpus",
            "1",
            "--gpu-profile",
            "rtx3060",
            "--batch-size",
            "5"
        ]),
        5
    );
}

/// The audit's case: 32 rows of the public size on 12 GB were approved.
#[test]
fn a_training_that_does_not_fit_is_refused_with_one_that_does() {
    let on_12_gb = |arguments: &[&str]| {
        let assumed = ["plan", "--assume-gpus", "1", "--assume-memory", "12000"];
        let size = ["--model-size", "xtts-v2"];
        myxtts(&[&assumed[..], &size[..], arguments].concat())
    };
    let refused = on_12_gb(&["--batch-size", "32"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    insta::assert_snapshot!(refused.stderr);
    let (_, advice) = refused.stderr.split_once("fix:").unwrap();
    let (advised, _) = advice.split_once(" is the largest that fits").unwrap();
    let advised: Vec<&str> = advised.split_whitespace().collect();
    let advised = on_12_gb(&advised);
    assert_eq!(advised.code, Some(0), "{}", advised.stderr);
    assert!(advised.stdout.contains("of 12000 MB: fits"));
}

/// Whatever the preset says, what is planned fits every size and every card.
#[test]
fn presets_fit_every_model_size() {
    for size in ["tiny", "small", "normal", "big", "xtts-v2"] {
        for memory in ["12000", "24576"] {
            let plan = plan(&[
                "--assume-gpus",
                "1",
                "--assume-memory",
                memory,
                "--model-size",
                size,
            ]);
            assert_eq!(plan["memory"][0]["verdict"], "fits", "{size} on {memory}");
        }
    }
    let small = [
        "--assume-gpus",
        "1",
        "--assume-memory",
        "12000",
        "--model-size",
        "small",
    ];
    let plan = plan(&small);
    assert!(plan["batch_size"].as_u64().unwrap() < 32);
    let rows = plan["rows_per_step"].as_u64().unwrap();
    assert!(rows >= 32, "accumulation keeps the clips of a step: {rows}");
}

#[test]
fn unlike_cards_are_assumed_one_by_one() {
    let plan = plan(&[
        "--assume-gpus",
        "2",
        "--assume-memory",
        "12000,6000",
        "--multi-gpu",
    ]);
    let memories: Vec<_> = plan["memory"].as_array().unwrap().iter().collect();
    assert_eq!(memories[0]["memory_mb"], 12_000);
    assert_eq!(memories[1]["memory_mb"], 6000);
    let refused = myxtts(&[
        "plan",
        "--assume-gpus",
        "3",
        "--assume-memory",
        "12000,6000",
    ]);
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!(refused.stderr, @r"
    error: --assume-memory names 2 sizes for 3 GPUs
      fix:   one size for all, or one for each: --assume-gpus 2 --assume-memory 12000,6000
    ");
}

/// Two sets of gradients where batches are accumulated, and rounded copies of
/// weights in half precision.
#[test]
fn the_estimate_knows_accumulation_and_precision() {
    let needs = |arguments: &[&str]| {
        let assumed = ["--assume-gpus", "1", "--batch-size", "4"];
        let plan = plan(&[&assumed[..], arguments].concat());
        let part = |name: &str| plan["memory"][0]["needs"][name].as_u64().unwrap();
        [part("weights"), part("gradients"), part("activations")]
    };
    let one = ["--grad-accum", "1", "--precision"];
    let [weights, gradients, activations] = needs(&[&one[..], &["f32"]].concat());
    assert_eq!(weights, gradients);
    assert_eq!(
        needs(&["--grad-accum", "2", "--precision", "f32"]),
        [weights, 2 * gradients, activations]
    );
    let bf16 = needs(&[&one[..], &["bf16"]].concat());
    assert_eq!(bf16[0], weights * 3 / 2);
    assert!(bf16[2] > activations);
}

#[test]
fn negative_and_malformed_ids_are_refused() {
    for arguments in [
        ["--data-gpu", "-1", "--model-gpu", "0"],
        ["--data-gpu", "x", "--model-gpu", "0"],
        ["--visible-gpus", "0,x", "--epochs", "1"],
        ["--visible-gpus", "0,,1", "--epochs", "1"],
        ["--visible-gpus", "", "--epochs", "1"],
    ] {
        let run = myxtts(&[&["plan", "--assume-gpus", "2"], &arguments[..]].concat());
        assert_eq!(run.code, Some(2), "{arguments:?}");
        assert!(
            run.stderr.contains("flag --"),
            "{arguments:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn flags_beat_the_environment_beats_the_file_beats_the_preset() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("train.yaml"),
        "data:\n  batch_size: 20\n",
    )
    .unwrap();
    let batch = |arguments: &[&str], variables: &[(&str, &str)]| {
        let run = run_in(
            folder.path(),
            &[&["plan", "--json", "--assume-gpus", "1"], arguments].concat(),
            variables,
        );
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.json()["batch_size"].as_u64().unwrap()
    };
    let file = &["--config", "train.yaml"][..];
    let env = &[("MYXTTS_DATA_BATCH_SIZE", "21")][..];
    assert_eq!(batch(&[], &[]), 48);
    assert_eq!(batch(file, &[]), 20);
    assert_eq!(batch(file, env), 21);
    assert_eq!(
        batch(&["--config", "train.yaml", "--batch-size", "22"], env),
        22
    );
    assert_eq!(
        batch(
            &["--config", "train.yaml", "--set", "data.batch_size=23"],
            env
        ),
        23
    );
}

#[test]
fn a_file_of_the_ancestor_plans_what_it_meant() {
    let yaml = include_str!("../../../../examples/ancestor.yaml");
    let run = myxtts_with_file(
        yaml,
        &[
            "plan",
            "--json",
            "--assume-gpus",
            "2",
            "--config",
            "train.yaml",
        ],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let plan = run.json();
    assert_eq!(plan["strategy"], "split");
    assert_eq!(plan["data_device"]["physical"], 0);
    assert_eq!(plan["graph_mode"], true);
    assert_eq!(plan["static_shapes"], true);
}

#[test]
fn without_allow_fallback_nothing_falls_back() {
    let asked = [
        "plan",
        "--assume-gpus",
        "1",
        "--data-gpu",
        "0",
        "--model-gpu",
        "1",
    ];
    let refused = myxtts(&asked);
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!(refused.stderr, @r"
    error: Insufficient GPUs for Multi-GPU Mode
      asked: data GPU 0, model GPU 1
      found: 1 GPU (0)
      fix:   list the GPUs with `nvidia-smi -L` or `myxtts devices`, then give two of their ids with --data-gpu and --model-gpu, or drop both flags
    ");
    let allowed = myxtts(&[&asked[..], &["--allow-fallback"]].concat());
    assert_eq!(allowed.code, Some(0));
    let first: Vec<&str> = allowed.stdout.lines().take(2).collect();
    assert_eq!(
        first,
        [
            "Fallback: Multi-GPU Mode (data GPU 0, model GPU 1) was given up: found 1 GPU (0)",
            "Using single GPU strategy",
        ]
    );
}

#[test]
fn the_real_machine_can_be_planned_for() {
    let run = myxtts(&["plan"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.contains("Intelligent GPU Pipeline: "),
        "{}",
        run.stdout
    );
}

#[test]
fn the_public_size_has_the_public_number_of_parameters() {
    let plan = plan(&["--assume-gpus", "1", "--model-size", "xtts-v2"]);
    assert_eq!(plan["model"]["gpt_parameters"], 441_018_563);
    let samples = plan["model"]["per_sample"].as_array().unwrap();
    assert_eq!(samples.last().unwrap()["codes"], 200);
}

/// A software GPU has f16 and no bf16; `train` stops where `plan` does.
#[test]
fn a_precision_that_the_device_has_not_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let on_software = |arguments: &[&str]| {
        let variables = [("MYXTTS_SOFTWARE_GPUS", "1")];
        run_in(folder.path(), arguments, &variables)
    };
    if on_software(&["plan", "--set", "training.backend=wgpu"]).code != Some(0) {
        let required = std::env::var_os("REQUIRE_SOFTWARE_GPUS").is_some();
        assert!(!required, "a software GPU is required here");
        eprintln!("SKIPPED: no software GPU here (Debian: mesa-vulkan-drivers)");
        return;
    }
    let f16 = on_software(&[
        "plan",
        "--json",
        "--set",
        "training.backend=wgpu",
        "--precision",
        "f16",
    ]);
    assert_eq!(f16.json()["precision"], "f16");
    for command in ["plan", "train"] {
        let run = on_software(&[
            command,
            "--set",
            "training.backend=wgpu",
            "--precision",
            "bf16",
        ]);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        // The rasteriser's name has its version.
        let (_, words) = run.stderr.split_once(')').unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(words.trim(), @r"
            as software GPU 0) cannot compute in bf16
              asked: precision bf16
              found: f32, f16
              fix:   choose one of those, or `auto`
            ");
        }
    }
}
