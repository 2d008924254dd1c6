//! `myxtts profile`, on a few clips of the sample corpus.

use std::path::Path;

use serde_json::Value;

use crate::support::{Run, few_clips, myxtts, run_in};

/// The program on a small dataset, in batches of two.
fn profile(folder: &Path, arguments: &[&str]) -> Run {
    few_clips(&folder.join("few"), 16);
    let small = ["--train-data", "few", "--batch-size", "2", "--buckets", "2"];
    run_in(folder, &[&["profile"][..], arguments, &small].concat(), &[])
}

#[test]
fn the_stages_add_up_and_both_files_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "--steps=12",
        "--trace=trace.json",
        "--svg=steps.svg",
        "--json",
    ];
    let run = profile(folder.path(), &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.json();
    let accounted = document["accounted_pct"].as_f64().unwrap();
    assert!((accounted - 100.0).abs() < 2.0, "{document}");
    assert_eq!(document["steps"], 12);
    // The parts of a step are the step, on the thread that trains.
    let parts = document["parts"].as_array().unwrap();
    let sum: f64 = parts
        .iter()
        .map(|part| part["share_pct"].as_f64().unwrap())
        .sum();
    assert!((sum - 100.0).abs() < 2.0, "{document}");
    for stage in ["host", "device", "model"] {
        let of = |found: &&Value| found["stage"] == stage;
        let found = document["stages"].as_array().unwrap().iter().find(of);
        let busy = &found.unwrap()["busy"];
        for figure in ["mean_s", "p50_s", "p95_s", "p99_s"] {
            assert!(busy[figure].as_f64().unwrap() > 0.0, "{stage}: {busy}");
        }
    }
    let work = &document["device_work"];
    assert_eq!(
        work["kernels_per_step"]["unavailable"],
        "the CPU launches no kernels"
    );
    assert!(work["syncs_per_step"].as_f64().unwrap() >= 1.0, "{work}");
    assert!(document["oscillation"]["variation"].is_f64(), "{document}");

    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let trace: Value = serde_json::from_str(&read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    for kind in ["M", "X", "C"] {
        assert!(events.iter().any(|event| event["ph"] == kind), "{kind}");
    }
    assert_eq!(trace["otherData"]["batch_size"], 2);
    assert!(read("steps.svg").starts_with("<svg "));
    // Nothing of what was trained is kept.
    assert!(!folder.path().join("runs").exists());
}

#[test]
fn a_report_reads_the_same_but_for_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    let run = profile(folder.path(), &["--steps=8", "--num-workers=1"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    // Which waits there were, and which stage is slowest, is this run's, too.
    let is_known = |line: &&str| {
        let line = line.trim_start();
        !line.starts_with("waits for input")
            && !line.starts_with("waits for room")
            && !line.starts_with("The slowest stage is")
    };
    let lines = run.stdout.lines().skip(1).filter(is_known);
    let text: Vec<String> = lines.map(without_figures).collect();
    insta::assert_snapshot!(text.join("\n"));
}

/// Numbers, curves and names of machines are this run's.
fn without_figures(line: &str) -> String {
    let line = match line.split_once(" on ") {
        Some(("the GPT stage", rest)) => {
            let settings = rest.rsplit_once(": ").map_or("", |(_, settings)| settings);
            format!("the GPT stage on DEVICE: {settings}")
        }
        _ => line.to_owned(),
    };
    let words = line.split(' ').filter(|word| !word.is_empty()).map(|word| {
        let is_curve = word.chars().all(|c| "·▁▂▃▄▅▆▇█".contains(c));
        let digits = word.trim_end_matches([',', ';', '.', ')']);
        match digits.parse::<f64>() {
            Ok(_) => word.replace(digits, "#"),
            Err(_) if is_curve => "CURVE".to_owned(),
            Err(_) => word.to_owned(),
        }
    });
    let words: Vec<String> = words.collect();
    match words.first().map(String::as_str) {
        // How even they are is this run's, too.
        Some("Steps") => "Steps are EVEN".to_owned(),
        _ => words.join(" "),
    }
}

#[test]
fn a_change_is_measured_against_none() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "--what-if=data.num_workers=2",
        "--num-workers=1",
        "--steps=3",
        "--rounds=1",
        "--json",
    ];
    let run = profile(folder.path(), &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let document = run.json();
    assert_eq!(document["now"], 1);
    assert_eq!(document["then"], 2);
    let figures = document["figures"].as_array().unwrap();
    assert_eq!(figures[0]["workers"], 1);
    assert_eq!(figures[1]["workers"], 2);
    assert!(document["measured_pct"].is_f64(), "{document}");
    // The model of the rules knows what workers do.
    assert!(document["predicted_s"].is_f64(), "{document}");
}

#[test]
fn without_a_second_gpu_there_is_nothing_to_compare() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "--compare",
        "--steps=2",
        "--rounds=1",
        "--set=training.backend=cpu",
    ];
    let run = profile(folder.path(), &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout
            .ends_with("recommended: single (no GPU was found, so there is nothing to compare)\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let of = |arguments: &[&str]| {
        let run = myxtts(&[&["profile"][..], arguments].concat());
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stdout.is_empty());
        run.stderr
    };
    insta::assert_snapshot!("no_value", of(&["--what-if", "data.num_workers"]));
    insta::assert_snapshot!("no_key", of(&["--what-if", "data.num_worker=2"]));
    insta::assert_snapshot!("no_number", of(&["--what-if", "data.num_workers=many"]));
    insta::assert_snapshot!("no_change", of(&["--what-if", "data.buckets=8"]));
    insta::assert_snapshot!("no_folder", of(&["--trace", "missing/trace.json"]));
    insta::assert_snapshot!("no_both", of(&["--compare", "--svg", "x.svg"]));
}

#[test]
fn help() {
    insta::assert_snapshot!(help_of("profile"));
    insta::assert_snapshot!("tune", help_of("tune"));
}

/// The part of `--help` that is not the flags of `train`.
fn help_of(command: &str) -> String {
    let help = myxtts(&[command, "--help"]).stdout;
    let begin = help.find("Configuration:").unwrap();
    help[..begin].trim_end().to_owned()
}

/// What somebody without the card needs is in the report: the device, the work, memory held
/// against memory predicted, and why a figure is missing.
#[test]
fn bench_gpu_names_the_device_and_what_it_held() {
    let folder = tempfile::tempdir().unwrap();
    few_clips(&folder.path().join("few"), 16);
    let bench = |more: &[&str]| {
        let work = ["--train-data=few", "--batch-size=2", "--buckets=2"];
        let device = ["--steps=4", "--set=training.backend=cpu"];
        let command = [&["bench", "gpu"][..], &work, &device, more].concat();
        let run = run_in(folder.path(), &command, &[]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run
    };
    let document = bench(&["--json"]).json();
    let card = &document["cards"][0];
    assert_eq!(card["backend"], "cpu");
    for figure in ["held_mb", "predicted_mb"] {
        assert!(card[figure].as_f64().unwrap() > 0.0, "{card}");
    }
    assert_eq!(document["work"]["model"], "tiny");
    assert_eq!(document["work"]["recompute"], false);
    assert_eq!(document["work"]["moments"], "f32");
    assert_eq!(document["steps"], 4);
    let speed = &document["speed"];
    assert!(speed["audio_per_s"].as_f64().unwrap() > 0.0, "{speed}");
    // Six operations a weight and position: no fewer than those of one text token a clip.
    let weights = document["work"]["parameters"].as_f64().unwrap();
    let least = 6.0 * weights * speed["clips_per_s"].as_f64().unwrap();
    assert!(speed["flop_per_s"].as_f64().unwrap() > least, "{speed}");
    let share = &speed["flop_share_pct"]["unavailable"];
    assert_eq!(share, "no figure of the maker's is known for this device");
    // What is set has its effect on what is measured.
    let saving = bench(&[
        "--set=training.recompute=blocks",
        "--set=training.moments=int8",
    ]);
    for words in [
        "moments in int8, blocks computed again",
        " held, ",
        " predicted (",
    ] {
        assert!(saving.stdout.contains(words), "{}", saving.stdout);
    }
}
