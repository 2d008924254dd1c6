//! The whole answer: sections, verdict, recommendations, in words and as JSON.
//!
//! A run folder fills most sections. A probe fills the rest: it puts what it
//! measured into [`Signals`], and what only it can say into [`Extra`].

mod lines;
mod render;
mod sentence;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::{Value, json};

use crate::code::Code;
use crate::diagnose::{Diagnosis, diagnose};
use crate::finding::{Finding, Severity};
use crate::lang::Lang;
use crate::run_folder::Note;
use crate::signals::Signals;

pub use render::Rendered;
use sentence::headroom;
pub use sentence::sentence;

/// A part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionName {
    /// The machine and this program.
    Environment,
    /// What trains and what prepares data.
    Devices,
    /// What was asked for.
    Configuration,
    /// The recordings to train on.
    Dataset,
    /// The disk they lie on.
    Storage,
    /// The stages that feed the model.
    PipelineSpeed,
    /// The step of the model itself.
    ModelStep,
    /// Whether the model waits for data.
    Verdict,
}

impl SectionName {
    /// All sections, in the order of the report.
    pub(crate) const ALL: [Self; 8] = [
        Self::Environment,
        Self::Devices,
        Self::Configuration,
        Self::Dataset,
        Self::Storage,
        Self::PipelineSpeed,
        Self::ModelStep,
        Self::Verdict,
    ];

    /// Returns the section that a finding belongs to.
    pub(crate) fn of(code: Code) -> Self {
        match code {
            Code::NoGpusDetected
            | Code::BackendUnavailable
            | Code::LowGpuMemory
            | Code::Throttling
            | Code::PcieLink
            | Code::MemoryEdge
            | Code::MemoryHeadroom => Self::Devices,
            Code::MixedPrecisionOff
            | Code::FusionOff
            | Code::StaticShapesOff
            | Code::CacheOff
            | Code::SplitNotWorthIt => Self::Configuration,
            Code::DataQuality => Self::Dataset,
            Code::SlowStorage => Self::Storage,
            Code::DataLoading
            | Code::SlowDecode
            | Code::LowWorkers
            | Code::TooManyWorkers
            | Code::DevicePrep
            | Code::GpuTransfer => Self::PipelineSpeed,
            Code::Oscillation
            | Code::UnderutilizedGpu
            | Code::LaunchBound
            | Code::Padding
            | Code::Recompiling
            | Code::SyncPoints
            | Code::Pauses
            | Code::BatchTooSmall
            | Code::RankSkew
            | Code::Collective => Self::ModelStep,
        }
    }
}

/// The state of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// Nothing could be looked at.
    Unknown,
    /// There is nothing to change.
    Ok,
    /// Something there costs time.
    Warning,
    /// Something there costs much time, or keeps training from running.
    Problem,
}

/// What only the caller knows.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// What was looked at, for the heading: a folder, or the probe.
    pub subject: String,
    /// The newest step of a run, if there is one.
    pub at_step: Option<u64>,
    /// What was odd about the files.
    pub notes: Vec<Note>,
    /// The version of this program.
    pub version: String,
    /// What kept the caller from looking further, and a training from running.
    pub problems: Vec<Problem>,
}

/// A section that could not be looked at because something is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The section that is concerned.
    pub section: SectionName,
    /// What is wrong, in one line or more, in the words of whoever failed.
    pub cause: Vec<String>,
    /// What to do, where it is known.
    pub fix: Option<String>,
}

impl Problem {
    /// Takes an error apart into its cause and its fix.
    pub fn new(section: SectionName, error: &str) -> Self {
        let mut report = myxtts_base::Report::of(&error);
        let fix = report.take_fix();
        let words = report.to_string();
        // What is drawn below a line of a file keeps its column.
        let plain = |line: &str| {
            line.strip_prefix("  ")
                .unwrap_or(line)
                .trim_end()
                .to_owned()
        };
        Self {
            section,
            cause: words.lines().map(plain).collect(),
            fix: fix.map(|fix| fix.lines().collect::<Vec<_>>().join("; ")),
        }
    }
}

/// The whole report on a training.
#[derive(Clone, Debug)]
pub struct Report {
    signals: Signals,
    diagnosis: Diagnosis,
    extra: Extra,
}

impl Report {
    /// Makes the report on what was measured.
    pub fn new(signals: Signals, extra: Extra) -> Self {
        Self {
            diagnosis: diagnose(&signals),
            signals,
            extra,
        }
    }

    /// Returns what the rules found.
    pub fn diagnosis(&self) -> &Diagnosis {
        &self.diagnosis
    }

    /// Returns whether something keeps training from running.
    pub fn blocks(&self) -> bool {
        !self.extra.problems.is_empty() || self.diagnosis.blocks()
    }

    /// Returns the report in a language, for display.
    pub fn in_lang(&self, lang: Lang) -> Rendered<'_> {
        Rendered { report: self, lang }
    }

    /// Returns the report as JSON, for programs; never translated.
    pub fn document(&self) -> Value {
        let sections: Vec<Value> = SectionName::ALL
            .into_iter()
            .map(|section| {
                let codes: Vec<Code> = self
                    .of_section(section)
                    .map(|finding| finding.code)
                    .collect();
                json!({
                    "section": section,
                    "state": self.state(section),
                    "line": lines::line(self, section, Lang::En),
                    "findings": codes,
                })
            })
            .collect();
        let notes: Vec<String> = self
            .extra
            .notes
            .iter()
            .map(|note| note.in_lang(Lang::En))
            .collect();
        json!({
            "version": self.extra.version,
            "subject": self.extra.subject,
            "at_step": self.extra.at_step,
            "blocks_training": self.blocks(),
            "sections": sections,
            "verdict": self.diagnosis.verdict,
            "sentence": sentence(&self.diagnosis, Lang::En),
            "findings": self.diagnosis.findings,
            "explained": self.diagnosis.explained,
            "silent": self.diagnosis.silent,
            "notes": notes,
            "problems": self.extra.problems,
            "signals": self.signals,
        })
    }

    fn of_section(&self, section: SectionName) -> impl Iterator<Item = &Finding> {
        let findings = self.diagnosis.findings.iter();
        findings.filter(move |finding| SectionName::of(finding.code) == section)
    }

    fn problems(&self, section: SectionName) -> impl Iterator<Item = &Problem> {
        let problems = self.extra.problems.iter();
        problems.filter(move |problem| problem.section == section)
    }

    fn state(&self, section: SectionName) -> State {
        // The verdict is as bad as the worst of what leads to it.
        let is_verdict = section == SectionName::Verdict;
        let blocks_all = is_verdict && !self.extra.problems.is_empty();
        if blocks_all || self.problems(section).count() > 0 {
            return State::Problem;
        }
        let findings: Vec<&Finding> = match section {
            // The verdict is as bad as the worst of what leads to it.
            SectionName::Verdict => self.diagnosis.findings.iter().collect(),
            _ => self.of_section(section).collect(),
        };
        let worst = findings.iter().map(|finding| finding.severity).max();
        match worst {
            Some(Severity::Blocking | Severity::Problem) => State::Problem,
            Some(Severity::Warning) => State::Warning,
            Some(Severity::Tip) | None => match lines::is_known(self, section) {
                true => State::Ok,
                false => State::Unknown,
            },
        }
    }
}
