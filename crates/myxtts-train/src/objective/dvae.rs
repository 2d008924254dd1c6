//! The DVAE in training: reconstruction, commitment, and a codebook that
//! follows the encoder's vectors by moving averages.
//!
//! It computes in f32 whatever the precision of the run: it is small, so there is little to win,
//! and the codes it makes are the GPT's data, which must not depend on how a device rounds.

use burn::tensor::{Bool, Device, Gradients, Int, Tensor};
use myxtts_device::EngineError;
use myxtts_model::dvae::{Dvae, MovingAverage, Reconstruction};
use myxtts_model::params::{LoadError, Unread, Weights, load, unread};

use super::{Loss, Objective};
use crate::feed::SegmentBatch;
use crate::optim::{AdamW, NamedGradients};

/// The settings of the DVAE's training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DvaeObjectiveConfig {
    /// The loss between a mel and its reconstruction.
    pub reconstruction: Reconstruction,
    /// Weight of the distance between vectors and their codes.
    pub commitment: f64,
    /// How the codebook follows the encoder's vectors.
    pub average: MovingAverage,
    /// Codes used less often in a step than this are replaced by vectors of the batch; 0 leaves
    /// them dead.
    pub revive_below: f64,
}

impl Default for DvaeObjectiveConfig {
    fn default() -> Self {
        Self {
            reconstruction: Reconstruction::Mse,
            commitment: 0.25,
            // The public recipe has a decay of 0.99, for runs of days: a code that nobody uses is
            // then revived after 390 steps, and until then a new codebook makes do with some
            // twenty. This decay revives it after 130.
            average: MovingAverage {
                decay: 0.97,
                ..MovingAverage::default()
            },
            revive_below: 0.02,
        }
    }
}

/// A DVAE in training, with its settings.
#[derive(Debug)]
pub struct DvaeObjective {
    /// The model; its parameters are on an autodiff device.
    pub dvae: Dvae,
    config: DvaeObjectiveConfig,
}

impl DvaeObjective {
    /// Trains a DVAE with these settings.
    pub fn new(dvae: Dvae, config: DvaeObjectiveConfig) -> Self {
        Self { dvae, config }
    }
}

/// What the codebook learns from a batch. The reconstruction is not kept: a
/// step may have hundreds of batches.
#[derive(Debug)]
pub struct CodesChosen {
    z_nc: Tensor<2>,
    codes_n: Tensor<1, Int>,
}

impl Objective for DvaeObjective {
    type Batch = SegmentBatch;
    type Trace = CodesChosen;

    const WEIGHTS: &'static [(&'static str, &'static str)] = &[("dvae.safetensors", "")];

    fn loss(
        &self,
        _phase: usize,
        batch: &SegmentBatch,
        shares: &[f64],
        _key: u64,
    ) -> Result<Loss<CodesChosen>, EngineError> {
        let mel_bct = Tensor::from_inner(batch.mel_bct.clone());
        let step = self.dvae.step(mel_bct, self.config.reconstruction);
        let step = step.map_err(EngineError::new)?;
        let share = shares.first().copied().unwrap_or(1.0);
        // Rows without a clip are silence that nobody recorded, so the mean is over the others.
        let rows_b11 = Tensor::from_inner(batch.rows_b.clone());
        let [rows] = rows_b11.dims();
        let [_, bands, frames] = step.reconstruction_bct.dims();
        let real = rows_b11.clone().sum() * (bands * frames) as f64;
        let weighted = step.reconstruction_bct.clone() * rows_b11.reshape([rows, 1, 1]);
        let reconstruction = weighted.sum() / real * share;
        let commitment = step.commitment.clone() * share;
        Ok(Loss {
            total: reconstruction.clone() + commitment.clone() * self.config.commitment,
            parts: vec![
                ("loss_mel", reconstruction.inner().detach()),
                ("loss_commitment", commitment.inner().detach()),
            ],
            trace: CodesChosen {
                z_nc: step.z_nc,
                codes_n: step.codes_n,
            },
        })
    }

    fn gradients(&self, _phase: usize, gradients: Gradients) -> NamedGradients {
        NamedGradients::collect(&self.dvae, gradients)
    }

    fn apply(
        mut self,
        _phase: usize,
        optimizer: &mut AdamW,
        gradients: NamedGradients,
        rate: f64,
    ) -> Self {
        self.dvae = optimizer.step(self.dvae, gradients, rate);
        self
    }

    fn update_buffers(
        mut self,
        traces: &[CodesChosen],
        key: u64,
        only_if: Option<Tensor<1, Bool>>,
    ) -> Self {
        let average = self.config.average;
        let mut codebook = self.dvae.codebook;
        let undecided = only_if.map(|applies_1| (applies_1, codebook.clone()));
        for CodesChosen { z_nc, codes_n } in traces {
            codebook = codebook.moved(z_nc.clone(), codes_n.clone(), average);
        }
        if let (Some(last), true) = (traces.last(), self.config.revive_below > 0.0) {
            codebook = codebook.revived(last.z_nc.clone(), self.config.revive_below, key);
        }
        if let Some((applies_1, before)) = undecided {
            codebook = codebook.only_if(applies_1, &before);
        }
        self.dvae.codebook = codebook;
        self
    }

    fn buffer_names() -> &'static [&'static str] {
        &[
            "codebook.embed",
            "codebook.cluster_size",
            "codebook.embed_avg",
        ]
    }

    fn device(&self) -> Device {
        self.dvae.codebook.embed.val().device()
    }

    fn tensors(&self) -> Vec<Unread> {
        unread(&self.dvae)
    }

    fn with_state(mut self, state: &dyn Weights) -> Result<Self, LoadError> {
        self.dvae = load(self.dvae, state, "")?;
        Ok(self)
    }
}
