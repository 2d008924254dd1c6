//! Folders as a training writes them, and as an accident leaves them.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::*;
use crate::diagnose::diagnose;
use crate::signals::{CacheKind, Strategy, TrainStage};
use crate::testing::{Folder, host_bound};
use crate::verdict::InputBound;
use crate::{Code, Lang};

#[test]
fn a_run_that_waits_nine_tenths_of_the_time() {
    let folder = host_bound();
    let reading = read_run(folder.path()).unwrap();
    assert_eq!(reading.notes, []);
    assert_eq!(reading.at_step, Some(300));
    let signals = reading.signals;
    assert_eq!(signals.settings.stage, TrainStage::Gpt.into());
    assert_eq!(signals.settings.strategy, Strategy::OneDevice.into());
    assert_eq!(signals.settings.cache, CacheKind::Disk.into());
    assert_eq!(signals.machine.cores, 16.into());
    assert_eq!(signals.steps.remaining, 2092.into());
    // 100 steps of the DVAE and the warm-up of the GPT do not count.
    assert_eq!(signals.steps.measured, 190);
    let step = signals.steps.step.known().unwrap().0;
    assert!((step - 1.0).abs() < 1e-9, "{step}");
    let diagnosis = diagnose(&signals);
    assert_eq!(diagnosis.verdict.input_bound, InputBound::Highly.into());
    let first = &diagnosis.findings[0];
    assert_eq!(first.code, Code::LowWorkers);
    assert_eq!(first.edits[0].key, "data.num_workers");
    // 0.9 of every second.
    assert!((first.gain.seconds().unwrap().0 - 900.0).abs() < 1.0);
    assert!(first.cause_in(Lang::En).contains("90.0 %"));
    assert!(first.cause_in(Lang::Fa).contains("۹۰٫۰٪"));
}

#[test]
fn half_a_line_and_garbage_are_left_out() {
    let folder = host_bound();
    let whole = read_run(folder.path()).unwrap().signals;
    for (name, more) in [
        ("metrics.jsonl", "{\"step\":301,\"wall_ti"),
        ("ledger.jsonl", "{\"stage\":\"host\",\"worker\":0,"),
        ("devices.jsonl", "{\"wall"),
    ] {
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(folder.path().join(name))
            .unwrap();
        file.write_all(more.as_bytes()).unwrap();
    }
    let reading = read_run(folder.path()).unwrap();
    assert_eq!(reading.notes, [], "a live file is not odd");
    assert_eq!(reading.signals.steps, whole.steps);
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(folder.path().join("metrics.jsonl"))
        .unwrap();
    file.write_all(b"\n\xff\xfe\nnull\n").unwrap();
    let reading = read_run(folder.path()).unwrap();
    assert_eq!(reading.notes.len(), 1, "{:?}", reading.notes);
    assert!(matches!(reading.notes[0], Note::BadLines { lines: 3, .. }));
    assert_eq!(reading.signals.steps, whole.steps);
}

#[test]
fn an_older_folder_tells_less_and_nothing_wrong() {
    let folder = host_bound();
    fs::remove_file(folder.path().join("devices.jsonl")).unwrap();
    Folder::rewrite(&folder.path().join("metrics.jsonl"), |line| {
        for key in ["step_s", "syncs", "padding", "audio_s", "read_back_s"] {
            line.remove(key);
        }
    });
    Folder::rewrite(&folder.path().join("ledger.jsonl"), |line| {
        line.remove("read_us");
        line.remove("decode_us");
    });
    let reading = read_run(folder.path()).unwrap();
    let steps = &reading.signals.steps;
    // From the times of the lines, without the distance across a validation.
    let step = steps.step.known().unwrap().0;
    assert!((step - 1.0).abs() < 1e-6, "{step}");
    assert!(steps.pauses.known().is_none());
    let diagnosis = diagnose(&reading.signals);
    assert_eq!(diagnosis.findings[0].code, Code::LowWorkers);
    let silent: Vec<Code> = diagnosis.silent.iter().map(|silent| silent.code).collect();
    for code in [
        Code::SlowDecode,
        Code::SyncPoints,
        Code::Padding,
        Code::Pauses,
    ] {
        assert!(silent.contains(&code), "{code}");
    }
}

#[test]
fn every_missing_file_leaves_the_rest() {
    for name in [
        "plan.json",
        "config.yaml",
        "ledger.jsonl",
        "devices.jsonl",
        "metrics.jsonl",
    ] {
        let folder = host_bound();
        fs::remove_file(folder.path().join(name)).unwrap();
        let reading = read_run(folder.path()).unwrap();
        assert!(
            reading.notes.iter().any(|note| note.file() == name),
            "{name}: {:?}",
            reading.notes
        );
        diagnose(&reading.signals);
    }
    let folder = host_bound();
    fs::write(folder.path().join("plan.json"), "{\"strategy\": \"one_dev").unwrap();
    fs::write(folder.path().join("config.yaml"), [0xff, 0xfe, 0]).unwrap();
    assert_eq!(read_run(folder.path()).unwrap().notes.len(), 2);
}

#[test]
fn an_empty_run_has_nothing_to_say_yet() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.lock"), "").unwrap();
    let reading = read_run(folder.path()).unwrap();
    assert_eq!(reading.at_step, None);
    let diagnosis = diagnose(&reading.signals);
    assert_eq!(diagnosis.findings, []);
    assert!(diagnosis.verdict.waiting.known().is_none());
}

#[test]
fn what_is_not_a_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("holiday.txt"), "").unwrap();
    let error = read_run(folder.path()).unwrap_err();
    let told = format!("{}\n{}", error.in_lang(Lang::En), error.in_lang(Lang::Fa));
    let told = told.replace(&folder.path().display().to_string(), "DIR");
    insta::assert_snapshot!("not_a_run", told);
    let error = read_run(Path::new("/nowhere/runs/x")).unwrap_err();
    let told = format!("{}\n{}", error.in_lang(Lang::En), error.in_lang(Lang::Fa));
    insta::assert_snapshot!("no_folder", told);
}

#[test]
fn a_ledger_of_any_size_is_read_from_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.jsonl");
    let text: String = (0..1000).map(|number| format!("{number}\n")).collect();
    fs::write(&path, &text).unwrap();
    let mut seen: Vec<u64> = Vec::new();
    let lines = each(&path, 40, |number: u64| seen.push(number)).unwrap();
    assert_eq!(lines.bad, 0);
    // 40 bytes are ten numbers of three digits; the first of them is cut.
    assert_eq!(seen, (991..1000).collect::<Vec<u64>>());
}

#[test]
fn a_line_without_an_end_takes_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zeros.jsonl");
    let mut bytes = vec![b'0'; 3 << 20];
    bytes.extend_from_slice(b"\n7\n");
    fs::write(&path, bytes).unwrap();
    let mut seen: Vec<u64> = Vec::new();
    let lines = each(&path, 64 << 20, |number: u64| seen.push(number)).unwrap();
    assert_eq!(seen, [7]);
    assert_eq!(
        (lines.bad, lines.first_bad.as_str()),
        (1, "a line of more than 1048576 bytes")
    );
}
