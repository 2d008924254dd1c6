//! How texts are spoken: the model's defaults, the flags, and the fields of a line in a file.

use clap::ArgMatches;
use myxtts_base::report;
use myxtts_infer::{ModelCard, SamplingDefaults, SpeakOptions, Synthesizer, Vocoder};
use myxtts_model::generate::{Choice, SamplingConfig};
use myxtts_text::Language;
use serde::Serialize;

use crate::output::Failure;

/// The options that somebody chose; the others are the model's.
#[derive(Clone, Debug, Default)]
pub(in crate::commands) struct Chosen {
    pub(in crate::commands) language: Option<Language>,
    pub(in crate::commands) vocoder: Option<Vocoder>,
    pub(super) speed: Option<f64>,
    pub(super) seed: Option<u64>,
    pub(super) greedy: bool,
    pub(super) beams: Option<usize>,
    pub(super) length_penalty: Option<f32>,
    pub(super) temperature: Option<f32>,
    pub(super) top_k: Option<u32>,
    pub(super) top_p: Option<f32>,
    pub(super) repetition_penalty: Option<f32>,
}

/// The vocoder, and why it was chosen.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ChosenVocoder {
    pub(super) name: Vocoder,
    pub(super) why: &'static str,
}

impl Chosen {
    pub(in crate::commands) fn of(matches: &ArgMatches) -> Self {
        let number = |name: &str| matches.get_one::<f32>(name).copied();
        Self {
            language: matches.get_one("language").cloned(),
            vocoder: matches.get_one("vocoder").copied(),
            speed: matches.get_one("speed").copied(),
            seed: matches.get_one("seed").copied(),
            greedy: matches.get_flag("greedy"),
            beams: matches.get_one("beams").copied(),
            length_penalty: number("length-penalty"),
            temperature: number("temperature"),
            top_k: matches.get_one("top-k").copied(),
            top_p: number("top-p"),
            repetition_penalty: number("repetition-penalty"),
        }
    }

    /// Returns these options, and those of `other` where these have none. Options that sample at
    /// random are not held to a greedy choice or a beam search of `other`.
    pub(super) fn or_else(&self, other: &Self) -> Self {
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

    pub(in crate::commands) fn options(
        &self,
        synthesizer: &Synthesizer,
    ) -> Result<SpeakOptions, Failure> {
        let card = synthesizer.card();
        Ok(SpeakOptions {
            language: self.language(&card.languages)?,
            sampling: self.sampling(card),
            vocoder: synthesizer.vocoder(self.vocoder).map_err(Failure::usage)?,
            speed: self.speed.unwrap_or(1.0),
            stream: false,
        })
    }

    /// Returns the vocoder that speaks, with the reason.
    pub(super) fn vocoder(&self, used: Vocoder) -> ChosenVocoder {
        let why = match (self.vocoder, used) {
            (Some(_), _) => "as asked",
            (None, Vocoder::Hifigan) => "the model's own decoder",
            (None, Vocoder::GriffinLim) => {
                "the model has no decoder of its own; `myxtts train --stage decoder --init DIR` trains one"
            }
        };
        ChosenVocoder { name: used, why }
    }

    fn language(&self, spoken: &[String]) -> Result<Language, Failure> {
        match (&self.language, spoken) {
            (Some(language), _) => Ok(language.clone()),
            (None, [only]) => only.parse().map_err(Failure::usage),
            (None, []) => Err(Failure::Usage(report!(
                "which language? the model does not say which it speaks";
                fix: "name that of the text, for example --language fa"
            ))),
            (None, [first, ..]) => Err(Failure::Usage(report!(
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
pub(super) fn seed(sampling: &SamplingConfig) -> Option<u64> {
    match sampling.choice {
        Choice::Greedy => None,
        Choice::Sample { seed } => Some(seed),
    }
}
