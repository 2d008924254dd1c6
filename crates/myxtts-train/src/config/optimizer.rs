//! Keys of `training` that steer the optimizer, and the named sets of them.

use myxtts_config::Layer;
use myxtts_model::ModelSize;
use myxtts_run::config_diff::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::resume::resume_rules;

/// Keys of `training` that steer the optimizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OptimizerConfig {
    /// Learning rate. If not set, the model size decides.
    #[schemars(range(min = 1e-9, max = 1.0))]
    pub learning_rate: f64,
    /// Learning rate of the DVAE stage.
    #[schemars(range(min = 1e-9, max = 1.0))]
    pub dvae_learning_rate: f64,
    /// Learning rate of the decoder stage, for the decoder and its discriminators.
    #[schemars(range(min = 1e-9, max = 1.0))]
    pub decoder_learning_rate: f64,
    /// Learning rate of the decoder itself, if different from its discriminators'. If not
    /// set, a decoder that comes with `init` takes a quarter of theirs.
    #[schemars(range(min = 1e-9, max = 1.0))]
    pub generator_learning_rate: Option<f64>,
    /// Steps at the beginning of the decoder stage in which the decoder learns the
    /// spectra of recordings, without discriminators. If not set: the whole stage for
    /// `tiny`; none for other sizes, or if a decoder comes with `init`.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub decoder_spectral_steps: Option<u64>,
    /// Steps after `decoder_spectral_steps` in which only the discriminators learn. If not
    /// set: 500, and at most a tenth of the stage, if a decoder comes with `init` without
    /// its discriminators; otherwise none.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub discriminator_warmup_steps: Option<u64>,
    /// Named set of schedule, clipping and smoothing values.
    pub optimization_level: OptimizationLevel,
    /// How the learning rate changes over the run.
    pub lr_schedule: ScheduleKind,
    /// Steps over which the learning rate rises from zero; limited to a tenth of a
    /// stage unless you set it.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub warmup_steps: u32,
    /// Largest global gradient norm; larger gradients are scaled down to it.
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub gradient_clip: f64,
    /// Probability mass spread over the wrong codes in the loss.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub label_smoothing: f64,
    /// Share of the GPT's activations dropped in training.
    #[schemars(range(min = 0.0, max = 0.9), extend("x-unset" = "the model's"))]
    pub dropout: Option<f64>,
    /// Weight decay: each step removes this share of a weight, times the learning rate.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight_decay: f64,
    /// Decay of an exponential moving average of the weights. Above 0, validation,
    /// samples and exports use the average; resuming uses the weights themselves. 0 keeps
    /// no average.
    #[schemars(range(min = 0.0, max = 0.99999))]
    pub ema_decay: f64,
    /// Skip steps whose loss jumps.
    pub skip_spikes: bool,
    /// Number of consecutive steps without a finite loss that are skipped before
    /// training stops.
    #[schemars(range(min = 0, max = 10_000))]
    pub bad_steps: u32,
}

const LEARNING: Policy = Policy::Notice("the steps to come are taken with the new value");

resume_rules!(RESUME = "training": OptimizerConfig {
    learning_rate: LEARNING,
    dvae_learning_rate: LEARNING,
    decoder_learning_rate: LEARNING,
    generator_learning_rate: LEARNING,
    decoder_spectral_steps: LEARNING,
    discriminator_warmup_steps: LEARNING,
    optimization_level: LEARNING,
    lr_schedule: LEARNING,
    warmup_steps: LEARNING,
    gradient_clip: LEARNING,
    label_smoothing: LEARNING,
    dropout: LEARNING,
    weight_decay: LEARNING,
    ema_decay: Policy::REFUSED,
    skip_spikes: Policy::Free,
    bad_steps: Policy::Free,
});

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self {
            learning_rate: super::model::learning_rate(ModelSize::Tiny),
            dvae_learning_rate: 1e-3,
            decoder_learning_rate: 2e-4,
            generator_learning_rate: None,
            decoder_spectral_steps: None,
            discriminator_warmup_steps: None,
            optimization_level: OptimizationLevel::Enhanced,
            lr_schedule: ScheduleKind::Cosine,
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

/// How the learning rate changes over a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the schema would take the docs of variants")]
pub enum ScheduleKind {
    // Stays.
    Constant,
    // Half a cosine to a twentieth.
    Cosine,
    // Inverse square root.
    Noam,
    // Halves after a half, and three quarters, of the steps.
    MultiStep,
}

/// A named set of schedule, clipping and smoothing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum OptimizationLevel {
    Basic,
    Enhanced,
    Experimental,
    PlateauBreaker,
}

/// The values of one level.
struct LevelValues {
    schedule: ScheduleKind,
    warmup_steps: u32,
    gradient_clip: f64,
    label_smoothing: f64,
}

impl OptimizationLevel {
    /// Every level, gentlest first.
    pub const ALL: [Self; 4] = [
        Self::Basic,
        Self::Enhanced,
        Self::Experimental,
        Self::PlateauBreaker,
    ];

    /// Returns the name as flags and files spell it.
    pub fn name(self) -> &'static str {
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
            Self::Basic => values(ScheduleKind::Constant, 0, 1.0, 0.0),
            Self::Enhanced => values(ScheduleKind::Cosine, 100, 1.0, 0.0),
            Self::Experimental => values(ScheduleKind::Noam, 1000, 0.5, 0.05),
            Self::PlateauBreaker => values(ScheduleKind::MultiStep, 500, 0.3, 0.1),
        }
    }

    /// Returns the values of the level.
    pub fn layer(self) -> Layer {
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
