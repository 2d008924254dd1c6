//! Waveforms into mels on a device.
//!
//! The same front ends as the host's ([`myxtts_audio::MelFrontEnd`]), from the
//! same [`MelSpec`], window and filter bank, for batches and with gradients.

mod mels;
mod spectrum;

pub use mels::{Mels, Upload};
pub use spectrum::Transform;

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::units::Samples;
use myxtts_audio::{Compression, MelError, MelSpec};
use spectrum::PowerSpectrum;

/// The number that `torch.nn.InstanceNorm1d` adds to a variance.
const INSTANCE_NORM_EPSILON: f64 = 1e-5;

/// Computes mels of one [`MelSpec`] on one device.
#[derive(Clone, Debug)]
pub struct DeviceMel {
    spec: MelSpec,
    spectrum: PowerSpectrum,
    bank_kb: Tensor<2>,
    stats_1b: Option<Tensor<2>>,
}

impl DeviceMel {
    /// Prepares a front end. `stats` divides each band, after the logarithm.
    pub fn new(spec: MelSpec, stats: Option<&[f32]>, device: &Device) -> Result<Self, MelError> {
        Self::by(Transform::of(&spec), spec, stats, device)
    }

    /// Prepares a front end with the given transform. An FFT needs a power of two.
    pub fn by(
        transform: Transform,
        spec: MelSpec,
        stats: Option<&[f32]>,
        device: &Device,
    ) -> Result<Self, MelError> {
        spec.check(stats)?;
        let bins = spec.n_fft.0 / 2 + 1;
        let bank = TensorData::new(spec.dense_filter_bank(), [bins, spec.bands]);
        Ok(Self {
            spectrum: PowerSpectrum::new(transform, &spec, device),
            bank_kb: Tensor::from_data(bank, device),
            stats_1b: stats.map(|stats| {
                Tensor::from_data(TensorData::new(stats.to_vec(), [1, spec.bands]), device)
            }),
            spec,
        })
    }

    /// Computes mels `(batch, bands, frames)` of waveforms `(batch, samples)`.
    ///
    /// A clip padded with zeros has the mel of the padded clip, as in the reference: the edge
    /// that is reflected is that of the padding.
    pub fn forward(&self, wave_bt: Tensor<2>) -> Result<Tensor<3>, MelError> {
        let [batch, length] = wave_bt.dims();
        let (length, shortest) = (Samples(length), self.spec.shortest());
        if length < shortest {
            return Err(MelError::TooShort { length, shortest });
        }
        let frames = self.spec.frames(length).0;
        let wave_bt = match self.spec.pre_emphasis {
            Some(amount) => pre_emphasised(wave_bt, amount),
            None => wave_bt,
        };
        let power_nk = self.spectrum.forward(wave_bt);
        let mut mel_nb = power_nk.clone().matmul(beside(&self.bank_kb, &power_nk));
        mel_nb = match self.spec.compression {
            Compression::Power => mel_nb,
            Compression::LogFloor(floor) => mel_nb.clamp_min(floor).log(),
            Compression::LogOffset(offset) => (mel_nb + offset).log(),
        };
        if let Some(stats_1b) = &self.stats_1b {
            let stats_1b = beside(stats_1b, &mel_nb);
            mel_nb = mel_nb / stats_1b;
        }
        let mel_bct = mel_nb
            .reshape([batch, frames, self.spec.bands])
            .swap_dims(1, 2);
        Ok(if self.spec.instance_norm {
            standardised(mel_bct)
        } else {
            mel_bct
        })
    }
}

/// Puts a constant where it can be combined with `x`, which may carry a gradient.
fn beside<const D: usize, const E: usize>(constant: &Tensor<D>, x: &Tensor<E>) -> Tensor<D> {
    let constant = constant.clone();
    if x.is_autodiff() && !constant.is_autodiff() {
        Tensor::from_inner(constant)
    } else {
        constant
    }
}

/// Computes `y[t] = x[t] - a x[t - 1]`, where the sample before the first is a reflection.
fn pre_emphasised(x_bt: Tensor<2>, amount: f32) -> Tensor<2> {
    let [_, length] = x_bt.dims();
    let second_b1 = x_bt.clone().narrow(1, 1, 1);
    let but_last_bt = x_bt.clone().narrow(1, 0, length - 1);
    let before_bt = Tensor::cat(vec![second_b1, but_last_bt], 1);
    x_bt - before_bt * amount
}

/// Scales each band to mean 0 and variance 1 over time.
fn standardised(mel_bct: Tensor<3>) -> Tensor<3> {
    let centred_bct = mel_bct.clone() - mel_bct.mean_dim(2);
    let variance_bc1 = centred_bct.clone().square().mean_dim(2);
    centred_bct / (variance_bc1 + INSTANCE_NORM_EPSILON).sqrt()
}
