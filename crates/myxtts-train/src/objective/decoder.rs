//! The waveform decoder in training: a generator against its discriminators.

use burn::module::Module;
use burn::tensor::{Device, Gradients, Tensor};
use myxtts_audio::MelError;
use myxtts_device::EngineError;
use myxtts_model::hifigan::{
    Discriminator, DiscriminatorOutput, HifiganDecoder, MelLoss, SpectralLoss, discriminator_loss,
    feature_matching_loss, generator_adversarial_loss,
};
use myxtts_model::params::{LoadError, Unread, Weights, load, unread};

use super::{Loss, Objective};
use crate::feed::DecoderBatch;
use crate::optim::{AdamW, NamedGradients};

/// What HiFi-GAN multiplies the difference of mels by. Feature matching has its factor of two
/// already.
const MEL_WEIGHT: f64 = 45.0;

/// The phase that trains the discriminators; the other trains the generator.
pub(crate) const DISCRIMINATOR: usize = 0;

/// The curriculum of a stage, in this order: the generator alone learns spectra, the discriminators
/// alone learn to tell its speech from recordings, and both learn from each other until the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecoderCurriculum {
    /// Steps of the first part.
    pub spectral: u64,
    /// Steps of the second part.
    pub discriminator: u64,
    /// Steps over which the generator's rate rises again after the second part.
    pub rise: u64,
    /// The generator's learning rate as a share of the discriminators'.
    pub generator_lr_scale: f64,
}

impl Default for DecoderCurriculum {
    /// Trains as HiFi-GAN does: both from the first step on, at one rate.
    fn default() -> Self {
        Self {
            spectral: 0,
            discriminator: 0,
            rise: 0,
            generator_lr_scale: 1.0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LearningPart {
    Spectral,
    Discriminator,
    Both,
}

impl DecoderCurriculum {
    fn part_at(&self, step: u64) -> LearningPart {
        match step {
            step if step < self.spectral => LearningPart::Spectral,
            step if step < self.both() => LearningPart::Discriminator,
            _ => LearningPart::Both,
        }
    }

    /// Returns the first step of the third part.
    fn both(&self) -> u64 {
        self.spectral.saturating_add(self.discriminator)
    }

    /// Returns a phase's share of the learning rate. A generator that has stood still starts
    /// again as gently as at first.
    fn lr_scale(&self, phase: usize, step: u64) -> f64 {
        if phase == DISCRIMINATOR {
            return 1.0;
        }
        let taken = match step.checked_sub(self.both()) {
            Some(taken) if self.discriminator > 0 && taken < self.rise => taken + 1,
            _ => return self.generator_lr_scale,
        };
        self.generator_lr_scale * taken as f64 / self.rise as f64
    }
}

/// A decoder and its discriminators.
#[derive(Debug)]
pub struct DecoderObjective {
    /// The decoder; its parameters are on an autodiff device.
    pub decoder: HifiganDecoder,
    /// The discriminators; their parameters are on an autodiff device as well.
    pub discriminator: Discriminator,
    mel: MelLoss,
    spectral: SpectralLoss,
    curriculum: DecoderCurriculum,
    /// The step that was entered last.
    step: u64,
}

impl DecoderObjective {
    /// Trains a decoder against discriminators on the same device.
    pub fn new(decoder: HifiganDecoder, discriminator: Discriminator) -> Result<Self, MelError> {
        let device = decoder.waveform_decoder.conv_pre.weight.val().device();
        Ok(Self {
            mel: MelLoss::new(&device.clone().inner())?,
            spectral: SpectralLoss::new(&device.inner())?,
            decoder,
            discriminator,
            curriculum: DecoderCurriculum::default(),
            step: 0,
        })
    }

    /// Adds the parts before the one in which both learn.
    #[must_use]
    pub fn with_curriculum(self, curriculum: DecoderCurriculum) -> Self {
        Self { curriculum, ..self }
    }

    /// The generator's loss without discriminators: its spectra should be the recording's, at
    /// several resolutions.
    fn generator_spectral_loss(
        &self,
        batch: &DecoderBatch,
        share: f64,
    ) -> Result<Loss<()>, MelError> {
        let [frames_bct, voice_bc1] =
            [&batch.frames_bct, &batch.voice_bc1].map(|x| Tensor::from_inner(x.clone()));
        let made_b1t = self.decoder.waveform_decoder.forward(frames_bct, voice_bc1);
        let real_b1t = Tensor::from_inner(batch.wave_b1t.clone());
        let spectra = self.spectral.forward(real_b1t, made_b1t)? * share;
        Ok(Loss {
            parts: vec![("loss_spectra", spectra.clone().inner().detach())],
            total: spectra * MEL_WEIGHT,
            trace: (),
        })
    }

    /// The loss of the discriminators: real speech should score 1, and the generator's 0. The
    /// generator runs without autodiff, so nothing is computed backward through it.
    fn discriminators_loss(&self, batch: &DecoderBatch, share: f64) -> Loss<()> {
        let generator = self.decoder.valid().waveform_decoder;
        let made_b1t = generator.forward(batch.frames_bct.clone(), batch.voice_bc1.clone());
        let scores = |wave_b1t: Tensor<3>| self.discriminator.forward(Tensor::from_inner(wave_b1t));
        let loss = discriminator_loss(&scores(batch.wave_b1t.clone()), &scores(made_b1t)) * share;
        Loss {
            parts: vec![("loss_discriminator", loss.clone().inner().detach())],
            total: loss,
            trace: (),
        }
    }

    /// The loss of the generator: the discriminators should take its sound for speech and find in
    /// each layer what they find in speech, and its mel should be the recording's.
    fn generator_loss(&self, batch: &DecoderBatch, share: f64) -> Result<Loss<()>, MelError> {
        let [frames_bct, voice_bc1] =
            [&batch.frames_bct, &batch.voice_bc1].map(|x| Tensor::from_inner(x.clone()));
        let made_b1t = self.decoder.waveform_decoder.forward(frames_bct, voice_bc1);
        let real = self.discriminator.valid().forward(batch.wave_b1t.clone());
        let real: Vec<DiscriminatorOutput> = real.into_iter().map(beside).collect();
        let made = self
            .discriminator
            .clone()
            .no_grad()
            .forward(made_b1t.clone());
        let adversarial = generator_adversarial_loss(&made) * share;
        let features = feature_matching_loss(&real, &made) * share;
        let real_b1t = Tensor::from_inner(batch.wave_b1t.clone());
        let mel = self.mel.forward(real_b1t, made_b1t)? * share;
        let part = |loss: &Tensor<1>| loss.clone().inner().detach();
        Ok(Loss {
            parts: vec![
                ("loss_mel", part(&mel)),
                ("loss_features", part(&features)),
                ("loss_adversarial", part(&adversarial)),
            ],
            total: adversarial + features + mel * MEL_WEIGHT,
            trace: (),
        })
    }
}

/// Puts an output on the autodiff device, to be compared with one that carries a gradient.
fn beside(output: DiscriminatorOutput) -> DiscriminatorOutput {
    DiscriminatorOutput {
        score: Tensor::from_inner(output.score),
        features: output
            .features
            .into_iter()
            .map(Tensor::from_inner)
            .collect(),
    }
}

impl Objective for DecoderObjective {
    type Batch = DecoderBatch;
    type Trace = ();

    const PHASES: usize = 2;

    const WEIGHTS: &'static [(&'static str, &'static str)] = &[
        ("hifigan_decoder.safetensors", "hifigan_decoder."),
        (DISCRIMINATOR_FILE, ""),
    ];

    fn loss(
        &self,
        phase: usize,
        batch: &DecoderBatch,
        shares: &[f64],
        _key: u64,
    ) -> Result<Loss<()>, EngineError> {
        let share = shares.first().copied().unwrap_or(1.0);
        let loss = match (phase, self.curriculum.part_at(self.step)) {
            (DISCRIMINATOR, _) => Ok(self.discriminators_loss(batch, share)),
            (_, LearningPart::Spectral) => self.generator_spectral_loss(batch, share),
            _ => self.generator_loss(batch, share),
        };
        loss.map_err(EngineError::new)
    }

    fn begin_step(&mut self, step: u64) -> bool {
        self.step = step;
        let before = step
            .checked_sub(1)
            .map(|step| self.curriculum.part_at(step));
        before.is_some_and(|before| before != self.curriculum.part_at(step))
    }

    fn is_phase_active(&self, phase: usize) -> bool {
        match self.curriculum.part_at(self.step) {
            LearningPart::Spectral => phase != DISCRIMINATOR,
            LearningPart::Discriminator => phase == DISCRIMINATOR,
            LearningPart::Both => true,
        }
    }

    fn lr_scale(&self, phase: usize) -> f64 {
        self.curriculum.lr_scale(phase, self.step)
    }

    fn gradients(&self, phase: usize, gradients: Gradients) -> NamedGradients {
        match phase {
            DISCRIMINATOR => NamedGradients::collect(&self.discriminator, gradients),
            _ => NamedGradients::collect(&self.decoder, gradients),
        }
    }

    fn apply(
        mut self,
        phase: usize,
        optimizer: &mut AdamW,
        gradients: NamedGradients,
        rate: f64,
    ) -> Self {
        match phase {
            DISCRIMINATOR => {
                self.discriminator = optimizer.step(self.discriminator, gradients, rate)
            }
            _ => self.decoder = optimizer.step(self.decoder, gradients, rate),
        }
        self
    }

    fn device(&self) -> Device {
        self.decoder.waveform_decoder.conv_pre.weight.val().device()
    }

    /// Returns `waveform_decoder.*`, and the discriminators' `mpd.*` and `msd.*`.
    fn tensors(&self) -> Vec<Unread> {
        let mut tensors = unread(&self.decoder);
        tensors.extend(unread(&self.discriminator));
        tensors
    }

    fn with_state(mut self, state: &dyn Weights) -> Result<Self, LoadError> {
        self.decoder = load(self.decoder, state, "")?;
        self.discriminator = load(self.discriminator, state, "")?;
        Ok(self)
    }
}

/// The discriminators' weights in a checkpoint: needed to resume, but not to speak.
pub(crate) const DISCRIMINATOR_FILE: &str = "discriminator.safetensors";
