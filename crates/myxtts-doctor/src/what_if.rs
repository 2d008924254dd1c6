//! What a change of one key would give back, by the same models as the rules.

use crate::finding::Gain;
use crate::model::StepModel;
use crate::rules::predict;
use crate::signal::Silent;
use crate::signals::{CacheKind, Signals, TrainStage};
use crate::units::Seconds;

/// Why a change cannot be predicted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPrediction {
    /// There is no model of this key.
    #[error("there is no model of what {0} changes; only a measurement can tell")]
    NoModel(String),
    /// The value is not one that the key takes.
    #[error("{key} does not take {value}")]
    Value {
        /// The key that was named.
        key: String,
        /// The value that was given.
        value: String,
    },
    /// Something that the model needs was not measured.
    #[error("it cannot be predicted: {0}")]
    Unavailable(String),
}

impl From<Silent> for NoPrediction {
    fn from(silent: Silent) -> Self {
        Self::Unavailable(silent.0)
    }
}

/// Returns the gain of setting `key` to `value`, in seconds per 1,000 steps' worth of
/// data; negative where it would cost time.
///
/// # Errors
/// If there is no model of the key, or what it needs is not known.
pub fn what_if(signals: &Signals, key: &str, value: &str) -> Result<Gain, NoPrediction> {
    let model = StepModel::of(signals)?;
    let change = Change { key, value };
    let saved = match key {
        "data.num_workers" => {
            signals.pipeline.host.need()?;
            predict::workers(&model, signals, change.number()?)
        }
        "data.buckets" => buckets(&model, signals, change)?,
        "data.cache" => cache(&model, signals, change)?,
        "training.validate_every" | "training.checkpoint_every" | "training.sample_every" => {
            pauses(signals, change)?
        }
        "training.gradient_accumulation_steps" => {
            let old = *signals.settings.accumulation.need()?;
            predict::averages(*signals.steps.collective.need()?, old, change.number()?)
        }
        other => return Err(NoPrediction::NoModel(other.to_owned())),
    };
    Ok(Gain::Estimate(Seconds(saved.0 * 1000.0)))
}

/// A key, and the value that it would be set to.
#[derive(Clone, Copy)]
struct Change<'a> {
    key: &'a str,
    value: &'a str,
}

impl Change<'_> {
    /// Returns the value as a number above 0.
    fn number(self) -> Result<u32, NoPrediction> {
        self.value
            .parse::<u32>()
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| NoPrediction::Value {
                key: self.key.to_owned(),
                value: self.value.to_owned(),
            })
    }
}

/// Returns what another number of buckets saves per step: padding.
fn buckets(
    model: &StepModel,
    signals: &Signals,
    change: Change<'_>,
) -> Result<Seconds, NoPrediction> {
    let choices = signals.dataset.buckets.need()?;
    let asked = change.number()?;
    let choice = choices.iter().find(|choice| choice.buckets == asked);
    let after = choice.map(|choice| choice.padding).ok_or_else(|| {
        NoPrediction::Unavailable(format!("the padding of {asked} buckets was not computed"))
    })?;
    Ok(predict::padding(
        model,
        *signals.steps.padding.need()?,
        after,
    ))
}

/// Returns what another cache saves per step: codes that are made anew.
fn cache(
    model: &StepModel,
    signals: &Signals,
    Change { key, value }: Change<'_>,
) -> Result<Seconds, NoPrediction> {
    let settings = &signals.settings;
    let uses_codes = settings.stage.known() != Some(&TrainStage::Dvae);
    match (settings.cache.need()?, value) {
        (CacheKind::None, "disk" | "memory") if uses_codes => {
            let device = signals.pipeline.device.need()?;
            Ok(predict::codes(
                model,
                signals.pipeline.upload.known().copied(),
                device.threads,
            ))
        }
        (CacheKind::Disk | CacheKind::Memory, "disk" | "memory") => Ok(Seconds(0.0)),
        (CacheKind::None, "disk" | "memory" | "none") => Ok(Seconds(0.0)),
        _ => Err(NoPrediction::NoModel(format!("{key}={value}"))),
    }
}

/// Returns what rarer or more frequent pauses of one kind save per step.
fn pauses(signals: &Signals, change: Change<'_>) -> Result<Seconds, NoPrediction> {
    let Change { key, .. } = change;
    let pauses = signals.steps.pauses.need()?;
    let pause = match key {
        "training.validate_every" => pauses.validation,
        "training.checkpoint_every" => pauses.checkpoint,
        _ => pauses.samples,
    };
    let old = signals.settings.number(key).filter(|old| *old > 0);
    let old = old.ok_or_else(|| {
        NoPrediction::Unavailable(format!("the value of {key} in force is not known"))
    })?;
    Ok(predict::pause(pause, old, u64::from(change.number()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::diagnose;
    use crate::rules::testing::{evaluation_pauses, long_dvae, padded, too_few_workers};

    /// The prediction of a rule's own edit is the rule's gain.
    #[test]
    fn as_the_rules_say() {
        let mut uncached = long_dvae();
        uncached.settings.cache = CacheKind::None.into();
        for signals in [too_few_workers(), padded(), evaluation_pauses(), uncached] {
            let finding = &diagnose(&signals).findings[0];
            let edit = &finding.edits[0];
            let gain = what_if(&signals, &edit.key, &edit.new).unwrap();
            assert_eq!(gain, finding.gain, "{}", edit.key);
        }
    }

    #[test]
    fn fewer_workers_cost_time() {
        let mut signals = too_few_workers();
        let gain = what_if(&signals, "data.num_workers", "2").unwrap();
        // From 0.3 s to 0.15 s a step.
        assert!((gain.seconds().unwrap().0 - 150.0).abs() < 1e-6);
        let mut host = *signals.pipeline.host.known().unwrap();
        host.threads = 3;
        signals.pipeline.host = host.into();
        signals.steps.step = Seconds(0.1).into();
        signals.steps.data_wait = Seconds(0.0).into();
        let gain = what_if(&signals, "data.num_workers", "1").unwrap();
        assert!((gain.seconds().unwrap().0 + 200.0).abs() < 1e-6, "{gain:?}");
    }

    #[test]
    fn what_has_no_model_says_so() {
        let signals = too_few_workers();
        let error = what_if(&signals, "training.seed", "1").unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no model of what training.seed changes; only a measurement can tell"
        );
        let error = what_if(&signals, "data.num_workers", "many").unwrap_err();
        assert_eq!(error.to_string(), "data.num_workers does not take many");
    }
}
