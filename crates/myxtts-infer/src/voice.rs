//! A voice from recordings.

use burn::tensor::{Device, Tensor};
use myxtts_audio::Waveform;
use myxtts_audio::units::{Decibels, Samples, Seconds};
use myxtts_model::gpt::{Gpt, Quirks};
use myxtts_model::mel::Mels;

use crate::card::ModelCard;
use crate::error::InferError;

/// The least of a recording that the public implementation takes.
const LEAST: Seconds = Seconds(0.33);

/// A recording whose highest sample is below has no voice in it; `prepare`
/// leaves such clips out, too.
const SILENCE: Decibels = Decibels(-60.0);

/// What the GPT knows of a voice: `(1, latents, channels)`.
#[derive(Clone, Debug)]
pub struct VoiceLatents {
    /// The mean over the segments of the recordings.
    pub latents_1nd: Tensor<3>,
}

impl VoiceLatents {
    pub(crate) fn of(
        references: &[Waveform],
        card: &ModelCard,
        gpt: &Gpt,
        mels: &mut Mels,
        device: &Device,
    ) -> Result<Self, InferError> {
        let mut latents = Vec::new();
        for reference in references {
            for segment in segments(reference, card)? {
                let mel_1cs = mels.forward(&segment, 1, device)?;
                latents.push(gpt.condition(mel_1cs));
            }
        }
        if latents.is_empty() {
            return Err(InferError::NoReference);
        }
        Ok(Self {
            latents_1nd: Tensor::cat(latents, 0).mean_dim(0),
        })
    }
}

/// A recording in segments of the length training uses at most.
///
/// Training pads a shorter segment with silence to that length, and so does
/// this; the public implementation leaves it short when it speaks. A rest that
/// is shorter than training's shortest is left out, where there is more.
fn segments(reference: &Waveform, card: &ModelCard) -> Result<Vec<Vec<f32>>, InferError> {
    let needed = card.audio.sample_rate;
    if reference.rate != needed {
        let found = reference.rate;
        return Err(InferError::Rate { found, needed });
    }
    if reference.duration().0 < LEAST.0 {
        let (found, least) = (reference.duration(), LEAST);
        return Err(InferError::ShortReference { found, least });
    }
    let samples = &reference.samples;
    let peak = samples.iter().fold(0.0_f32, |peak, x| peak.max(x.abs()));
    if peak < SILENCE.amplitude() {
        let length = reference.duration();
        return Err(InferError::SilentReference { length, peak });
    }
    let Samples(longest) = card.conditioning.max.max(Samples(1));
    let shortest = match card.quirks {
        Quirks::Fixed => card.conditioning.min,
        Quirks::Compat => LEAST.samples(needed),
    };
    let mut segments: Vec<Vec<f32>> = Vec::new();
    for piece in reference.samples.chunks(longest) {
        if !segments.is_empty() && Samples(piece.len()) < shortest {
            continue;
        }
        let mut segment = piece.to_vec();
        if card.quirks == Quirks::Fixed {
            segment.resize(longest, 0.0);
        }
        segments.push(segment);
    }
    Ok(segments)
}
