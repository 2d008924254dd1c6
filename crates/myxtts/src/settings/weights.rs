//! What a training that starts from weights takes from them.
//!
//! Fine-tuning keeps what the weights were trained with: their sizes, their audio settings, the
//! length of their conditioning segments, and whether they have the quirks of the public
//! implementation. The size determines the default learning rate and epochs. A person may choose
//! another rate, other epochs and another treatment of the new recordings (trimming, level),
//! which is then recorded with the new model; what contradicts the weights is refused.

use std::path::Path;

use myxtts_config::{Layer, Origin, Problem, Problems, Settings};
use myxtts_infer::WeightsSummary;
use myxtts_model::ModelSize;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks};
use serde_json::{Value, json};

use super::{Config, Init};

/// Keys that a person may set as well, because the new model records them.
const FREE: [&str; 2] = ["data.trim_silence", "data.normalize"];

/// The weights of `training.init`.
pub(super) struct StartingWeights {
    folder: String,
    summary: WeightsSummary,
}

impl StartingWeights {
    /// Reads the description of the weights that a configuration names.
    pub(super) fn of(chosen: &Settings<Config>, needed: Init) -> Result<Option<Self>, Problems> {
        let Some(folder) = &chosen.config.training.run.init else {
            return Ok(None);
        };
        if needed == Init::IfThere && !Path::new(folder).exists() {
            return Ok(None);
        }
        // A run can resume without the weights it once started from: its own checkpoint says
        // what they were.
        let run = chosen.config.training.run.folder();
        if !Path::new(folder).exists()
            && let Ok(summary) = WeightsSummary::of(&run)
        {
            let folder = run.display().to_string();
            return Ok(Some(Self { folder, summary }));
        }
        match WeightsSummary::of(Path::new(folder)) {
            Ok(summary) => Ok(Some(Self {
                folder: folder.clone(),
                summary,
            })),
            Err(why) => {
                let place = chosen.place("training.init");
                Err(Problems::from(Problem::of(&why, place)))
            }
        }
    }

    /// Returns the actual sizes, whether they have a name or not.
    pub(super) fn sizes(&self) -> (Option<&GptConfig>, &DvaeConfig) {
        let gpt = self.summary.gpt.as_ref().map(|gpt| &gpt.sizes);
        (gpt, &self.summary.dvae)
    }

    /// Returns the named size, or the nearest one.
    pub(super) fn size(&self) -> ModelSize {
        self.summary.size
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        let WeightsSummary {
            gpt,
            dvae: _,
            size,
            audio,
        } = &self.summary;
        let mut values = vec![
            ("model.size", json!(size)),
            ("data.sample_rate", json!(audio.sample_rate)),
            ("data.trim_silence", json!(audio.trim_silence)),
            ("data.normalize", json!(audio.normalize)),
        ];
        if let Some(gpt) = gpt {
            let [min, max] = [gpt.conditioning.min, gpt.conditioning.max]
                .map(|length| length.at(audio.sample_rate).0);
            values.extend([
                ("model.quirks", json!(gpt.quirks)),
                ("data.conditioning_min", json!(min)),
                ("data.conditioning_max", json!(max)),
            ]);
            if gpt.quirks == Quirks::Compat {
                values.extend([
                    ("data.conditioning_from", json!("clip")),
                    ("data.clip_beginnings", json!(1)),
                ]);
            }
        }
        values
    }

    /// Returns the values as a layer over the presets.
    pub(super) fn layer(&self) -> Layer {
        Layer::from_one(&Origin::Weights(self.folder.clone()), self.values())
    }

    /// Refuses what a person chose and the weights contradict.
    pub(super) fn check(&self, settings: &Settings<Config>) -> Result<(), Problems> {
        let contradicts = |key: &str, value: &Value| match key {
            // For a GPT with none of the named sizes, the size only picks start values; a DVAE
            // alone fixes only the sizes that share it.
            "model.size" => {
                let asked = settings.config.model.size;
                match self.summary.gpt {
                    Some(_) => self.summary.is_named_size() && asked != self.summary.size,
                    None => asked.dvae() != self.summary.size.dvae(),
                }
            }
            key => settings
                .layer()
                .get(key)
                .is_some_and(|setting| setting.value != *value),
        };
        let mut problems = vec![];
        for (key, value) in self.values() {
            if FREE.contains(&key) || !settings.is_chosen(key) || !contradicts(key, &value) {
                continue;
            }
            let asked = settings.layer().get(key).map(|setting| &setting.value);
            problems.push(Problem {
                what: format!(
                    "`{key}` is {}, and the weights of `training.init` ({}) have {}",
                    shown(asked.unwrap_or(&Value::Null)),
                    self.folder,
                    shown(&value)
                ),
                place: settings.place(key),
                fix: Some(format!(
                    "leave `{key}` out: it comes from the weights; or leave `training.init` out to \
                     train from scratch"
                )),
            });
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Problems(problems)),
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
