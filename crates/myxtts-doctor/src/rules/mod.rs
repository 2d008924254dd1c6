//! The rules, one per file: a pure function from signals to a finding, the model
//! of what its fix gives back, and what it says in each language.

mod backend_unavailable;
mod batch_too_small;
mod cache_off;
mod collective;
mod data_loading;
mod data_quality;
mod device_prep;
#[cfg(test)]
mod faults;
mod fusion_off;
mod gpu_transfer;
mod launch_bound;
mod low_gpu_memory;
mod low_workers;
mod memory_edge;
mod memory_headroom;
mod mixed_precision_off;
mod no_gpus_detected;
mod oscillation;
mod padding;
mod pauses;
mod pcie_link;
mod rank_skew;
mod recompiling;
mod slow_decode;
mod slow_storage;
mod split_not_worth_it;
mod static_shapes_off;
mod sync_points;
#[cfg(test)]
pub(crate) mod testing;
mod throttling;
mod too_many_workers;
mod underutilized_gpu;

use crate::code::Code;
use crate::finding::{Fact, Finding, Gain, Severity};
use crate::model::{Feed, FeedStage, StepModel};
use crate::signal::{Signal, Silent};
use crate::signals::Signals;
use crate::texts::Bilingual;
use crate::units::{Seconds, Share};
use crate::verdict::{HIGHLY, MODERATELY};

/// What a rule says: a finding, nothing, or why it could not look.
pub type Look = Result<Option<Finding>, Silent>;

/// A rule of the doctor.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The code of its findings.
    pub code: Code,
    /// The function that looks at the signals.
    pub look: fn(&Signals) -> Look,
    /// Its texts in both languages.
    pub texts: Bilingual,
}

/// All rules, in the order of their table.
pub const ALL: &[Rule] = &[
    data_loading::RULE,
    slow_storage::RULE,
    slow_decode::RULE,
    device_prep::RULE,
    gpu_transfer::RULE,
    oscillation::RULE,
    underutilized_gpu::RULE,
    launch_bound::RULE,
    padding::RULE,
    recompiling::RULE,
    sync_points::RULE,
    pauses::RULE,
    batch_too_small::RULE,
    memory_headroom::RULE,
    memory_edge::RULE,
    too_many_workers::RULE,
    low_workers::RULE,
    throttling::RULE,
    pcie_link::RULE,
    rank_skew::RULE,
    collective::RULE,
    mixed_precision_off::RULE,
    fusion_off::RULE,
    static_shapes_off::RULE,
    cache_off::RULE,
    split_not_worth_it::RULE,
    no_gpus_detected::RULE,
    backend_unavailable::RULE,
    low_gpu_memory::RULE,
    data_quality::RULE,
];

/// Returns the rule of a code.
pub(crate) fn rule(code: Code) -> Option<&'static Rule> {
    ALL.iter().find(|rule| rule.code == code)
}

/// Returns the model of a step, if it waits at least moderately, and for the host stage.
fn waits_for_host(signals: &Signals) -> Result<Option<StepModel>, Silent> {
    let model = StepModel::of(signals)?;
    if model.waiting() < MODERATELY {
        return Ok(None);
    }
    signals.pipeline.host.need()?;
    let slowest = model.feed.slowest().map(|(stage, _)| stage);
    Ok((slowest == Some(FeedStage::Host)).then_some(model))
}

/// Returns how bad it is that the model waits for data.
fn of_waiting(model: &StepModel) -> Severity {
    match model.waiting() >= HIGHLY {
        true => Severity::Problem,
        false => Severity::Warning,
    }
}

/// Finds that one part of the host stage's work is more than half of it, and that
/// the model waits for the stage. Without the part, what is left of the work is
/// spread over its threads.
fn most_of_host(signals: &Signals, code: Code, name: &str, part: &Signal<Seconds>) -> Look {
    let Some(model) = waits_for_host(signals)? else {
        return Ok(None);
    };
    let host = *signals.pipeline.host.need()?;
    let part = *part.need()?;
    let share = Share::of(part, host.busy);
    if share.0 <= 0.5 {
        return Ok(None);
    }
    let threads = f64::from(host.threads.max(1));
    let facts = vec![
        Fact::share("share", share),
        Fact::seconds(name, Seconds(part.0 / threads)),
        Fact::count("threads", host.threads),
        Fact::share("waiting", model.waiting()),
    ];
    let rest = Seconds(((host.busy.0 - part.0) / threads).max(0.0));
    let feed = Feed {
        host: Some(rest),
        ..model.feed
    };
    let gain = Gain::per_step(model.saved(feed, model.own()));
    let finding = Finding::new(code, of_waiting(&model), "run", facts);
    Ok(Some(finding.gaining(gain)))
}

/// The models of the rules' gains: seconds saved in a step.
pub(crate) mod predict {
    pub(crate) use super::collective::saved as averages;
    pub(crate) use super::device_prep::saved as codes;
    pub(crate) use super::low_workers::saved as workers;
    pub(crate) use super::padding::saved as padding;
    pub(crate) use super::pauses::saved as pause;
}

/// Returns what waiting for the device more than once a step costs, per step.
pub(crate) fn lost_by_waiting(signals: &Signals, syncs: f64, read_back: Seconds) -> Seconds {
    sync_points::saved(signals, syncs, read_back)
}
