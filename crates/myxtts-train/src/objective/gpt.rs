//! The GPT in training.
//!
//! On the CPU a batch is computed in pieces, each on its own part of the cores from its
//! embeddings to its gradients: operations of a small model are too short to share one by one.
//! Pieces are rows of the batch, divided by its shape alone; they drop what the whole would, and
//! their sum is its mean. So the number of cores does not show in the result, and the division
//! only in rounding.

use burn::module::Module;
use burn::tensor::{Device, Gradients};
use myxtts_device::EngineError;
use myxtts_model::gpt::{Gpt, GptBatch, GptOutput, Quirks, StepDropout};
use myxtts_model::params::{LoadError, Unread, Weights, load, unread};
use myxtts_ops::{Compute, each_on_compute_pool, is_cpu};

use super::{Loss, Objective, Pass};
use crate::optim::{AdamW, NamedGradients};
use crate::train_loop::LossFactor;

/// Parts of a batch that are computed at once. There are two, however many cores: a third would
/// cost as much again in gradients to add, and cores that are left over help inside operations.
const PIECES: usize = 2;

/// The fewest rows of a piece.
const LEAST_ROWS: usize = 4;

/// Whether the CPU computes a batch of `rows` rows in pieces, each with its own gradients.
pub(crate) fn is_divided(rows: usize) -> bool {
    rows >= PIECES * LEAST_ROWS
}

/// Returns the operations of a training step for each position, from the parameters of the model:
/// two a weight in the forward pass and four in the backward pass. What recomputation adds is not
/// counted, as is usual: it is a cost, not work.
pub(crate) fn training_flop(parameters: usize) -> f64 {
    6.0 * parameters as f64
}

/// The settings of the GPT's loss.
#[derive(Clone, Debug, PartialEq)]
pub struct GptObjectiveConfig {
    /// Weight of the loss of the text.
    pub text_weight: f64,
    /// Weight of the loss of the codes.
    pub mel_weight: f64,
    /// Probability mass given to wrong tokens.
    pub label_smoothing: f64,
    /// Share of activations dropped.
    pub dropout: f64,
    /// Whether the public implementation's accidents are reproduced.
    pub quirks: Quirks,
    /// Parameters whose names begin with one of these are not trained.
    pub frozen: Vec<String>,
    /// Whether blocks are computed again on the way back, in place of keeping what they computed.
    pub recompute: bool,
}

/// The weights that XTTS was trained with, and nothing else.
impl Default for GptObjectiveConfig {
    fn default() -> Self {
        Self {
            text_weight: 0.01,
            mel_weight: 1.0,
            label_smoothing: 0.0,
            dropout: 0.0,
            quirks: Quirks::default(),
            frozen: vec![],
            recompute: false,
        }
    }
}

/// Names of the text and code losses, in the order in which their targets are counted.
const PARTS: [&str; 2] = ["loss_text", "loss_mel"];

/// A GPT in training, with its settings.
#[derive(Debug)]
pub struct GptObjective {
    /// The model; its parameters are on an autodiff device.
    pub gpt: Gpt,
    config: GptObjectiveConfig,
}

impl GptObjective {
    /// Trains a GPT with these settings.
    pub fn new(gpt: Gpt, config: GptObjectiveConfig) -> Self {
        Self { gpt, config }
    }

    /// Computes the loss of a batch, or of the piece of one that begins with `first_row`.
    fn loss_from(
        &self,
        first_row: usize,
        batch: &GptBatch,
        shares: &[f64],
        key: u64,
    ) -> Result<Loss<()>, EngineError> {
        let drop = self.dropout(first_row, key);
        let batch = batch.clone().autodiff();
        let output = self.gpt.forward(&batch, self.config.quirks, drop.as_ref());
        Ok(self.loss_of(output.map_err(EngineError::new)?, shares))
    }

    /// Computes the loss and the gradients of a batch or of a piece, as configured.
    fn pass_from(
        &self,
        first_row: usize,
        batch: &GptBatch,
        shares: &[f64],
        key: u64,
        scale: &LossFactor,
        sum: &mut NamedGradients,
    ) -> Result<Pass<()>, EngineError> {
        if !self.config.recompute {
            let loss = self.loss_from(first_row, batch, shares, key)?;
            return Ok(Pass::backward(self, 0, loss, scale, sum));
        }
        let drop = self.dropout(first_row, key);
        let minimized = |output: GptOutput| {
            let Loss { total, parts, .. } = self.loss_of(output, shares);
            let pass = Pass {
                total: total.clone().inner().detach(),
                parts,
                trace: (),
            };
            (scale.of_loss(total), pass)
        };
        let collect = |gradients| sum.add(self.gradients(0, gradients));
        self.gpt
            .backward_by_blocks(batch, self.config.quirks, drop.as_ref(), minimized, collect)
            .map_err(EngineError::new)
    }

    /// Returns what a batch drops from the row `first_row` on.
    fn dropout(&self, first_row: usize, key: u64) -> Option<StepDropout> {
        let probability = self.config.dropout;
        (probability > 0.0).then(|| StepDropout::new(probability, key).from_row(first_row))
    }

    fn loss_of(&self, output: GptOutput, shares: &[f64]) -> Loss<()> {
        let losses = output.losses(self.config.label_smoothing);
        // Once nobody else holds the logits, their memory can be reused for their gradients.
        drop(output);
        let share = |part: usize| shares.get(part).copied().unwrap_or(1.0);
        let (text, mel) = (losses.text * share(0), losses.mel * share(1));
        let [text_weight, mel_weight] = [self.config.text_weight, self.config.mel_weight];
        Loss {
            total: text.clone() * text_weight + mel.clone() * mel_weight,
            parts: vec![
                (PARTS[0], text.inner().detach()),
                (PARTS[1], mel.inner().detach()),
            ],
            trace: (),
        }
    }

    /// Divides a batch into pieces; empty if it is better left whole.
    fn pieces(&self, batch: &GptBatch, shares: &[f64]) -> Vec<Piece> {
        let quirks = self.config.quirks;
        let [rows] = batch.code_lengths_b.dims();
        // The public implementation's accidents concern a whole batch.
        let divisible = is_cpu(&self.device()) && quirks == Quirks::Fixed;
        if !divisible || !is_divided(rows) {
            return vec![];
        }
        let lengths = batch.row_lengths();
        let whole = quirks.target_counts(&lengths);
        let piece = |index: usize| {
            let piece = index * rows / PIECES..(index + 1) * rows / PIECES;
            let counts = quirks.target_counts(&lengths[piece.clone()]);
            let share = |part: usize| {
                let of_batch = shares.get(part).copied().unwrap_or(1.0);
                of_batch * counts[part] as f64 / whole[part].max(1) as f64
            };
            Piece {
                first_row: piece.start,
                batch: batch.rows(piece),
                shares: [share(0), share(1)],
            }
        };
        (0..PIECES).map(piece).collect()
    }

    /// Puts the same weights at the roots of another graph: in one graph two passes at once would
    /// wait for each other.
    fn forked(&self) -> Self {
        Self {
            gpt: self.gpt.clone().fork(&self.device()),
            config: self.config.clone(),
        }
    }
}

/// Some rows of a batch.
struct Piece {
    first_row: usize,
    batch: GptBatch,
    shares: [f64; 2],
}

/// Adds the losses of two pieces of one batch.
fn join(one: Pass<()>, other: Pass<()>) -> Pass<()> {
    let parts = one.parts.into_iter().zip(other.parts);
    Pass {
        total: one.total + other.total,
        parts: parts
            .map(|((name, one), (_, other))| (name, one + other))
            .collect(),
        trace: (),
    }
}

impl Objective for GptObjective {
    type Batch = GptBatch;
    type Trace = ();

    const WEIGHTS: &'static [(&'static str, &'static str)] = &[("gpt.safetensors", "gpt.")];

    fn loss(
        &self,
        _phase: usize,
        batch: &GptBatch,
        shares: &[f64],
        key: u64,
    ) -> Result<Loss<()>, EngineError> {
        self.loss_from(0, batch, shares, key)
    }

    fn forward_backward(
        &self,
        _phase: usize,
        batch: &GptBatch,
        shares: &[f64],
        key: u64,
        scale: &LossFactor,
        sum: &mut NamedGradients,
    ) -> Result<Pass<()>, EngineError> {
        let pieces = self.pieces(batch, shares);
        if pieces.is_empty() {
            return self.pass_from(0, batch, shares, key, scale, sum);
        }
        let passes = each_on_compute_pool(pieces, |piece| {
            let Piece {
                first_row,
                batch,
                shares,
            } = piece;
            let mut own = NamedGradients::default();
            let forked = self.forked();
            let pass = forked.pass_from(first_row, &batch, &shares, key, scale, &mut own)?;
            Ok((pass, own))
        });
        let passes: Result<Vec<_>, EngineError> = passes.into_iter().collect();
        let whole = passes?
            .into_iter()
            .reduce(|(one, mut own), (other, others)| {
                own.add(others);
                (join(one, other), own)
            });
        let (pass, own) = whole.ok_or_else(|| EngineError::new("a batch without rows"))?;
        sum.add(own);
        Ok(pass)
    }

    fn gradients(&self, _phase: usize, gradients: Gradients) -> NamedGradients {
        NamedGradients::collect(&self.gpt, gradients).without(&self.config.frozen)
    }

    fn apply(
        mut self,
        _phase: usize,
        optimizer: &mut AdamW,
        gradients: NamedGradients,
        rate: f64,
    ) -> Self {
        self.gpt = optimizer.step(self.gpt, gradients, rate);
        self
    }

    fn compute(&self) -> Compute {
        self.gpt.compute()
    }

    fn device(&self) -> Device {
        self.gpt.final_norm.weight.val().device()
    }

    fn tensors(&self) -> Vec<Unread> {
        match self.gpt.has_adapters() {
            true => self.gpt.merged_unread(),
            false => unread(&self.gpt),
        }
    }

    /// With adapters, the frozen weights beside them: merged weights are rounded, and do not tell
    /// what they were made of.
    fn trained(&self) -> Option<Vec<Unread>> {
        self.gpt.has_adapters().then(|| unread(&self.gpt))
    }

    fn with_state(mut self, state: &dyn Weights) -> Result<Self, LoadError> {
        self.gpt = load(self.gpt, state, "")?;
        Ok(self)
    }
}
