//! Keys of `model`, and the start values that depend on its size.

use myxtts_config::Layer;
use myxtts_model::ModelSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ModelConfig {
    /// Size of the model. Never changed silently.
    pub(crate) size: ModelSize,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            size: ModelSize::Tiny,
        }
    }
}

/// The larger the model, the smaller the step it bears; the last one is the
/// public model's own fine-tuning rate.
pub(crate) fn learning_rate(size: ModelSize) -> f64 {
    match size {
        ModelSize::Tiny => 1e-3,
        ModelSize::Small => 5e-4,
        ModelSize::Normal => 2e-4,
        ModelSize::Big => 1e-4,
        ModelSize::XttsV2 => 5e-6,
    }
}

pub(crate) fn layer(size: ModelSize) -> Layer {
    Layer::preset(
        size.name(),
        [("training.learning_rate", json!(learning_rate(size)))],
    )
}
