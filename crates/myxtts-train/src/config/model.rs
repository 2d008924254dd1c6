//! Keys of `model`, and the start values that depend on its size.

use myxtts_config::Layer;
use myxtts_model::ModelSize;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks};
use myxtts_run::config_diff::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::resume::{MODEL, resume_rules};
use super::run::StageName;

/// Keys of `model`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelConfig {
    /// Size of the model; never changed silently.
    pub size: ModelSize,
    /// Whether the quirks of the public implementation are `fixed`, or reproduced number
    /// for number (`compat`).
    pub quirks: Quirks,
    /// Most new text tokens that fine-tuning learns from the dataset's words, besides
    /// characters and languages that the vocabulary lacks. If not set: 2000 for a language
    /// that the weights do not know, and none otherwise.
    #[schemars(range(min = 0, max = 20_000))]
    pub new_tokens: Option<u32>,
}

/// Sizes of the parts of a model.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Those of the GPT.
    pub gpt: GptConfig,
    /// Those of the DVAE.
    pub dvae: DvaeConfig,
}

resume_rules!(RESUME = "model": ModelConfig {
    size: MODEL,
    quirks: MODEL,
    // The vocabulary is the checkpoint's once there is one.
    new_tokens: Policy::Free,
});

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            size: ModelSize::Tiny,
            quirks: Quirks::Fixed,
            new_tokens: None,
        }
    }
}

/// Returns what repeating the accidents asks of the data: the public
/// implementation cuts the voice of a clip from the clip itself, and begins every
/// clip at its beginning.
pub fn quirks_layer(quirks: Quirks) -> Layer {
    match quirks {
        Quirks::Fixed => Layer::default(),
        Quirks::Compat => Layer::preset(
            "compat",
            [
                ("data.conditioning_from", json!("clip")),
                ("data.clip_beginnings", json!(1)),
            ],
        ),
    }
}

/// Returns the default learning rate. Larger models need smaller ones; the last is
/// the public model's own fine-tuning rate.
pub(super) fn learning_rate(size: ModelSize) -> f64 {
    match size {
        ModelSize::Tiny => 2e-3,
        ModelSize::Small => 5e-4,
        ModelSize::Normal => 2e-4,
        ModelSize::Big => 1e-4,
        ModelSize::XttsV2 => 5e-6,
    }
}

/// Returns the passes of the GPT, of the DVAE and of the decoder. Those of `tiny` take
/// minutes on two CPU cores with the sample corpus.
fn epochs(size: ModelSize) -> (u32, u32, u32) {
    match size {
        ModelSize::Tiny => (48, 20, 40),
        _ => (100, 50, 200),
    }
}

/// Returns the steps that a stage takes at least where nobody chose its epochs,
/// with the key of these: the epochs of few recordings are short. As many as the
/// sample corpus takes.
pub(crate) fn least_steps(size: ModelSize) -> Vec<(&'static str, StageName, u64)> {
    match size {
        ModelSize::Tiny => vec![
            ("training.dvae_epochs", StageName::Dvae, 760),
            ("training.epochs", StageName::Gpt, 1600),
        ],
        _ => vec![],
    }
}

/// Returns the start values of a model size.
pub fn size_layer(size: ModelSize) -> Layer {
    let (epochs, dvae_epochs, decoder_epochs) = epochs(size);
    let mut values = vec![
        ("training.learning_rate", json!(learning_rate(size))),
        ("training.epochs", json!(epochs)),
        ("training.dvae_epochs", json!(dvae_epochs)),
        ("training.decoder_epochs", json!(decoder_epochs)),
    ];
    if matches!(size, ModelSize::Tiny | ModelSize::Small) {
        // Sizes for small datasets, which a model memorises more easily with
        // conditioning cut from the clip itself or the same codes in each epoch.
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
