//! The losses of the generator and of the discriminators.

use burn::tensor::{Device, Tensor};
use myxtts_audio::units::{SampleRate, Samples};
use myxtts_audio::{MelError, MelSpec};

use super::discriminator::DiscriminatorOutput;
use crate::mel::DeviceMel;

/// The loss of the discriminators: real speech should score 1, generated speech 0.
pub fn discriminator_loss(
    real: &[DiscriminatorOutput],
    generated: &[DiscriminatorOutput],
) -> Tensor<1> {
    sum(real.iter().zip(generated).map(|(real, generated)| {
        let miss = (real.score.clone() - 1.0).square().mean();
        miss + generated.score.clone().square().mean()
    }))
}

/// A loss of the generator: its speech should score 1.
pub fn generator_adversarial_loss(generated: &[DiscriminatorOutput]) -> Tensor<1> {
    sum(generated
        .iter()
        .map(|output| (output.score.clone() - 1.0).square().mean()))
}

/// A loss of the generator: each layer of each discriminator should hear the same as in real
/// speech. HiFi-GAN counts it twice.
pub fn feature_matching_loss(
    real: &[DiscriminatorOutput],
    generated: &[DiscriminatorOutput],
) -> Tensor<1> {
    let pairs = real.iter().zip(generated);
    let layers = pairs.flat_map(|(real, generated)| real.features.iter().zip(&generated.features));
    sum(layers.map(|(real, generated)| (real.clone().detach() - generated.clone()).abs().mean()))
        * 2.0
}

/// Adds the terms; 0 if there are none, which never happens to discriminators that passed their
/// check.
fn sum(terms: impl Iterator<Item = Tensor<1>>) -> Tensor<1> {
    terms
        .reduce(|a, b| a + b)
        .unwrap_or_else(|| Tensor::zeros([1], &Device::default()))
}

/// A loss of the generator without discriminators: its mels should be those of real speech at
/// several resolutions. Long windows show pitch, short ones timing; what is right in all of them
/// leaves little freedom.
#[derive(Clone, Debug)]
pub struct SpectralLoss {
    mels: Vec<MelLoss>,
}

/// The windows of the spectral loss, with their bands.
const RESOLUTIONS: [(usize, usize); 4] = [(2048, 128), (1024, 80), (512, 48), (256, 24)];

impl SpectralLoss {
    /// Covers the whole band of the decoder's rate, with windows a quarter apart.
    pub fn new(device: &Device) -> Result<Self, MelError> {
        let mels = RESOLUTIONS.map(|(window, bands)| {
            let spec = MelSpec {
                n_fft: Samples(window),
                win_length: Samples(window),
                hop: Samples(window / 4),
                bands,
                ..vocoder_mel()
            };
            Ok(MelLoss::of(DeviceMel::new(spec, None, device)?))
        });
        Ok(Self {
            mels: mels.into_iter().collect::<Result<_, _>>()?,
        })
    }

    /// Returns the mean absolute difference of the mels of waveforms `(batch, 1, samples)`,
    /// averaged over the resolutions.
    pub fn forward(
        &self,
        real_b1t: Tensor<3>,
        generated_b1t: Tensor<3>,
    ) -> Result<Tensor<1>, MelError> {
        let each = self.mels.iter();
        let each = each.map(|mel| mel.forward(real_b1t.clone(), generated_b1t.clone()));
        let each = each.collect::<Result<Vec<_>, _>>()?;
        Ok(sum(each.into_iter()) / self.mels.len() as f64)
    }
}

/// Returns the front end of HiFi-GAN's mel loss.
fn vocoder_mel() -> MelSpec {
    MelSpec {
        sample_rate: SampleRate::VOCODER,
        f_max: f64::from(SampleRate::VOCODER.hz()) / 2.0,
        ..MelSpec::DVAE
    }
}

/// A loss of the generator: its mels should be those of real speech.
#[derive(Clone, Debug)]
pub struct MelLoss {
    front_end: DeviceMel,
}

impl MelLoss {
    /// Covers the whole band of the decoder's rate.
    pub fn new(device: &Device) -> Result<Self, MelError> {
        Ok(Self::of(DeviceMel::new(vocoder_mel(), None, device)?))
    }

    /// Compares the mels of a front end that the caller gives.
    pub(crate) fn of(front_end: DeviceMel) -> Self {
        Self { front_end }
    }

    /// Returns the mean absolute difference of the mels of waveforms `(batch, 1, samples)`.
    /// HiFi-GAN counts it 45 times.
    pub fn forward(
        &self,
        real_b1t: Tensor<3>,
        generated_b1t: Tensor<3>,
    ) -> Result<Tensor<1>, MelError> {
        let mel = |wave_b1t: Tensor<3>| {
            let [batch, _, length] = wave_b1t.dims();
            self.front_end.forward(wave_b1t.reshape([batch, length]))
        };
        Ok((mel(real_b1t)? - mel(generated_b1t)?).abs().mean())
    }
}
