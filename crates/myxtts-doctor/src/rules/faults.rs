//! Each fault is the first thing that is found, and a healthy training has none.

use super::testing::{self, healthy};
use crate::code::Code;
use crate::diagnose::diagnose;
use crate::lang::Lang;
use crate::signal::Signal;
use crate::signals::{DeviceRole, Signals, Strategy};
use crate::units::Share;

/// Every fault of the proof, and the code that must come first.
fn faults() -> [(&'static str, Signals, Code); 12] {
    [
        ("slow disk", testing::slow_disk(), Code::SlowStorage),
        ("slow decode", testing::slow_decode(), Code::SlowDecode),
        ("slow upload", testing::slow_upload(), Code::GpuTransfer),
        ("long DVAE", testing::long_dvae(), Code::DevicePrep),
        ("padding", testing::padded(), Code::Padding),
        (
            "changing shapes",
            testing::changing_shapes(),
            Code::Recompiling,
        ),
        ("read-back", testing::many_syncs(), Code::SyncPoints),
        (
            "evaluation pause",
            testing::evaluation_pauses(),
            Code::Pauses,
        ),
        ("straggling replica", testing::straggler(), Code::RankSkew),
        (
            "too few workers",
            testing::too_few_workers(),
            Code::LowWorkers,
        ),
        (
            "too many workers",
            testing::too_many_workers(),
            Code::TooManyWorkers,
        ),
        ("fusion off", testing::fusion_off(), Code::FusionOff),
    ]
}

#[test]
fn every_fault_comes_first() {
    let mut table = String::new();
    for (fault, signals, expected) in faults() {
        let diagnosis = diagnose(&signals);
        let first = &diagnosis.findings[0];
        assert_eq!(first.code, expected, "{fault}: {:#?}", diagnosis.findings);
        let gain = first
            .gain
            .seconds()
            .map_or_else(|| "unknown".to_owned(), |gain| Lang::En.seconds(gain.0));
        let rest: Vec<&str> = diagnosis.findings[1..]
            .iter()
            .map(|next| next.code.name())
            .collect();
        let explained: Vec<&str> = diagnosis
            .explained
            .iter()
            .map(|next| next.code.name())
            .collect();
        table.push_str(&format!(
            "{fault:<19} {:<17} {gain:>8}  then: {}; explained: {}\n",
            first.code.name(),
            rest.join(" "),
            explained.join(" ")
        ));
    }
    insta::assert_snapshot!(table);
}

/// Where a device cannot be read, as on software GPUs, the faults that do not
/// need its readings are still first.
#[test]
fn faults_are_found_without_readings_of_devices() {
    for (fault, mut signals, expected) in faults() {
        for device in &mut signals.devices {
            device.busy = Signal::unavailable("a software GPU");
            device.memory = Signal::unavailable("a software GPU");
            device.throttled = Signal::unavailable("a software GPU");
            device.pcie = Signal::unavailable("a software GPU");
        }
        let diagnosis = diagnose(&signals);
        assert_eq!(diagnosis.findings[0].code, expected, "{fault}");
        assert!(!diagnosis.silent.is_empty());
    }
}

#[test]
fn nothing_is_found_in_a_healthy_training() {
    let mut cpu = healthy();
    cpu.settings.strategy = Strategy::Cpu.into();
    cpu.settings.fusion = Signal::Known(None);
    cpu.settings.precision = crate::signals::Precision::F32.into();
    cpu.devices[0].busy = Signal::unavailable("the processor");
    let mut split = healthy();
    split.settings.strategy = Strategy::Split.into();
    let mut data = split.devices[0].clone();
    data.role = DeviceRole::Data;
    data.busy = Share(0.2).into();
    split.devices.insert(0, data);
    for signals in [healthy(), cpu, split] {
        let diagnosis = diagnose(&signals);
        assert_eq!(diagnosis.findings, []);
    }
}

/// Nothing is known: every rule says why it cannot look, and none guesses.
#[test]
fn without_signals_all_are_silent() {
    let diagnosis = diagnose(&Signals::default());
    assert_eq!(diagnosis.findings, []);
    let devices = [
        Code::MemoryEdge,
        Code::Throttling,
        Code::PcieLink,
        Code::LowGpuMemory,
    ];
    for rule in super::ALL {
        let is_silent = diagnosis
            .silent
            .iter()
            .any(|silent| silent.code == rule.code);
        // A training without devices has nothing to say of them.
        assert!(is_silent || devices.contains(&rule.code), "{}", rule.code);
    }
}

#[test]
fn findings_survive_json() {
    for (_, signals, _) in faults() {
        let diagnosis = diagnose(&signals);
        let text = serde_json::to_string(&diagnosis).unwrap();
        let back: crate::Diagnosis = serde_json::from_str(&text).unwrap();
        // A float may come back one unit off.
        assert_eq!(back.findings.len(), diagnosis.findings.len());
        for (back, finding) in back.findings.iter().zip(&diagnosis.findings) {
            assert_eq!((back.code, &back.form), (finding.code, &finding.form));
            assert_eq!(back.edits, finding.edits);
            assert_eq!(back.cause_in(Lang::Fa), finding.cause_in(Lang::Fa));
        }
    }
}

/// All rules are there, once, with texts in both languages and the same forms.
#[test]
fn every_code_has_its_rule() {
    let codes: Vec<Code> = super::ALL.iter().map(|rule| rule.code).collect();
    assert_eq!(codes, Code::ALL);
    for rule in super::ALL {
        let (en, fa) = (&rule.texts.en, &rule.texts.fa);
        let names = |texts: &crate::texts::Texts| -> Vec<&str> {
            texts.forms.iter().map(|form| form.name).collect()
        };
        assert_eq!(names(en), names(fa), "{}", rule.code);
        for (en, fa) in en.forms.iter().zip(fa.forms) {
            assert_eq!(
                places(en.cause),
                places(fa.cause),
                "{} {}",
                rule.code,
                en.name
            );
            assert_eq!(places(en.fix), places(fa.fix), "{} {}", rule.code, en.name);
        }
    }
}

/// The names of facts in a text, sorted, each once.
fn places(text: &str) -> Vec<&str> {
    let mut places: Vec<&str> = text
        .split('{')
        .skip(1)
        .filter_map(|part| part.split_once('}').map(|(name, _)| name))
        .collect();
    places.sort_unstable();
    places.dedup();
    places
}
