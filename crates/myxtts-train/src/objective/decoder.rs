//! The waveform decoder in training: a generator against its discriminators.

use burn::module::Module;
use burn::tensor::{Device, Gradients, Tensor};
use myxtts_audio::MelError;
use myxtts_model::hifigan::{
    Discriminator, HifiganDecoder, Judgement, MelLoss, SpectralLoss, discriminator_loss,
    feature_matching_loss, generator_adversarial_loss,
};
use myxtts_model::params::{Unread, Weights, load, unread};

use super::{Loss, Trainee};
use crate::feed::DecoderBatch;
use crate::optim::{AdamW, NamedGradients};

/// What HiFi-GAN multiplies the difference of mels by. Feature matching has its factor of two
/// already.
const MEL_WEIGHT: f64 = 45.0;

/// The phase that trains the discriminators; the other trains the generator.
pub(crate) const JUDGES: usize = 0;

/// The acts of a stage, in this order: the generator alone learns spectra, the discriminators
/// alone learn to tell its speech from recordings, and both learn from each other until the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecoderActs {
    /// Steps of the first act.
    pub spectral: u64,
    /// Steps of the second act.
    pub judges: u64,
    /// Steps over which the generator's rate rises again after the second act.
    pub rise: u64,
    /// The generator's learning rate as a share of the discriminators'.
    pub generator_pace: f64,
}

impl Default for DecoderActs {
    /// Trains as HiFi-GAN does: both from the first step on, at one rate.
    fn default() -> Self {
        Self {
            spectral: 0,
            judges: 0,
            rise: 0,
            generator_pace: 1.0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Spectral,
    Judges,
    Both,
}

impl DecoderActs {
    fn act(&self, step: u64) -> Act {
        match step {
            step if step < self.spectral => Act::Spectral,
            step if step < self.both() => Act::Judges,
            _ => Act::Both,
        }
    }

    /// Returns the first step of the third act.
    fn both(&self) -> u64 {
        self.spectral.saturating_add(self.judges)
    }

    /// Returns a phase's share of the learning rate. A generator that has stood still starts
    /// again as gently as at first.
    fn pace(&self, phase: usize, step: u64) -> f64 {
        if phase == JUDGES {
            return 1.0;
        }
        let taken = match step.checked_sub(self.both()) {
            Some(taken) if self.judges > 0 && taken < self.rise => taken + 1,
            _ => return self.generator_pace,
        };
        self.generator_pace * taken as f64 / self.rise as f64
    }
}

/// A decoder and its discriminators.
#[derive(Debug)]
pub struct DecoderTrainee {
    /// The decoder; its parameters are on an autodiff device.
    pub decoder: HifiganDecoder,
    /// The discriminators; their parameters are on an autodiff device as well.
    pub judges: Discriminator,
    mel: MelLoss,
    spectral: SpectralLoss,
    acts: DecoderActs,
    /// The step that was entered last.
    step: u64,
}

impl DecoderTrainee {
    /// Trains a decoder against discriminators on the same device.
    pub fn new(decoder: HifiganDecoder, judges: Discriminator) -> Result<Self, MelError> {
        let device = decoder.waveform_decoder.conv_pre.weight.val().device();
        Ok(Self {
            mel: MelLoss::new(&device.clone().inner())?,
            spectral: SpectralLoss::new(&device.inner())?,
            decoder,
            judges,
            acts: DecoderActs::default(),
            step: 0,
        })
    }

    /// Adds the acts before the one in which both learn.
    #[must_use]
    pub fn with_acts(self, acts: DecoderActs) -> Self {
        Self { acts, ..self }
    }

    /// The generator's loss without discriminators: its spectra should be the recording's, at
    /// several resolutions.
    fn shaping(&self, batch: &DecoderBatch, share: f64) -> Result<Loss<()>, MelError> {
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
    fn judging(&self, batch: &DecoderBatch, share: f64) -> Loss<()> {
        let generator = self.decoder.valid().waveform_decoder;
        let made_b1t = generator.forward(batch.frames_bct.clone(), batch.voice_bc1.clone());
        let heard = |wave_b1t: Tensor<3>| self.judges.forward(Tensor::from_inner(wave_b1t));
        let loss = discriminator_loss(&heard(batch.wave_b1t.clone()), &heard(made_b1t)) * share;
        Loss {
            parts: vec![("loss_discriminator", loss.clone().inner().detach())],
            total: loss,
            trace: (),
        }
    }

    /// The loss of the generator: the discriminators should take its sound for speech and find in
    /// each layer what they find in speech, and its mel should be the recording's.
    fn generating(&self, batch: &DecoderBatch, share: f64) -> Result<Loss<()>, MelError> {
        let [frames_bct, voice_bc1] =
            [&batch.frames_bct, &batch.voice_bc1].map(|x| Tensor::from_inner(x.clone()));
        let made_b1t = self.decoder.waveform_decoder.forward(frames_bct, voice_bc1);
        let real = self.judges.valid().forward(batch.wave_b1t.clone());
        let real: Vec<Judgement> = real.into_iter().map(beside).collect();
        let made = self.judges.clone().no_grad().forward(made_b1t.clone());
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

/// Puts a judgement on the autodiff device, to be compared with one that carries a gradient.
fn beside(judgement: Judgement) -> Judgement {
    Judgement {
        score: Tensor::from_inner(judgement.score),
        features: judgement
            .features
            .into_iter()
            .map(Tensor::from_inner)
            .collect(),
    }
}

impl Trainee for DecoderTrainee {
    type Batch = DecoderBatch;
    type Trace = ();

    const PHASES: usize = 2;

    const WEIGHTS: &'static [(&'static str, &'static str)] = &[
        ("hifigan_decoder.safetensors", "hifigan_decoder."),
        (JUDGES_FILE, ""),
    ];

    fn loss(
        &self,
        phase: usize,
        batch: &DecoderBatch,
        shares: &[f64],
        _key: u64,
    ) -> Result<Loss<()>, String> {
        let share = shares.first().copied().unwrap_or(1.0);
        let loss = match (phase, self.acts.act(self.step)) {
            (JUDGES, _) => Ok(self.judging(batch, share)),
            (_, Act::Spectral) => self.shaping(batch, share),
            _ => self.generating(batch, share),
        };
        loss.map_err(|why| why.to_string())
    }

    fn enter(&mut self, step: u64) -> bool {
        self.step = step;
        let before = step.checked_sub(1).map(|step| self.acts.act(step));
        before.is_some_and(|before| before != self.acts.act(step))
    }

    fn takes_part(&self, phase: usize) -> bool {
        match self.acts.act(self.step) {
            Act::Spectral => phase != JUDGES,
            Act::Judges => phase == JUDGES,
            Act::Both => true,
        }
    }

    fn pace(&self, phase: usize) -> f64 {
        self.acts.pace(phase, self.step)
    }

    fn gradients(&self, phase: usize, gradients: Gradients) -> NamedGradients {
        match phase {
            JUDGES => NamedGradients::collect(&self.judges, gradients),
            _ => NamedGradients::collect(&self.decoder, gradients),
        }
    }

    fn stepped(
        mut self,
        phase: usize,
        optimiser: &mut AdamW,
        gradients: NamedGradients,
        rate: f64,
    ) -> Self {
        match phase {
            JUDGES => self.judges = optimiser.step(self.judges, gradients, rate),
            _ => self.decoder = optimiser.step(self.decoder, gradients, rate),
        }
        self
    }

    fn device(&self) -> Device {
        self.decoder.waveform_decoder.conv_pre.weight.val().device()
    }

    /// Returns `waveform_decoder.*`, and the discriminators' `mpd.*` and `msd.*`.
    fn tensors(&self) -> Vec<Unread> {
        let mut tensors = unread(&self.decoder);
        tensors.extend(unread(&self.judges));
        tensors
    }

    fn with_state(mut self, state: &dyn Weights) -> Result<Self, String> {
        self.decoder = load(self.decoder, state, "").map_err(|why| why.to_string())?;
        self.judges = load(self.judges, state, "").map_err(|why| why.to_string())?;
        Ok(self)
    }
}

/// The discriminators' weights in a checkpoint: needed to resume, but not to speak.
pub(crate) const JUDGES_FILE: &str = "discriminator.safetensors";
