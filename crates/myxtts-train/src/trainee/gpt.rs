//! The GPT in training.

use burn::tensor::{Device, Gradients};
use myxtts_model::gpt::{Gpt, GptBatch, Quirks, StepDropout};
use myxtts_model::params::{StateDict, load, state_dict};
use myxtts_ops::Compute;

use super::{Loss, Trainee};
use crate::optim::{AdamW, NamedGradients};

/// What the GPT's loss is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct GptRecipe {
    /// Weight of the text's loss.
    pub text_weight: f64,
    /// Weight of the codes' loss.
    pub mel_weight: f64,
    /// Probability mass on the wrong tokens.
    pub label_smoothing: f64,
    /// Share of activations dropped.
    pub dropout: f64,
    /// Whether the public implementation's accidents are repeated.
    pub quirks: Quirks,
    /// Parameters whose names begin so are left as they are.
    pub frozen: Vec<String>,
}

/// The weights that XTTS was trained with, and nothing besides.
impl Default for GptRecipe {
    fn default() -> Self {
        Self {
            text_weight: 0.01,
            mel_weight: 1.0,
            label_smoothing: 0.0,
            dropout: 0.0,
            quirks: Quirks::default(),
            frozen: vec![],
        }
    }
}

/// Names of text and code loss, in the order of the targets' counts.
const PARTS: [&str; 2] = ["loss_text", "loss_mel"];

/// A GPT, and how it learns.
#[derive(Debug)]
pub struct GptTrainee {
    /// The model; its parameters are on an autodiff device.
    pub gpt: Gpt,
    recipe: GptRecipe,
}

impl GptTrainee {
    /// Around a model.
    pub fn new(gpt: Gpt, recipe: GptRecipe) -> Self {
        Self { gpt, recipe }
    }
}

impl Trainee for GptTrainee {
    type Batch = GptBatch;
    type Trace = ();

    const WEIGHTS: &'static [(&'static str, &'static str)] = &[("gpt.safetensors", "gpt.")];

    fn loss(
        &self,
        _phase: usize,
        batch: &GptBatch,
        shares: &[f64],
        key: u64,
    ) -> Result<Loss<()>, String> {
        let GptRecipe {
            text_weight,
            mel_weight,
            label_smoothing,
            dropout,
            quirks,
            ..
        } = self.recipe;
        let drop = (dropout > 0.0).then(|| StepDropout::new(dropout, key));
        let output = self
            .gpt
            .forward(&batch.clone().autodiff(), quirks, drop.as_ref())
            .map_err(|why| why.to_string())?;
        let losses = output.losses(label_smoothing);
        // Logits that nobody holds become their own gradients.
        drop_now(output);
        let share = |part: usize| shares.get(part).copied().unwrap_or(1.0);
        let (text, mel) = (losses.text * share(0), losses.mel * share(1));
        Ok(Loss {
            total: text.clone() * text_weight + mel.clone() * mel_weight,
            parts: vec![
                (PARTS[0], text.inner().detach()),
                (PARTS[1], mel.inner().detach()),
            ],
            trace: (),
        })
    }

    fn gradients(&self, _phase: usize, gradients: Gradients) -> NamedGradients {
        NamedGradients::collect(&self.gpt, gradients).without(&self.recipe.frozen)
    }

    fn stepped(
        mut self,
        _phase: usize,
        optimiser: &mut AdamW,
        gradients: NamedGradients,
        rate: f64,
    ) -> Self {
        self.gpt = optimiser.step(self.gpt, gradients, rate);
        self
    }

    fn compute(&self) -> Compute {
        self.gpt.compute()
    }

    fn device(&self) -> Device {
        self.gpt.final_norm.weight.val().device()
    }

    fn state(&self) -> StateDict {
        state_dict(&self.gpt)
    }

    fn with_state(mut self, state: &StateDict) -> Result<Self, String> {
        self.gpt = load(self.gpt, state, "").map_err(|why| why.to_string())?;
        Ok(self)
    }
}

fn drop_now<T>(_: T) {}
