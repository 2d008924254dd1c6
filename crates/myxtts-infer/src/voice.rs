//! A voice, from recordings.
//!
//! The GPT takes a voice as latents, the waveform decoder as a vector. Both are computed once
//! per voice, and are all that is kept of it.

use burn::tensor::{Device, Tensor};
use myxtts_audio::Waveform;
use myxtts_audio::units::{Decibels, Samples, Seconds};
use myxtts_model::generate::SpeakingGpt;
use myxtts_model::gpt::Quirks;
use myxtts_model::mel::Mels;
use myxtts_weights::XttsConfig;

use crate::card::ModelCard;
use crate::check::CardFault;
use crate::decoder::Decoder;
use crate::error::InferError;

/// The shortest recording that the public implementation takes.
const LEAST: Seconds = Seconds(0.33);

/// A recording whose highest sample is below this has no voice in it; `prepare` leaves such
/// clips out as well.
const SILENCE: Decibels = Decibels(-60.0);

/// What a model knows of a voice.
#[derive(Clone, Debug)]
pub struct Voice {
    /// The latents for the GPT: `(1, latents, channels)`.
    pub latents_1nd: Tensor<3>,
    /// The vector for the waveform decoder, if the model has one: `(1, channels, 1)`.
    pub vector_1c1: Option<Tensor<3>>,
}

/// How much of a speaker's recordings the model listens to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReferenceSpec {
    /// How much of each recording is used.
    pub of_each: Seconds,
    /// How much of all recordings together the GPT listens to; 0 is everything.
    pub by_gpt: Seconds,
    /// The length of the segments that the GPT listens to.
    pub segment: Seconds,
    /// The share of full scale that each recording's highest sample is brought to, if any.
    pub peak: Option<f32>,
}

impl Default for ReferenceSpec {
    /// Returns the settings of the released model.
    fn default() -> Self {
        Self {
            of_each: Seconds(30.0),
            by_gpt: Seconds(30.0),
            segment: Seconds(4.0),
            peak: None,
        }
    }
}

impl ReferenceSpec {
    /// Returns the settings of public files.
    pub(crate) fn of(config: &XttsConfig) -> Result<Self, CardFault> {
        for (field, seconds) in [
            ("max_ref_len", config.max_ref_len),
            ("gpt_cond_chunk_len", config.gpt_cond_chunk_len),
        ] {
            if seconds == 0 {
                let needed = "at least a second of a recording is needed";
                return Err(CardFault::new(format!("xtts.{field}"), seconds, needed));
            }
        }
        let seconds = |count: u32| Seconds(f64::from(count));
        Ok(Self {
            of_each: seconds(config.max_ref_len),
            by_gpt: seconds(config.gpt_cond_len),
            segment: seconds(config.gpt_cond_chunk_len),
            // The public implementation's level.
            peak: config.sound_norm_refs.then_some(0.75),
        })
    }
}

/// Turns recordings into voices.
pub(crate) struct Listener<'a> {
    pub(crate) card: &'a ModelCard,
    pub(crate) references: ReferenceSpec,
    pub(crate) gpt: &'a SpeakingGpt,
    pub(crate) mels: &'a mut Mels,
    pub(crate) decoder: Option<&'a mut Decoder>,
    pub(crate) device: &'a Device,
}

impl Listener<'_> {
    /// Returns the voice of one speaker's recordings.
    pub(crate) fn voice(&mut self, recordings: &[Waveform]) -> Result<Voice, InferError> {
        let mut heard: Vec<Vec<f32>> = vec![];
        for recording in recordings {
            accept(self.card, &self.references, recording)?;
            heard.push(self.cut(recording));
        }
        if heard.is_empty() {
            return Err(InferError::NoReference);
        }
        let segments = match self.card.quirks {
            Quirks::Compat => self.public_segments(&heard.concat()),
            Quirks::Fixed => heard.iter().flat_map(|wave| self.segments(wave)).collect(),
        };
        let mut latents = vec![];
        for segment in segments {
            let mel_1cs = self.mels.forward(&segment, 1, self.device)?;
            latents.push(self.gpt.condition(mel_1cs));
        }
        let latents_1nd = Tensor::cat(latents, 0).mean_dim(0);
        let vector_1c1 = match &mut self.decoder {
            Some(decoder) => Some(decoder.vector(&heard, latents_1nd.clone())?),
            None => None,
        };
        Ok(Voice {
            latents_1nd,
            vector_1c1,
        })
    }

    /// Returns the part of a recording that is used, at its level.
    fn cut(&self, recording: &Waveform) -> Vec<f32> {
        let spec = &self.references;
        let samples = &recording.samples;
        let Samples(most) = Samples::in_time(spec.of_each, recording.rate);
        let mut heard = samples[..samples.len().min(most.max(1))].to_vec();
        let loudest = peak(&heard);
        if let Some(level) = spec.peak.filter(|_| loudest > 0.0) {
            heard.iter_mut().for_each(|x| *x *= level / loudest);
        }
        heard
    }

    /// Joins all recordings and cuts them into segments of one length. A remainder under a third
    /// of a second is dropped if there is more.
    fn public_segments(&self, wave: &[f32]) -> Vec<Vec<f32>> {
        let rate = self.card.audio.sample_rate;
        let [Samples(most), Samples(segment), Samples(least)] =
            [self.references.by_gpt, self.references.segment, LEAST]
                .map(|of| Samples::in_time(of, rate));
        let heard = match most {
            0 => wave,
            _ => &wave[..wave.len().min(most)],
        };
        let mut segments: Vec<Vec<f32>> = vec![];
        for piece in heard.chunks(segment.max(1)) {
            if segments.is_empty() || piece.len() >= least {
                segments.push(piece.to_vec());
            }
        }
        segments
    }

    /// Cuts a recording into segments of the longest length that training uses.
    ///
    /// Training pads a shorter segment with silence to that length, and so does this. A
    /// remainder shorter than training's shortest segment is dropped if there is more.
    fn segments(&self, wave: &[f32]) -> Vec<Vec<f32>> {
        let Samples(longest) = self.card.conditioning.max.max(Samples(1));
        let mut segments: Vec<Vec<f32>> = vec![];
        for piece in wave.chunks(longest) {
            if segments.is_empty() || Samples(piece.len()) >= self.card.conditioning.min {
                let mut segment = piece.to_vec();
                segment.resize(longest, 0.0);
                segments.push(segment);
            }
        }
        segments
    }
}

/// Refuses a recording that has no voice in it, or none in the part that is used.
pub(crate) fn accept(
    card: &ModelCard,
    references: &ReferenceSpec,
    recording: &Waveform,
) -> Result<(), InferError> {
    let needed = card.audio.sample_rate;
    if recording.rate != needed {
        let found = recording.rate;
        return Err(InferError::Rate { found, needed });
    }
    if recording.duration().0 < LEAST.0 {
        let (found, least) = (recording.duration(), LEAST);
        return Err(InferError::ShortReference { found, least });
    }
    let Samples(most) = Samples::in_time(references.of_each, recording.rate);
    let heard = Waveform {
        samples: recording.samples[..recording.samples.len().min(most.max(1))].to_vec(),
        rate: recording.rate,
    };
    let peak = peak(&heard.samples);
    if peak < SILENCE.amplitude() {
        let length = heard.duration();
        return Err(InferError::SilentReference { length, peak });
    }
    Ok(())
}

fn peak(samples: &[f32]) -> f32 {
    samples.iter().fold(0.0_f32, |peak, x| peak.max(x.abs()))
}
