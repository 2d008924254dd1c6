//! What a training step of a DVAE needs from one batch.

use burn::tensor::{Int, Tensor};
use myxtts_base::report;
use serde::{Deserialize, Serialize};

use super::{Dvae, MovingAverage, flat, run, unflat};

/// The measure of how far a mel is from its reconstruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reconstruction {
    /// The square of the difference.
    #[default]
    Mse,
    /// The square below 1, the absolute difference above.
    SmoothL1,
}

impl Reconstruction {
    /// Returns the loss of each element.
    pub fn loss(self, target_bct: Tensor<3>, output_bct: Tensor<3>) -> Tensor<3> {
        let difference_bct = target_bct - output_bct;
        match self {
            Self::Mse => difference_bct.square(),
            Self::SmoothL1 => {
                let size_bct = difference_bct.abs();
                // Below 1 the clamped part is the whole difference, above it is 1.
                let square_bct = size_bct.clone().clamp_max(1.0).square() * 0.5;
                square_bct + (size_bct - 1.0).clamp_min(0.0)
            }
        }
    }
}

/// The mel has a length that its reconstruction cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}",
    report!(
        "a DVAE that makes one code of {stride} frames cannot be trained on {frames} frames";
        fix: "cut segments whose length is a multiple of {stride}"
    )
)]
pub struct RaggedMel {
    /// The frames of the mel.
    pub frames: usize,
    /// The frames of a code.
    pub stride: usize,
}

/// The results of a batch that passed through the DVAE.
#[derive(Clone, Debug)]
pub struct DvaeStep {
    /// The loss of each element of the mel.
    pub reconstruction_bct: Tensor<3>,
    /// The mean squared distance of vectors to their codes; it trains the encoder.
    pub commitment: Tensor<1>,
    /// The reconstructed mel, `(batch, bands, frames)`.
    pub output_bct: Tensor<3>,
    /// The encoder's vectors, `(batch * codes, channels)`, without gradient.
    pub z_nc: Tensor<2>,
    /// The codes of those vectors, in the same order.
    pub codes_n: Tensor<1, Int>,
}

impl Dvae {
    /// Encodes and decodes a batch for training. The gradient passes the
    /// codebook as if it were not there.
    pub fn step(&self, mel_bct: Tensor<3>, loss: Reconstruction) -> Result<DvaeStep, RaggedMel> {
        let [batch, _, frames] = mel_bct.dims();
        let z_bct = self.vectors(mel_bct.clone());
        let stride = self.stride();
        if frames % stride != 0 {
            return Err(RaggedMel { frames, stride });
        }
        let z_nc = flat(z_bct);
        let codes_n = self.codebook.lookup(z_nc.clone().detach());
        let q_nc = self.codebook.vectors(codes_n.clone());
        let commitment = (q_nc.clone() - z_nc.clone()).square().mean();
        let through_nc = z_nc.clone() + (q_nc - z_nc.clone()).detach();
        let output_bct = run(&self.decoder, unflat(through_nc, batch));
        Ok(DvaeStep {
            reconstruction_bct: loss.loss(mel_bct, output_bct.clone()),
            commitment,
            output_bct,
            z_nc: z_nc.detach(),
            codes_n,
        })
    }

    /// Updates the codebook with the vectors of a batch.
    #[must_use]
    pub fn with_moved_codebook(mut self, step: &DvaeStep, average: MovingAverage) -> Self {
        self.codebook = self
            .codebook
            .moved(step.z_nc.clone(), step.codes_n.clone(), average);
        self
    }

    /// Seeds the codebook with the encoder's vectors of these mels.
    #[must_use]
    pub fn with_seeded_codebook(mut self, mel_bct: Tensor<3>, key: u64) -> Self {
        let z_nc = flat(self.vectors(mel_bct));
        self.codebook = self.codebook.seeded(z_nc, key);
        self
    }

    fn stride(&self) -> usize {
        let halvings = self
            .encoder
            .iter()
            .filter(|layer| matches!(layer, super::Layer::Halve(_)));
        1 << halvings.count()
    }
}
