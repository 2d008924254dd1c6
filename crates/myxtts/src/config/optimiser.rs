//! Keys of `training` that steer the optimiser, and the named sets of them.

use myxtts_config::Layer;
use myxtts_model::ModelSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OptimiserConfig {
    /// Step size of the optimiser; where not given, the model size decides.
    #[schemars(range(min = 1e-9, max = 1.0))]
    pub(crate) learning_rate: f64,
    /// Step size while the DVAE is trained.
    #[schemars(range(min = 1e-9, max = 1.0))]
    pub(crate) dvae_learning_rate: f64,
    /// Step size while the decoder and its discriminators are trained.
    #[schemars(range(min = 1e-9, max = 1.0))]
    pub(crate) decoder_learning_rate: f64,
    /// Step size of the decoder itself, where it differs from its
    /// discriminators'; a decoder that `init` brings takes a quarter of theirs.
    #[schemars(range(min = 1e-9, max = 1.0))]
    pub(crate) generator_learning_rate: Option<f64>,
    /// Steps at the beginning of the decoder stage in which the decoder learns
    /// the spectra of recordings, without discriminators: where not given, the
    /// whole stage for `tiny` and none for other sizes, nor where `init` brings a
    /// decoder.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub(crate) decoder_spectral_steps: Option<u64>,
    /// Steps after those in which the discriminators learn and the decoder
    /// stands still. Where `init` brings a decoder and not its discriminators, 500
    /// and at most a tenth of the stage; otherwise none.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub(crate) discriminator_warmup_steps: Option<u64>,
    /// Named set of schedule, clipping and smoothing values.
    pub(crate) optimization_level: OptimizationLevel,
    /// How the learning rate changes over the run.
    pub(crate) lr_schedule: Schedule,
    /// Steps over which the learning rate rises from zero; held to a tenth of a
    /// stage unless you set it.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(crate) warmup_steps: u32,
    /// Largest global norm of a gradient; larger ones are scaled down to it.
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub(crate) gradient_clip: f64,
    /// Probability mass spread over the wrong codes in the loss.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub(crate) label_smoothing: f64,
    /// Share of the GPT's activations dropped in training.
    #[schemars(range(min = 0.0, max = 0.9), extend("x-unset" = "the model's"))]
    pub(crate) dropout: Option<f64>,
    /// Share of a weight lost in a step, times the learning rate.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) weight_decay: f64,
    /// Memory of a moving average of the weights, which then validates, speaks
    /// and is exported; resuming uses the weights themselves. 0 keeps none.
    #[schemars(range(min = 0.0, max = 0.99999))]
    pub(crate) ema_decay: f64,
    /// Leave out steps whose loss jumps.
    pub(crate) skip_spikes: bool,
    /// Steps in a row without a finite loss that are left out before training
    /// stops.
    #[schemars(range(min = 0, max = 10_000))]
    pub(crate) bad_steps: u32,
}

impl Default for OptimiserConfig {
    fn default() -> Self {
        Self {
            learning_rate: super::model::learning_rate(ModelSize::Tiny),
            dvae_learning_rate: 1e-3,
            decoder_learning_rate: 2e-4,
            generator_learning_rate: None,
            decoder_spectral_steps: None,
            discriminator_warmup_steps: None,
            optimization_level: OptimizationLevel::Enhanced,
            lr_schedule: Schedule::Cosine,
            warmup_steps: 100,
            gradient_clip: 1.0,
            label_smoothing: 0.0,
            dropout: None,
            weight_decay: 0.01,
            ema_decay: 0.0,
            skip_spikes: false,
            bad_steps: 10,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Schedule {
    Constant,
    Cosine,
    Noam,
    MultiStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OptimizationLevel {
    Basic,
    Enhanced,
    Experimental,
    PlateauBreaker,
}

/// The values of one level.
struct LevelValues {
    schedule: Schedule,
    warmup_steps: u32,
    gradient_clip: f64,
    label_smoothing: f64,
}

impl OptimizationLevel {
    pub(crate) const ALL: [Self; 4] = [
        Self::Basic,
        Self::Enhanced,
        Self::Experimental,
        Self::PlateauBreaker,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Enhanced => "enhanced",
            Self::Experimental => "experimental",
            Self::PlateauBreaker => "plateau_breaker",
        }
    }

    fn values(self) -> LevelValues {
        let values = |schedule, warmup_steps, gradient_clip, label_smoothing| LevelValues {
            schedule,
            warmup_steps,
            gradient_clip,
            label_smoothing,
        };
        match self {
            Self::Basic => values(Schedule::Constant, 0, 1.0, 0.0),
            Self::Enhanced => values(Schedule::Cosine, 100, 1.0, 0.0),
            Self::Experimental => values(Schedule::Noam, 1000, 0.5, 0.05),
            Self::PlateauBreaker => values(Schedule::MultiStep, 500, 0.3, 0.1),
        }
    }

    pub(crate) fn layer(self) -> Layer {
        let LevelValues {
            schedule,
            warmup_steps,
            gradient_clip,
            label_smoothing,
        } = self.values();
        Layer::preset(
            self.name(),
            [
                ("training.lr_schedule", json!(schedule)),
                ("training.warmup_steps", json!(warmup_steps)),
                ("training.gradient_clip", json!(gradient_clip)),
                ("training.label_smoothing", json!(label_smoothing)),
            ],
        )
    }
}
