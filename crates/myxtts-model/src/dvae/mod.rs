//! The DVAE: mel frames to codes and back.

mod blocks;
mod codebook;
mod config;
mod training;

pub use blocks::{Branch, Double, Halve, Layer, ResBlock};
pub use codebook::{Codebook, MovingAverage};
pub use config::{DvaeConfig, DvaeConfigError, DvaeParameters};
pub use training::{DvaeStep, RaggedMel, Reconstruction};

use burn::module::Module;
use burn::tensor::{Int, Tensor};

use crate::init::Init;

/// A discrete variational autoencoder of mels.
#[derive(Module, Debug)]
pub struct Dvae {
    /// Turns a mel into vectors.
    pub encoder: Vec<Layer>,
    /// Turns vectors into a mel.
    pub decoder: Vec<Layer>,
    /// Turns vectors into codes and back.
    pub codebook: Codebook,
}

impl Dvae {
    /// Makes a new DVAE.
    pub fn new(init: &Init, config: &DvaeConfig) -> Result<Self, DvaeConfigError> {
        config.check()?;
        Ok(Self {
            encoder: blocks::encoder(init, config),
            decoder: blocks::decoder(init, config),
            codebook: Codebook::new(init, config.codebook_dim, config.codes),
        })
    }

    /// Returns the encoder's vectors of a mel, `(batch, channels, codes)`.
    ///
    /// Convolutions see the frames of padding after a clip, as in the reference: a padded clip
    /// has the codes of its padded wave.
    pub fn vectors(&self, mel_bct: Tensor<3>) -> Tensor<3> {
        run(&self.encoder, mel_bct)
    }

    /// Returns the codes of a mel, `(batch, codes)`.
    pub fn encode(&self, mel_bct: Tensor<3>) -> Tensor<2, Int> {
        let z_bct = self.vectors(mel_bct);
        let [batch, _, time] = z_bct.dims();
        self.codebook.lookup(flat(z_bct)).reshape([batch, time])
    }

    /// Returns the mel of codes.
    pub fn decode(&self, codes_bt: Tensor<2, Int>) -> Tensor<3> {
        let [batch, time] = codes_bt.dims();
        let q_nc = self.codebook.vectors(codes_bt.reshape([batch * time]));
        run(&self.decoder, unflat(q_nc, batch))
    }
}

fn run(layers: &[Layer], x_bct: Tensor<3>) -> Tensor<3> {
    layers.iter().fold(x_bct, |x, layer| layer.forward(x))
}

/// Reshapes `(batch, channels, time)` to `(batch * time, channels)`.
fn flat(x_bct: Tensor<3>) -> Tensor<2> {
    let [batch, channels, time] = x_bct.dims();
    x_bct.swap_dims(1, 2).reshape([batch * time, channels])
}

/// Undoes [`flat`] for a batch of this size.
fn unflat(x_nc: Tensor<2>, batch: usize) -> Tensor<3> {
    let [rows, channels] = x_nc.dims();
    x_nc.reshape([batch, rows / batch, channels])
        .swap_dims(1, 2)
}
