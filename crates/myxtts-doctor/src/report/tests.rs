//! Whole reports, in both languages.

use super::*;
use crate::rules::testing;
use crate::run_folder::read_run;
use crate::signal::Signal;
use crate::testing::host_bound;

fn both(report: &Report) -> String {
    format!(
        "{}\n----\n\n{}",
        report.in_lang(Lang::En),
        report.in_lang(Lang::Fa)
    )
}

fn extra(subject: &str) -> Extra {
    Extra {
        subject: subject.to_owned(),
        version: "0.1.0".to_owned(),
        ..Extra::default()
    }
}

/// The question people come with: a folder in which the model waits nine
/// tenths of the time.
#[test]
fn why_does_my_gpu_rest() {
    let folder = host_bound();
    let reading = read_run(folder.path()).unwrap();
    let report = Report::new(
        reading.signals,
        Extra {
            at_step: reading.at_step,
            ..extra("runs/default")
        },
    );
    for (lang, stage, number) in [
        (Lang::En, "host stage", "90.0 %"),
        (Lang::Fa, "مرحلهٔ میزبان", "۹۰٫۰٪"),
    ] {
        let verdict = sentence(report.diagnosis(), lang);
        for word in [stage, number, "data.num_workers: 11"] {
            assert!(verdict.contains(word), "{word} in: {verdict}");
        }
    }
    insta::assert_snapshot!("waits_for_the_host", both(&report));
}

#[test]
fn a_healthy_training() {
    let report = Report::new(testing::healthy(), extra("runs/healthy"));
    assert!(!report.blocks());
    insta::assert_snapshot!("healthy", both(&report));
}

#[test]
fn every_fault() {
    let reports: Vec<String> = [
        testing::slow_disk(),
        testing::slow_decode(),
        testing::slow_upload(),
        testing::long_dvae(),
        testing::padded(),
        testing::changing_shapes(),
        testing::many_syncs(),
        testing::evaluation_pauses(),
        testing::straggler(),
        testing::too_many_workers(),
        testing::fusion_off(),
    ]
    .into_iter()
    .map(|signals| {
        let diagnosis = diagnose(&signals);
        let mut text = String::new();
        for lang in [Lang::En, Lang::Fa] {
            text.push_str(&format!("{}\n", sentence(&diagnosis, lang)));
            for finding in &diagnosis.findings {
                let (cause, fix) = (finding.cause_in(lang), finding.fix_in(lang));
                text.push_str(&format!("  {}: {cause}\n    {fix}\n", finding.code));
            }
        }
        text
    })
    .collect();
    insta::assert_snapshot!("faults", reports.join("\n"));
}

#[test]
fn a_run_that_has_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.lock"), "").unwrap();
    let reading = read_run(folder.path()).unwrap();
    let report = Report::new(
        reading.signals,
        Extra {
            notes: reading.notes,
            ..extra("runs/new")
        },
    );
    insta::assert_snapshot!("not_begun", both(&report));
}

#[test]
fn for_programs() {
    let report = Report::new(testing::too_few_workers(), extra("runs/default"));
    let mut document = report.document();
    document.as_object_mut().unwrap().remove("signals");
    insta::assert_snapshot!("document", serde_json::to_string_pretty(&document).unwrap());
}

/// What a training without something says of it is translated.
#[test]
fn reasons_have_persian_words() {
    let folder = host_bound();
    for name in [
        "devices.jsonl",
        "ledger.jsonl",
        "plan.json",
        "config.yaml",
        "metrics.jsonl",
    ] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
        let signals = read_run(folder.path()).unwrap().signals;
        for silent in diagnose(&signals).silent {
            assert!(
                crate::reasons::is_known(&silent.reason),
                "{}",
                silent.reason
            );
        }
    }
}

#[test]
fn what_blocks_training_is_said() {
    let mut signals = testing::healthy();
    testing::set(&mut signals, "training.backend", "rocm");
    let report = Report::new(signals, extra("probe"));
    assert!(report.blocks());
    assert_eq!(report.document()["blocks_training"], true);
}

#[test]
fn the_headroom_test_is_a_sentence() {
    let mut signals = testing::healthy();
    signals.steps.headroom = Signal::Known(crate::signals::Headroom {
        cached: crate::units::Seconds(0.0876),
        live: crate::units::Seconds(0.1),
    });
    signals.steps.remaining = 483_871.into();
    assert_eq!(
        headroom(&signals, Lang::En).unwrap(),
        "loading costs you 12.4 %, at most 1 h 40 min of the rest of this run"
    );
}
