//! Keys of `model`, and the start values that depend on its size.

use myxtts_config::Layer;
use myxtts_model::ModelSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::run::Part;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ModelConfig {
    /// Size of the model. Never changed silently.
    pub(crate) size: ModelSize,
    /// Whether the accidents of the public implementation are repeated, number
    /// for number.
    pub(crate) quirks: Quirks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Quirks {
    Fixed,
    Compat,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            size: ModelSize::Tiny,
            quirks: Quirks::Fixed,
        }
    }
}

impl Quirks {
    /// The public implementation cuts the voice of a clip from the clip itself, and
    /// begins every clip at its beginning.
    pub(crate) fn layer(self) -> Layer {
        match self {
            Self::Fixed => Layer::default(),
            Self::Compat => Layer::preset(
                "compat",
                [
                    ("data.conditioning_from", json!("clip")),
                    ("data.clip_beginnings", json!(1)),
                ],
            ),
        }
    }
}

/// The larger the model, the smaller the step it bears; the last one is the
/// public model's own fine-tuning rate.
pub(crate) fn learning_rate(size: ModelSize) -> f64 {
    match size {
        ModelSize::Tiny => 2e-3,
        ModelSize::Small => 5e-4,
        ModelSize::Normal => 2e-4,
        ModelSize::Big => 1e-4,
        ModelSize::XttsV2 => 5e-6,
    }
}

/// Passes of the GPT, of the DVAE and of the decoder. The smallest is sized for
/// minutes on two CPU cores and the sample corpus.
fn epochs(size: ModelSize) -> (u32, u32, u32) {
    match size {
        ModelSize::Tiny => (48, 20, 40),
        _ => (100, 50, 200),
    }
}

/// Steps that a stage takes at least where nobody chose its epochs, with the
/// key of these: the epochs of few recordings are short. As many as the sample
/// corpus takes.
pub(crate) fn least_steps(size: ModelSize) -> Vec<(&'static str, Part, u64)> {
    match size {
        ModelSize::Tiny => vec![
            ("training.dvae_epochs", Part::Dvae, 760),
            ("training.epochs", Part::Gpt, 1600),
        ],
        _ => vec![],
    }
}

pub(crate) fn layer(size: ModelSize) -> Layer {
    let (epochs, dvae_epochs, decoder_epochs) = epochs(size);
    let mut values = vec![
        ("training.learning_rate", json!(learning_rate(size))),
        ("training.epochs", json!(epochs)),
        ("training.dvae_epochs", json!(dvae_epochs)),
        ("training.decoder_epochs", json!(decoder_epochs)),
    ];
    if matches!(size, ModelSize::Tiny | ModelSize::Small) {
        // Sizes for few recordings, which a voice cut from the clip itself
        // would help to learn by heart, as would the same codes in each epoch.
        values.extend([
            ("data.conditioning_from", json!("speaker")),
            ("data.clip_beginnings", json!(4)),
        ]);
    }
    if size == ModelSize::Tiny {
        // Short clips, and a run of a few hundred steps.
        values.extend([
            ("data.conditioning_min", json!(1.0)),
            ("data.conditioning_max", json!(1.0)),
            ("training.dvae_learning_rate", json!(2e-3)),
            ("training.decoder_learning_rate", json!(2e-3)),
            ("training.dropout", json!(0.15)),
            ("training.validate_every", json!(100)),
            ("training.sample_every", json!(0)),
            ("training.checkpoint_every", json!(100)),
        ]);
    }
    Layer::preset(size.name(), values)
}
