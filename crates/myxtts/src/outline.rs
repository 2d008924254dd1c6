//! An outline of a training before it does anything: its stages, its learning rate and epochs,
//! and what it takes from the weights it starts from.

use std::fmt;

use myxtts_base::report;
use myxtts_config::{Origin, Settings};
use myxtts_train::config::StageName;
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::settings::Config;

/// The stages and values of a training, each value with its origin.
#[derive(Clone, Debug, Serialize)]
pub struct Outline {
    /// The parts that are trained, in order.
    pub stages: Vec<StageName>,
    /// Why these stages were chosen, and what is left out.
    note: Option<&'static str>,
    values: Vec<Told>,
}

/// A value of the configuration, with its origin.
#[derive(Clone, Debug, Serialize)]
struct Told {
    key: &'static str,
    value: Value,
    origin: String,
}

/// Keys that every plan shows.
const ALWAYS: [&str; 2] = ["training.learning_rate", "training.epochs"];
/// Keys that a plan shows if weights decide them.
const OF_WEIGHTS: [&str; 9] = [
    "model.size",
    "model.quirks",
    "data.sample_rate",
    "data.trim_silence",
    "data.normalize",
    "data.conditioning_min",
    "data.conditioning_max",
    "data.conditioning_from",
    "data.clip_beginnings",
];

const HEARD: &str = "the waveform decoder is left out, and speech goes through Griffin-Lim; --stage \
                     all trains it too";
const TUNED: &str = "fine-tuning keeps the DVAE whose codes the GPT knows, and the waveform decoder as \
                     it is; --stage gpt,decoder trains it too";

impl Outline {
    /// Outlines the training that a configuration asks for.
    ///
    /// # Errors
    /// When its stages do not belong together.
    pub fn of(settings: &Settings<Config>) -> Result<Self, Error> {
        let run = &settings.config.training.run;
        let is_chosen = settings.is_chosen("training.stage");
        let stages = run.stage.names(is_chosen, run.init.is_some());
        let has = |stage: StageName| stages.contains(&stage);
        if has(StageName::Dvae) && has(StageName::Decoder) && !has(StageName::Gpt) {
            return Err(Error::Refused(report!(
                "--stage dvae,decoder leaves out the GPT between them";
                why: "the decoder learns from a GPT that speaks the codes of this DVAE";
                fix: "--stage all, or one of the two alone"
            )));
        }
        let note = match (is_chosen, has(StageName::Decoder), run.init.is_some()) {
            (false, false, true) => Some(TUNED),
            (false, false, false) => Some(HEARD),
            (true, _, _) | (_, true, _) => None,
        };
        let layer = settings.layer();
        let told = |key: &'static str| {
            let setting = layer.get(key)?;
            Some(Told {
                key,
                value: setting.value.clone(),
                origin: setting.origin.to_string(),
            })
        };
        let of_weights = OF_WEIGHTS.into_iter().filter(|key| {
            let origin = layer.get(key).map(|setting| &setting.origin);
            matches!(origin, Some(Origin::Weights(_)))
        });
        let values = ALWAYS.into_iter().chain(of_weights);
        Ok(Self {
            values: values.filter_map(told).collect(),
            stages,
            note,
        })
    }
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.stages.iter().map(|stage| stage.title()).collect();
        write!(f, "Stages: {}", names.join(", then "))?;
        if let Some(note) = self.note {
            write!(f, " ({note})")?;
        }
        writeln!(f)?;
        for Told { key, value, origin } in &self.values {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            writeln!(f, "  {key}: {value} ({origin})")?;
        }
        Ok(())
    }
}
