//! The rules, one a file: a pure function from signals to a finding, the model
//! of what its fix gives back, and what it says in each language.

mod data_loading;

use crate::code::Code;
use crate::finding::Finding;
use crate::model::{FeedStage, StepModel};
use crate::signal::Silent;
use crate::signals::Signals;
use crate::verdict::MODERATELY;
use crate::words::Bilingual;

/// What a rule says: a finding, nothing, or why it could not look.
pub type Look = Result<Option<Finding>, Silent>;

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its code.
    pub code: Code,
    /// The rule itself.
    pub look: fn(&Signals) -> Look,
    /// Its words.
    pub texts: Bilingual,
}

/// All of them, in the order of their table.
pub const ALL: &[Rule] = &[data_loading::RULE];

/// The rule of a code.
pub fn rule(code: Code) -> Option<&'static Rule> {
    ALL.iter().find(|rule| rule.code == code)
}

/// The model of a step, if it waits for the host stage more than moderately.
fn waits_for_host(signals: &Signals) -> Result<Option<StepModel>, Silent> {
    let model = StepModel::of(signals)?;
    if model.waiting() < MODERATELY {
        return Ok(None);
    }
    signals.pipeline.host.need()?;
    let slowest = model.feed.slowest().map(|(stage, _)| stage);
    Ok((slowest == Some(FeedStage::Host)).then_some(model))
}
