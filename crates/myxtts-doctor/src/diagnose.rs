//! All rules over one set of signals.

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::finding::{Finding, Gain, Severity, SilentRule};
use crate::rules;
use crate::signal::Silent;
use crate::signals::Signals;
use crate::units::Seconds;
use crate::verdict::{HIGH_COST, MODERATE_COST, Verdict};

/// Everything that the rules found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Whether the model waits for data.
    pub verdict: Verdict,
    /// The findings, ranked by what their fix gives back.
    pub findings: Vec<Finding>,
    /// Findings that another one is the cause of, and that cause.
    #[serde(default)]
    pub explained: Vec<Explained>,
    /// Rules that could not look, and why.
    pub silent: Vec<SilentRule>,
}

/// A finding that is a consequence of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// The code of the consequence.
    pub code: Code,
    /// The code of its cause.
    pub by: Code,
}

impl Diagnosis {
    /// Returns whether something keeps training from running.
    pub fn blocks(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Blocking)
    }
}

/// Causes and what follows from them. A finding whose cause was found is
/// left out of the list: fixing it by itself would be work for nothing.
const CONSEQUENCES: &[(Code, &[Code])] = &[
    (
        Code::SlowStorage,
        &[
            Code::DataLoading,
            Code::LowWorkers,
            Code::SlowDecode,
            Code::Oscillation,
        ],
    ),
    (
        Code::SlowDecode,
        &[Code::DataLoading, Code::LowWorkers, Code::Oscillation],
    ),
    (Code::LowWorkers, &[Code::DataLoading, Code::Oscillation]),
    (
        Code::TooManyWorkers,
        &[
            Code::DataLoading,
            Code::LaunchBound,
            Code::UnderutilizedGpu,
            Code::Oscillation,
        ],
    ),
    (Code::DataLoading, &[Code::Oscillation]),
    (Code::GpuTransfer, &[Code::DevicePrep, Code::Oscillation]),
    (Code::DevicePrep, &[Code::CacheOff, Code::Oscillation]),
    (
        Code::Recompiling,
        &[
            Code::StaticShapesOff,
            Code::Oscillation,
            Code::LaunchBound,
            Code::UnderutilizedGpu,
        ],
    ),
    (
        Code::FusionOff,
        &[Code::LaunchBound, Code::UnderutilizedGpu],
    ),
    (Code::SyncPoints, &[Code::UnderutilizedGpu]),
    (Code::LaunchBound, &[Code::UnderutilizedGpu]),
    (
        Code::BatchTooSmall,
        &[Code::UnderutilizedGpu, Code::MemoryHeadroom],
    ),
    // Averaging makes a fast replica wait for the slow one.
    (Code::RankSkew, &[Code::Collective, Code::UnderutilizedGpu]),
    // A device rests during a pause.
    (Code::Pauses, &[Code::Oscillation, Code::UnderutilizedGpu]),
];

/// Asks all rules, leaves out what another finding explains, and ranks the rest.
pub fn diagnose(signals: &Signals) -> Diagnosis {
    let (mut findings, mut silent) = (Vec::new(), Vec::new());
    for rule in rules::ALL {
        match (rule.look)(signals) {
            Ok(Some(finding)) => findings.push(finding),
            Ok(None) => {}
            Err(Silent(reason)) => silent.push(SilentRule {
                code: rule.code,
                reason,
            }),
        }
    }
    let explained = explained(&findings);
    findings.retain(|finding| explained.iter().all(|known| known.code != finding.code));
    let step = signals.steps.step.known().copied().unwrap_or(Seconds(0.0));
    findings.sort_by(|left, right| {
        let key = |finding: &Finding| weight(finding, step);
        key(right).total_cmp(&key(left))
    });
    Diagnosis {
        verdict: Verdict::of(signals),
        findings,
        explained,
        silent,
    }
}

fn explained(findings: &[Finding]) -> Vec<Explained> {
    let found = |code: Code| findings.iter().any(|finding| finding.code == code);
    let mut explained: Vec<Explained> = Vec::new();
    for (by, consequences) in CONSEQUENCES {
        // A consequence that is itself explained still explains: the chain
        // leads to the same cause.
        if !found(*by) {
            continue;
        }
        for code in *consequences {
            if found(*code) && explained.iter().all(|known| known.code != *code) {
                explained.push(Explained {
                    code: *code,
                    by: *by,
                });
            }
        }
    }
    explained
}

/// Returns the weight that findings are ranked by: what stops the training first,
/// then seconds per 1,000 steps. A bound counts half, since it is the best case.
/// Where no figure is known, a problem counts as the least cost that is called
/// high, a warning as the least that is called moderate, and a tip as nothing.
fn weight(finding: &Finding, step: Seconds) -> f64 {
    if finding.severity == Severity::Blocking {
        return f64::INFINITY;
    }
    let cost = |share: f64| share * step.0 * 1000.0;
    match (finding.gain, finding.severity) {
        (Gain::Estimate(seconds), _) => seconds.0,
        (Gain::AtMost(seconds), _) => seconds.0 / 2.0,
        (Gain::Unknown, Severity::Tip) => 0.0,
        (Gain::Unknown, Severity::Warning) => cost(MODERATE_COST.0),
        (Gain::Unknown, _) => cost(HIGH_COST.0),
    }
}
