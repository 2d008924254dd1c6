//! What a stage of training learns.
//!
//! The loop knows a [`Trainee`]: losses of a batch, gradients, a step. What
//! is inside (a GPT, a DVAE, a decoder against its discriminators) is said
//! once, here.

mod decoder;
mod dvae;
mod gpt;

use burn::tensor::{Device, Gradients, Tensor};
use myxtts_model::params::{ReadError, StateDict, Unread, Weights, read_all};
use myxtts_ops::Compute;

pub use decoder::{DecoderActs, DecoderTrainee};
pub(crate) use decoder::{JUDGES, JUDGES_FILE};
pub use dvae::{DvaeRecipe, DvaeTrainee};
pub(crate) use gpt::is_divided;
pub use gpt::{GptRecipe, GptTrainee};

use crate::optim::{AdamW, NamedGradients};

/// The losses of one batch.
#[derive(Clone, Debug)]
pub struct Loss<A> {
    /// What is to fall: the parts, weighted.
    pub total: Tensor<1>,
    /// The parts, by name, each already multiplied by its share.
    pub parts: Vec<(&'static str, Tensor<1>)>,
    /// What else the step needs of the pass.
    pub trace: A,
}

/// One batch, there and back.
#[derive(Clone, Debug)]
pub struct Pass<A> {
    /// The whole loss.
    pub total: Tensor<1>,
    /// Its parts.
    pub parts: Vec<(&'static str, Tensor<1>)>,
    /// Of the loss times the scale asked for.
    pub gradients: NamedGradients,
    /// What else the step needs.
    pub trace: A,
}

impl<A> Pass<A> {
    /// Goes back from the loss of a forward pass.
    fn back<T: Trainee<Trace = A>>(trainee: &T, phase: usize, loss: Loss<A>, scale: f64) -> Self {
        let total = loss.total.clone().inner().detach();
        let gradients = (loss.total * scale).backward();
        Self {
            total,
            parts: loss.parts,
            gradients: trainee.gradients(phase, gradients),
            trace: loss.trace,
        }
    }
}

/// A model in training, on one device.
pub trait Trainee: Sized + Send + Sync + 'static {
    /// What it learns from.
    type Batch: Send + Sync + 'static;
    /// What it keeps of a forward pass until the step.
    type Trace: Send;

    /// Updates within a step, each with an optimiser of its own.
    const PHASES: usize = 1;

    /// The files of its weights in a checkpoint, and what stands before their
    /// names there.
    const WEIGHTS: &'static [(&'static str, &'static str)];

    /// Begins a step of the stage, counted from 0. `true` where what is learned
    /// from then on is of another kind than before.
    fn enter(&mut self, _step: u64) -> bool {
        false
    }

    /// Whether a phase is part of the step that was begun.
    fn takes_part(&self, _phase: usize) -> bool {
        true
    }

    /// The share of the step's learning rate that a phase takes.
    fn pace(&self, _phase: usize) -> f64 {
        1.0
    }

    /// The losses of a batch. `shares` say, part by part, how much of the
    /// step's mean this batch is: 1 where it is all of it. `key` draws
    /// whatever is drawn.
    fn loss(
        &self,
        phase: usize,
        batch: &Self::Batch,
        shares: &[f64],
        key: u64,
    ) -> Result<Loss<Self::Trace>, String>;

    /// Losses and gradients of a batch, the gradients multiplied by `scale`.
    fn pass(
        &self,
        phase: usize,
        batch: &Self::Batch,
        shares: &[f64],
        key: u64,
        scale: f64,
    ) -> Result<Pass<Self::Trace>, String> {
        let loss = self.loss(phase, batch, shares, key)?;
        Ok(Pass::back(self, phase, loss, scale))
    }

    /// Its gradients among those of a backward pass.
    fn gradients(&self, phase: usize, gradients: Gradients) -> NamedGradients;

    /// It after a step.
    #[must_use]
    fn stepped(
        self,
        phase: usize,
        optimiser: &mut AdamW,
        gradients: NamedGradients,
        rate: f64,
    ) -> Self;

    /// What is learnt without a gradient, from the passes of a step.
    #[must_use]
    fn absorbed(self, _traces: &[Self::Trace], _key: u64) -> Self {
        self
    }

    /// Names of what [`absorbed`](Self::absorbed) changes; replicas average it.
    fn absorbs() -> &'static [&'static str] {
        &[]
    }

    /// What its matrix products are computed in.
    fn compute(&self) -> Compute {
        Compute::F32
    }

    /// Where it is.
    fn device(&self) -> Device;

    /// Everything a checkpoint keeps of it, on its device.
    fn tensors(&self) -> Vec<Unread>;

    /// The same, read back to the host.
    ///
    /// # Errors
    /// When the device does not give a tensor.
    fn state(&self) -> Result<StateDict, ReadError> {
        read_all(self.tensors())
    }

    /// It with a state in place of its own.
    fn with_state(self, state: &dyn Weights) -> Result<Self, String>;
}
