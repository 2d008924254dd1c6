//! `profile` and `tune` on software GPUs: real Vulkan devices, two in a process,
//! with a model of a few thousand numbers.
//!
//! Every measured process compiles its kernels from nothing, which is nearly all of
//! the time it takes.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::gpu_flags::has_gpus;
use crate::support::{Run, command_in, few_weights, hums, run_in};
use crate::tune_command::most_address_space;

/// A dataset of so many hums of one length, weights, and the engine's settings of the
/// tests on software GPUs, which it reads where it is started.
fn desk(folder: &Path, clips: usize) {
    few_weights(&folder.join("weights"));
    hums(&folder.join("clips"), &vec![600; clips]);
    with_settings(folder);
}

/// The same for `tune`, with a folder for its temporary files.
fn tuning_desk(folder: &Path) {
    desk(folder, 64);
    fs::create_dir(folder.join("tmp")).unwrap();
}

fn with_settings(folder: &Path) {
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cubecl.toml");
    fs::copy(settings, folder.join("cubecl.toml")).unwrap();
}

const SUBJECT: [&str; 5] = [
    "--init=weights",
    "--grad-accum=1",
    "--train-data=clips",
    "--language=en",
    "--buckets=1",
];

/// Batches that wait are made by the same cores, and are not what is looked for.
const SHORT_RINGS: [&str; 3] = [
    "--buffer-size=2",
    "--prefetch-buffer-size=1",
    "--num-workers=1",
];

/// The rasteriser works on the thread that asks: handing thousands of small launches to
/// threads of its own takes longer beside other work.
const ONE_THREAD: (&str, &str) = ("LP_NUM_THREADS", "0");

/// What a thread reserves and does not use is not memory.
const ONE_HEAP: (&str, &str) = ("MALLOC_ARENA_MAX", "1");

fn measure(folder: &Path, gpus: &str, arguments: &[&str]) -> Run {
    let arguments = [arguments, &SUBJECT].concat();
    let variables = [("MYXTTS_SOFTWARE_GPUS", gpus), ONE_THREAD];
    let run = run_in(folder, &arguments, &variables);
    assert_eq!(run.code, Some(0), "{arguments:?}\n{}", run.stderr);
    run
}

#[test]
#[ignore = "minutes; benchmarks/profile.md has what it says"]
fn the_modes_of_two_gpus_are_compared_and_the_fastest_is_recommended() {
    let folder = tempfile::tempdir().unwrap();
    if !has_gpus(folder.path()) {
        return;
    }
    desk(folder.path(), 32);
    let arguments = [
        "profile",
        "--compare",
        "--batch-size=2",
        "--steps=6",
        "--rounds=1",
        "--json",
    ];
    let run = measure(folder.path(), "2", &arguments);
    let document = run.json();
    println!("{}\n{document:#}", run.stderr);
    assert_eq!(document["gpus"], 2);
    let modes = document["modes"].as_array().unwrap();
    let names: Vec<&str> = modes
        .iter()
        .map(|row| row["mode"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["single", "split", "mirrored"]);
    let figure = |row: &Value, name: &str| {
        let value = row["figures"][name].as_f64();
        value.unwrap_or_else(|| panic!("{name} of {row}"))
    };
    for row in modes {
        assert!(figure(row, "audio_per_s") > 0.0, "{row}");
        assert!(figure(row, "kernels_per_step") > 10.0, "{row}");
        assert!(figure(row, "moved_bytes_per_step") > 1000.0, "{row}");
    }
    // One device reads its losses late; replicas read them before they average.
    assert!(figure(&modes[0], "syncs_per_step") < 1.0, "{document}");
    assert!(figure(&modes[2], "syncs_per_step") >= 1.0, "{document}");
    // They are what they are called.
    let replicas: Vec<f64> = modes.iter().map(|row| figure(row, "replicas")).collect();
    assert_eq!(replicas, [1.0, 1.0, 2.0]);
    assert!(figure(&modes[2], "averaging_pct") > 0.0, "{document}");
    assert_eq!(document["recommended"], recommended(modes), "{document}");
}

/// A second reading of the rule: the fastest, but an earlier one that is less than 2 %
/// slower.
fn recommended(modes: &[Value]) -> &str {
    let speed = |row: &Value| row["figures"]["audio_per_s"].as_f64().unwrap();
    let fastest = modes.iter().map(speed).fold(0.0, f64::max);
    let good = modes.iter().find(|row| speed(row) >= 0.98 * fastest);
    good.unwrap()["mode"].as_str().unwrap()
}

#[test]
#[ignore = "a minute; benchmarks/profile.md has what it says"]
fn a_gpu_tells_of_its_kernels() {
    let folder = tempfile::tempdir().unwrap();
    if !has_gpus(folder.path()) {
        return;
    }
    desk(folder.path(), 32);
    let arguments = ["profile", "--batch-size=2", "--steps=6", "--json"];
    let document = measure(folder.path(), "1", &arguments).json();
    let work = &document["device_work"];
    println!("{work:#}");
    assert!(work["kernels_per_step"].as_f64().unwrap() > 10.0, "{work}");
    assert!(work["syncs_per_step"].as_f64().unwrap() < 1.0, "{work}");
    assert!(
        work["host_bytes_per_step"].as_f64().unwrap() > 1000.0,
        "{work}"
    );
    match work["top_kernels"].as_array() {
        Some(kernels) => {
            let share = |kernel: &Value| kernel["share_pct"].as_f64().unwrap();
            let shares: Vec<f64> = kernels.iter().map(share).collect();
            assert!(shares.is_sorted_by(|a, b| a >= b), "{work}");
            assert!(shares.iter().sum::<f64>() <= 100.1, "{work}");
        }
        None => assert!(work["top_kernels"]["unavailable"].is_string(), "{work}"),
    }
}

/// Megabytes for the data work and for the model, which share the one GPU.
const BUDGETS: [u64; 2] = [64, 64];

fn with_budgets() -> Vec<String> {
    let [data, model] = BUDGETS;
    vec![
        "--enable-memory-isolation".to_owned(),
        format!("--data-gpu-memory={data}"),
        format!("--model-gpu-memory={model}"),
        "--set=data.memory_check=warn".to_owned(),
    ]
}

/// Bytes that a training of so many rows holds on the GPU.
fn held(folder: &Path, rows: u32) -> u64 {
    let mut arguments = vec![
        "probe-steps".to_owned(),
        "--json".to_owned(),
        "--fits".to_owned(),
    ];
    arguments.extend([format!("--batch-size={rows}")]);
    arguments.extend(SHORT_RINGS.map(str::to_owned));
    arguments.extend(with_budgets());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let document = measure(folder, "1", &arguments).json();
    document["figures"]["device_bytes"].as_u64().unwrap()
}

/// Bytes of the budget that steps may hold: the copies that a validation makes need the rest.
fn budget_of_steps(folder: &Path) -> u64 {
    let mut arguments = vec!["plan".to_owned(), "--json".to_owned()];
    arguments.extend(with_budgets());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let plan = measure(folder, "1", &arguments).json();
    let parts = plan["memory"].as_array().unwrap();
    let copies = |part: &Value| part["needs"]["copies"].as_u64().unwrap();
    let copies: u64 = parts.iter().map(copies).sum();
    (BUDGETS.iter().sum::<u64>() << 20) - copies
}

/// What is left after a tuning: the dataset with its prepared files, what was there
/// before, and the file that was asked for, where there is one.
fn only_the_file_is_new(folder: &Path, is_written: bool) {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "cache")
        .collect();
    names.sort();
    let file = is_written.then_some("myxtts.tuned.yaml");
    let expected = ["clips", "cubecl.toml"].into_iter().chain(file);
    let expected: Vec<&str> = expected.chain(["tmp", "weights"]).collect();
    assert_eq!(names, expected);
    assert_eq!(fs::read_dir(folder.join("tmp")).unwrap().count(), 0);
    // Nor does a process: every one that measures is told of a file in there.
    let place = folder.display().to_string();
    for process in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        assert!(!words.contains(&place), "{words}");
    }
}

/// Looks for a batch size from so many rows on, with the address space limited where a limit
/// is given, and returns what it says.
fn tune(folder: &Path, rows: u32, limit: Option<u64>, flags: &[String]) -> Run {
    let mut command = command_in(folder);
    if let Some(bytes) = limit {
        command = limited(&command, bytes);
        command.current_dir(folder);
    }
    let output = command
        .args(["tune", "--only=batch", "--json", "--steps=1", "--rounds=1"])
        .arg(format!("--batch-size={rows}"))
        .args(flags)
        .args(SHORT_RINGS)
        .args(SUBJECT)
        .env("MYXTTS_SOFTWARE_GPUS", "1")
        .env(ONE_THREAD.0, ONE_THREAD.1)
        .env(ONE_HEAP.0, ONE_HEAP.1)
        .env("TMPDIR", folder.join("tmp"))
        .output()
        .unwrap();
    let run = Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    println!("{}{}", run.stderr, run.stdout);
    run
}

/// The same program with so much address space.
fn limited(program: &Command, bytes: u64) -> Command {
    let mut command = Command::new("prlimit");
    command
        .arg(format!("--as={bytes}"))
        .arg(program.get_program());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn found_rows(document: &Value) -> u32 {
    let trials = document["trials"].as_array().unwrap();
    let fitting = trials.iter().filter(|trial| trial["is_kept"] == true);
    let rows = fitting.filter_map(|trial| trial["tried"].as_str()?.strip_prefix("batch size "));
    let rows = rows.map(|rows| rows.parse::<u32>().unwrap()).max().unwrap();
    // It is written unless it trains slower than the batch it replaces.
    let edits = document["edits"].as_array().unwrap();
    let edited = edits.iter().find(|edit| edit[0] == "data.batch_size");
    let together = trials.iter().find(|trial| trial["tried"] == "all together");
    let is_slower = together.is_some_and(|trial| trial["is_kept"] == false);
    match edited {
        Some(edit) => assert_eq!(edit[2], rows.to_string(), "{document}"),
        None => assert!(is_slower || together.is_none(), "{document}"),
    }
    rows
}

/// The budget is that of a training: what the engine holds on the device.
#[test]
#[ignore = "many minutes; benchmarks/tune.md has what it says"]
fn tune_finds_the_largest_batch_that_a_budget_holds() {
    let folder = tempfile::tempdir().unwrap();
    if !has_gpus(folder.path()) {
        return;
    }
    tuning_desk(folder.path());
    let run = tune(folder.path(), 16, None, &with_budgets());
    assert_eq!(run.code, Some(0));
    let found = found_rows(&run.json());
    only_the_file_is_new(folder.path(), true);

    // By brute force: every size from the one that was found, which must fit, until three in
    // a row hold too much. What smaller ones hold says nothing of the largest.
    let budget = budget_of_steps(folder.path());
    let fits = |rows: u32| {
        let held = held(folder.path(), rows);
        println!("{rows} rows: {held} bytes of {budget}");
        held <= budget
    };
    assert!(fits(found), "{found} rows do not fit");
    let (mut largest, mut rows) = (found, found);
    while rows < largest + 3 {
        rows += 1;
        if fits(rows) {
            largest = rows;
        }
    }
    println!("found {found}, largest {largest}");
    assert!(10 * found >= 9 * largest, "{found} of {largest} rows");
}

/// Most address space that it takes to ask whether so many rows fit, in bytes.
fn address_space(folder: &Path, rows: u32) -> u64 {
    let mut command = command_in(folder);
    command
        .args(["probe-steps", "--json", "--fits"])
        .arg(format!("--batch-size={rows}"))
        .args(SHORT_RINGS)
        .args(SUBJECT)
        .env("MYXTTS_SOFTWARE_GPUS", "1")
        .env(ONE_THREAD.0, ONE_THREAD.1)
        .env(ONE_HEAP.0, ONE_HEAP.1);
    most_address_space(&mut command)
}

/// A software GPU has no memory but the process's, so that is what is limited: an
/// allocation fails for real, and whatever the driver makes of it ends one trial.
#[test]
#[ignore = "many minutes; benchmarks/tune.md has what it says"]
fn running_out_of_memory_ends_a_trial_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    if !has_gpus(folder.path()) {
        return;
    }
    tuning_desk(folder.path());
    let limit = address_space(folder.path(), 8);
    println!("{limit} bytes");
    let run = tune(folder.path(), 4, Some(limit), &[]);
    let trials: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("batch size "))
        .collect();
    let has_died =
        |line: &&str| line.contains("out of memory") || line.contains("the measuring process died");
    let died = trials.iter().position(has_died);
    let died = died.unwrap_or_else(|| panic!("{trials:?}"));
    // The search continued after that.
    let mut later = trials.iter().skip(died);
    assert!(later.any(|line| line.contains("fits")), "{trials:?}");
    // The measurement at the end takes more than these trials. Where it runs out too, `tune`
    // says so, and leaves no file.
    assert!(matches!(run.code, Some(0 | 1)), "{:?}", run.code);
    only_the_file_is_new(folder.path(), run.code == Some(0));
}
