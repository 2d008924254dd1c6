//! Keys of `model`, and the start values that depend on its size.

use myxtts_config::Layer;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModelSize {
    Tiny,
    Small,
    Normal,
    Big,
    XttsV2,
}

impl ModelSize {
    pub(crate) const ALL: [Self; 5] = [
        Self::Tiny,
        Self::Small,
        Self::Normal,
        Self::Big,
        Self::XttsV2,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Normal => "normal",
            Self::Big => "big",
            Self::XttsV2 => "xtts-v2",
        }
    }

    /// The larger the model, the smaller the step it bears; the last one is
    /// the public model's own fine-tuning rate.
    pub(crate) fn learning_rate(self) -> f64 {
        match self {
            Self::Tiny => 1e-3,
            Self::Small => 5e-4,
            Self::Normal => 2e-4,
            Self::Big => 1e-4,
            Self::XttsV2 => 5e-6,
        }
    }

    pub(crate) fn layer(self) -> Layer {
        Layer::preset(
            self.name(),
            [("training.learning_rate", json!(self.learning_rate()))],
        )
    }
}
