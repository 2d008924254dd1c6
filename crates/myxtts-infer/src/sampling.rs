//! How a model samples its codes unless told otherwise.

use std::ops::RangeInclusive;

use myxtts_model::generate::{Choice, Guards, SamplingConfig};
use myxtts_model::gpt::Quirks;
use myxtts_weights::XttsConfig;
use serde::{Deserialize, Serialize};

use crate::check::CardFault;

/// The sampling settings a model speaks best with, stored in its card.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingDefaults {
    /// The softmax temperature: speech is steadier below 1 and livelier above.
    pub temperature: f32,
    /// The penalty on codes that were already drawn; 1 is no penalty.
    pub repetition_penalty: f32,
    /// The number of likeliest codes to draw from; 0 draws from all.
    pub top_k: u32,
    /// The probability mass to draw from; 1 draws from all.
    pub top_p: f32,
}

impl SamplingDefaults {
    /// The temperatures that are accepted.
    pub const TEMPERATURES: RangeInclusive<f32> = 0.01..=10.0;
    /// The repetition penalties that are accepted.
    pub const PENALTIES: RangeInclusive<f32> = 1.0..=100.0;
    /// The values of `top_p` that are accepted.
    pub const SHARES: RangeInclusive<f32> = 0.01..=1.0;

    /// The settings in the `config.json` of the released XTTS-v2.
    pub const RELEASED: Self = Self {
        temperature: 0.75,
        repetition_penalty: 5.0,
        top_k: 50,
        top_p: 0.85,
    };

    /// The settings of a model that was trained here from scratch. Such a model has heard
    /// minutes or hours, and repeats codes where the sound stays the same; a penalty drives it
    /// off the right ones (6 of 24 sentences understandable at 10, 22 of 24 at 1).
    pub const TRAINED_HERE: Self = Self {
        repetition_penalty: 1.0,
        ..Self::RELEASED
    };

    /// Returns the settings of public files.
    #[expect(clippy::cast_possible_truncation, reason = "a few digits")]
    pub(crate) fn of(config: &XttsConfig) -> Self {
        Self {
            temperature: config.temperature as f32,
            repetition_penalty: config.repetition_penalty as f32,
            top_k: config.top_k,
            top_p: config.top_p as f32,
        }
    }

    /// Writes the settings into the configuration of public files.
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

    /// Returns a configuration that draws codes with this seed.
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

    /// Returns a configuration that takes the likeliest code each time.
    pub fn greedy(quirks: Quirks) -> SamplingConfig {
        SamplingConfig {
            quirks,
            guards: guards(quirks),
            ..SamplingConfig::greedy()
        }
    }
}

/// Returns the guards against endless speech. Public weights speak as they do elsewhere, where
/// only STOP and the last position end a piece; a model trained here on little data is watched.
fn guards(quirks: Quirks) -> Guards {
    match quirks {
        Quirks::Compat => Guards::default(),
        Quirks::Fixed => Guards::WATCHFUL,
    }
}
