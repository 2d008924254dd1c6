//! What a stage of training learns.
//!
//! The loop knows a [`Objective`]: losses of a batch, gradients, a step. What is inside (a GPT, a
//! DVAE, a decoder against its discriminators) is defined once, here.

mod decoder;
mod dvae;
mod gpt;

use burn::tensor::{Bool, Device, Gradients, Tensor};
use myxtts_device::EngineError;
use myxtts_model::params::{LoadError, ReadError, StateDict, Unread, Weights, read_all};
use myxtts_ops::Compute;

pub(crate) use decoder::{DISCRIMINATOR, DISCRIMINATOR_FILE};
pub use decoder::{DecoderCurriculum, DecoderObjective};
pub use dvae::{DvaeObjective, DvaeObjectiveConfig};
pub use gpt::{GptObjective, GptObjectiveConfig};
pub(crate) use gpt::{is_divided, training_flop};

use crate::optim::{AdamW, NamedGradients};
use crate::train_loop::LossFactor;

/// The losses of one batch.
#[derive(Clone, Debug)]
pub struct Loss<A> {
    /// The loss to minimize: the weighted sum of the parts.
    pub total: Tensor<1>,
    /// The parts, by name, each already multiplied by its share.
    pub parts: Vec<(&'static str, Tensor<1>)>,
    /// What else the step needs from the pass.
    pub trace: A,
}

/// The results of a forward and backward pass over one batch, but for its gradients: those are
/// added to the step's as soon as they are known.
#[derive(Clone, Debug)]
pub struct Pass<A> {
    /// The whole loss, detached from the graph.
    pub total: Tensor<1>,
    /// The parts of the loss, by name.
    pub parts: Vec<(&'static str, Tensor<1>)>,
    /// What else the step needs from the pass.
    pub trace: A,
}

impl<A> Pass<A> {
    /// Runs the backward pass from the loss of a forward pass.
    fn backward<T: Objective<Trace = A>>(
        objective: &T,
        phase: usize,
        loss: Loss<A>,
        scale: &LossFactor,
        sum: &mut NamedGradients,
    ) -> Self {
        let total = loss.total.clone().inner().detach();
        let gradients = scale.of_loss(loss.total).backward();
        sum.add(objective.gradients(phase, gradients));
        Self {
            total,
            parts: loss.parts,
            trace: loss.trace,
        }
    }
}

/// A model in training, on one device: its loss, its gradients and its update.
pub trait Objective: Sized + Send + Sync + 'static {
    /// What the model learns from.
    type Batch: Send + Sync + 'static;
    /// What the model keeps of a forward pass until the step.
    type Trace: Send;

    /// Updates within a step, each with its own optimizer.
    const PHASES: usize = 1;

    /// The files of the weights in a checkpoint, each with the prefix of its names there.
    const WEIGHTS: &'static [(&'static str, &'static str)];

    /// Begins a step of the stage, counted from 0. Returns `true` if what is learned from here on
    /// is of another kind than before.
    fn begin_step(&mut self, _step: u64) -> bool {
        false
    }

    /// Whether a phase takes part in the present step.
    fn is_phase_active(&self, _phase: usize) -> bool {
        true
    }

    /// Returns the share of the step's learning rate that a phase takes.
    fn lr_scale(&self, _phase: usize) -> f64 {
        1.0
    }

    /// Computes the losses of a batch. `shares` say for each part how much of the step's mean
    /// this batch is; 1 is all of it. `key` seeds everything that is drawn at random.
    fn loss(
        &self,
        phase: usize,
        batch: &Self::Batch,
        shares: &[f64],
        key: u64,
    ) -> Result<Loss<Self::Trace>, EngineError>;

    /// Computes the losses of a batch, and adds its gradients, multiplied by `scale`, to `sum`.
    fn forward_backward(
        &self,
        phase: usize,
        batch: &Self::Batch,
        shares: &[f64],
        key: u64,
        scale: &LossFactor,
        sum: &mut NamedGradients,
    ) -> Result<Pass<Self::Trace>, EngineError> {
        let loss = self.loss(phase, batch, shares, key)?;
        Ok(Pass::backward(self, phase, loss, scale, sum))
    }

    /// Selects the gradients of a phase's parameters from those of a backward pass.
    fn gradients(&self, phase: usize, gradients: Gradients) -> NamedGradients;

    /// Applies the gradients of a phase and returns the updated model.
    #[must_use]
    fn apply(
        self,
        phase: usize,
        optimizer: &mut AdamW,
        gradients: NamedGradients,
        rate: f64,
    ) -> Self;

    /// Updates what is learned without a gradient, from the passes of a step. With `only_if` the
    /// device decides whether it changes.
    #[must_use]
    fn update_buffers(
        self,
        _traces: &[Self::Trace],
        _key: u64,
        _only_if: Option<Tensor<1, Bool>>,
    ) -> Self {
        self
    }

    /// Names what [`update_buffers`](Self::update_buffers) changes; replicas average it.
    fn buffer_names() -> &'static [&'static str] {
        &[]
    }

    /// Returns the precision of the model's matrix products.
    fn compute(&self) -> Compute {
        Compute::F32
    }

    /// Returns the device that holds the model.
    fn device(&self) -> Device;

    /// Returns everything that a checkpoint keeps of the model, unread on its device.
    fn tensors(&self) -> Vec<Unread>;

    /// Returns what training goes on with, where the model is made of it and does not tell; `None`
    /// where the model is what is trained.
    fn trained(&self) -> Option<Vec<Unread>> {
        None
    }

    /// Reads everything that a checkpoint keeps back to the host.
    ///
    /// # Errors
    /// When a tensor cannot be read from the device.
    fn state(&self) -> Result<StateDict, ReadError> {
        read_all(self.tensors())
    }

    /// Loads `state` into the model: [`trained`](Self::trained) where there is one.
    fn with_state(self, state: &dyn Weights) -> Result<Self, LoadError>;
}
