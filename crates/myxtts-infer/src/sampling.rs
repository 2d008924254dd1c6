//! How a model draws its codes where nobody says otherwise.

use std::ops::RangeInclusive;

use myxtts_model::generate::{Choice, Guards, SamplingConfig};
use myxtts_model::gpt::Quirks;
use myxtts_weights::XttsConfig;
use serde::{Deserialize, Serialize};

use crate::check::CardFault;

/// How a model speaks best, stored in its card.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingDefaults {
    /// Below 1 steadier, above 1 livelier.
    pub temperature: f32,
    /// Makes codes that were drawn before less likely; 1 does not.
    pub repetition_penalty: f32,
    /// Codes to draw from; 0 draws from all.
    pub top_k: u32,
    /// Probability to draw from; 1 draws from all.
    pub top_p: f32,
}

impl SamplingDefaults {
    /// Temperatures that make sense.
    pub const TEMPERATURES: RangeInclusive<f32> = 0.01..=10.0;
    /// Penalties that make sense.
    pub const PENALTIES: RangeInclusive<f32> = 1.0..=100.0;
    /// Shares of probability that make sense.
    pub const SHARES: RangeInclusive<f32> = 0.01..=1.0;

    /// Of the released XTTS-v2: what its `config.json` says.
    pub const RELEASED: Self = Self {
        temperature: 0.75,
        repetition_penalty: 5.0,
        top_k: 50,
        top_p: 0.85,
    };

    /// Of a model that was trained here from nothing. It has heard minutes or
    /// hours, and its speech repeats codes where sound stays the same: a
    /// penalty drives it off the right ones (6 of 24 sentences understandable
    /// at 10, 22 of 24 at 1).
    pub const TRAINED_HERE: Self = Self {
        repetition_penalty: 1.0,
        ..Self::RELEASED
    };

    /// What public files say.
    #[expect(clippy::cast_possible_truncation, reason = "a few digits")]
    pub(crate) fn of(config: &XttsConfig) -> Self {
        Self {
            temperature: config.temperature as f32,
            repetition_penalty: config.repetition_penalty as f32,
            top_k: config.top_k,
            top_p: config.top_p as f32,
        }
    }

    /// Into public files.
    pub(crate) fn store(self, config: &mut XttsConfig) {
        // By way of text: 0.85 as f32 is 0.8500000238 as f64.
        let number = |value: f32| value.to_string().parse().unwrap_or(f64::from(value));
        config.temperature = number(self.temperature);
        config.repetition_penalty = number(self.repetition_penalty);
        config.top_k = self.top_k;
        config.top_p = number(self.top_p);
    }

    pub(crate) fn check(&self) -> Result<(), CardFault> {
        let fields = [
            ("temperature", self.temperature, Self::TEMPERATURES),
            (
                "repetition_penalty",
                self.repetition_penalty,
                Self::PENALTIES,
            ),
            ("top_p", self.top_p, Self::SHARES),
        ];
        for (name, value, range) in fields {
            if !range.contains(&value) {
                let needed = format!("{} to {} is needed", range.start(), range.end());
                return Err(CardFault::new(format!("sampling.{name}"), value, needed));
            }
        }
        Ok(())
    }

    /// Draws with this seed.
    pub fn with_seed(self, seed: u64, quirks: Quirks) -> SamplingConfig {
        SamplingConfig {
            choice: Choice::Sample { seed },
            repetition_penalty: self.repetition_penalty,
            temperature: self.temperature,
            top_k: usize::try_from(self.top_k).unwrap_or(usize::MAX),
            top_p: self.top_p,
            quirks,
            guards: guards(quirks),
            ..SamplingConfig::new(seed)
        }
    }

    /// Takes the likeliest code each time.
    pub fn greedy(quirks: Quirks) -> SamplingConfig {
        SamplingConfig {
            quirks,
            guards: guards(quirks),
            ..SamplingConfig::greedy()
        }
    }
}

/// Public weights speak as they do elsewhere, where nothing ends them but STOP
/// and the last position. A model trained here on little is watched.
fn guards(quirks: Quirks) -> Guards {
    match quirks {
        Quirks::Compat => Guards::default(),
        Quirks::Fixed => Guards::WATCHFUL,
    }
}
