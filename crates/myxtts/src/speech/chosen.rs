//! How texts are spoken: the model's defaults, and what somebody chose instead.

use std::ops::RangeInclusive;

use myxtts_base::report;
use myxtts_infer::{ModelCard, SamplingDefaults, SpeakOptions, Synthesizer, Vocoder};
use myxtts_model::generate::{Choice, SamplingConfig};
use myxtts_text::Language;
use serde::Serialize;

use crate::error::Error;

/// The speeds that may be chosen.
pub const SPEEDS: RangeInclusive<f64> = 0.25..=4.0;
/// The numbers of beams that may be chosen; each beam costs as much as a text of its own.
pub const BEAMS: RangeInclusive<usize> = 2..=16;
/// The powers of the length that may be chosen.
pub const LENGTH_PENALTIES: RangeInclusive<f32> = -10.0..=10.0;

/// The options that somebody chose; the others are the model's.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// The language of the text.
    pub language: Option<Language>,
    /// What makes the waveform.
    pub vocoder: Option<Vocoder>,
    /// How fast to speak, within [`SPEEDS`].
    pub speed: Option<f64>,
    /// The seed of the random choice.
    pub seed: Option<u64>,
    /// Whether the likeliest code is taken each time.
    pub greedy: bool,
    /// The number of beams of a search for the likeliest speech, within [`BEAMS`].
    pub beams: Option<usize>,
    /// The power of the length that the search divides by, within [`LENGTH_PENALTIES`].
    pub length_penalty: Option<f32>,
    /// The temperature, within [`SamplingDefaults::TEMPERATURES`].
    pub temperature: Option<f32>,
    /// The number of likeliest codes to draw from; 0 draws from all.
    pub top_k: Option<u32>,
    /// The probability of the likeliest codes to draw from, within [`SamplingDefaults::SHARES`].
    pub top_p: Option<f32>,
    /// How much less likely codes become that were spoken already, within
    /// [`SamplingDefaults::PENALTIES`].
    pub repetition_penalty: Option<f32>,
}

/// The vocoder, and why it was chosen.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChosenVocoder {
    /// The vocoder.
    pub name: Vocoder,
    /// Why it was chosen.
    pub why: &'static str,
}

impl Chosen {
    /// Returns these options, and those of `other` where these have none. Options that sample at
    /// random are not held to a greedy choice or a beam search of `other`.
    pub(crate) fn or_else(&self, other: &Self) -> Self {
        let draws = self.seed.is_some()
            || self.temperature.is_some()
            || self.top_k.is_some()
            || self.top_p.is_some();
        Self {
            language: self.language.clone().or_else(|| other.language.clone()),
            vocoder: self.vocoder.or(other.vocoder),
            speed: self.speed.or(other.speed),
            seed: self.seed.or(other.seed),
            greedy: self.greedy || other.greedy && !draws,
            beams: self.beams.or(other.beams.filter(|_| !draws)),
            length_penalty: self.length_penalty.or(other.length_penalty),
            temperature: self.temperature.or(other.temperature),
            top_k: self.top_k.or(other.top_k),
            top_p: self.top_p.or(other.top_p),
            repetition_penalty: self.repetition_penalty.or(other.repetition_penalty),
        }
    }

    /// Returns these options, and the model's own where nothing was chosen.
    ///
    /// # Errors
    /// When the language is not clear, or the model does not have the vocoder.
    pub fn options(&self, synthesizer: &Synthesizer) -> Result<SpeakOptions, Error> {
        let card = synthesizer.card();
        Ok(SpeakOptions {
            language: self.language(&card.languages)?,
            sampling: self.sampling(card),
            vocoder: synthesizer.vocoder(self.vocoder).map_err(Error::refused)?,
            speed: self.speed.unwrap_or(1.0),
            stream: false,
        })
    }

    /// Returns the vocoder that speaks, with the reason.
    pub fn vocoder(&self, used: Vocoder) -> ChosenVocoder {
        let why = match (self.vocoder, used) {
            (Some(_), _) => "as asked",
            (None, Vocoder::Hifigan) => "the model's own decoder",
            (None, Vocoder::GriffinLim) => {
                "the model has no decoder of its own; `myxtts train --stage decoder --init DIR` trains one"
            }
        };
        ChosenVocoder { name: used, why }
    }

    fn language(&self, spoken: &[String]) -> Result<Language, Error> {
        match (&self.language, spoken) {
            (Some(language), _) => Ok(language.clone()),
            (None, [only]) => only.parse().map_err(Error::refused),
            (None, []) => Err(Error::Refused(report!(
                "which language? the model does not say which it speaks";
                fix: "name that of the text, for example --language fa"
            ))),
            (None, [first, ..]) => Err(Error::Refused(report!(
                "which language? the model speaks {}", spoken.join(", ");
                fix: "name that of the text, for example --language {first}"
            ))),
        }
    }

    /// Returns the model's own sampling, with what somebody chose instead.
    fn sampling(&self, card: &ModelCard) -> SamplingConfig {
        let usual = match self.greedy || self.beams.is_some() {
            true => SamplingDefaults::greedy(card.quirks),
            false => {
                let seed = self.seed.unwrap_or_default();
                card.sampling().with_seed(seed, card.quirks)
            }
        };
        let top_k = self.top_k.map(|k| usize::try_from(k).unwrap_or(usize::MAX));
        SamplingConfig {
            repetition_penalty: self.repetition_penalty.unwrap_or(usual.repetition_penalty),
            temperature: self.temperature.unwrap_or(usual.temperature),
            top_k: top_k.unwrap_or(usual.top_k),
            top_p: self.top_p.unwrap_or(usual.top_p),
            num_beams: self.beams.unwrap_or(usual.num_beams),
            length_penalty: self.length_penalty.unwrap_or(usual.length_penalty),
            ..usual
        }
    }
}

/// Returns the seed of the sampling; a greedy choice has none.
pub(crate) fn seed(sampling: &SamplingConfig) -> Option<u64> {
    match sampling.choice {
        Choice::Greedy => None,
        Choice::Sample { seed } => Some(seed),
    }
}
