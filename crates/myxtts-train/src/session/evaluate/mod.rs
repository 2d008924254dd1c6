//! What happens beside training: validation, samples to listen to, the model's files for a
//! checkpoint.

mod decoder;
mod dvae;
mod fixed_batches;
mod gpt;
mod sampling;

use std::io;

use burn::module::Module;
use burn::tensor::Tensor;
use myxtts_audio::wav_pcm16;
use myxtts_model::params::load;
use myxtts_run::checkpoint::Content;
use myxtts_run::signals::StopRequest;
use myxtts_weights::{OursDescription, OursFiles, Outgoing};

pub(crate) use decoder::DecoderEvaluator;
pub(crate) use dvae::{CODES_MADE, CODES_USED, DvaeEvaluator};
pub(crate) use fixed_batches::fixed_segments;
pub(crate) use gpt::{GptEvaluator, MOST_VALIDATED};

use super::samples::SampleSet;
use super::saving::streamed;
use super::training_data::Voice;
use crate::error::TrainError;
use crate::train_loop::{Ema, State};

/// The name of the number that every stage is validated by first; lower is better.
pub(crate) const VALIDATED: &str = "val_loss_mel";

/// What a stage does beside training.
pub(crate) trait Evaluator<T> {
    /// Computes numbers on clips that are not trained on; the first is the one to minimize. Empty
    /// if there are no such clips. Gives up when `stop` is requested.
    fn validate(
        &mut self,
        state: &State<T>,
        stop: &StopRequest,
    ) -> Result<Vec<(&'static str, f32)>, TrainError>;

    /// Prepares samples to listen to: all of them at the end of the stage, fewer before.
    fn samples(
        &mut self,
        state: &State<T>,
        all: bool,
        stop: &StopRequest,
    ) -> Result<Rendering, TrainError>;

    /// Determines what is stored with a model once its stage is over, and returns a line for
    /// people, if there is one. Gives up when `stop` is requested.
    fn conclude(
        &mut self,
        _state: &State<T>,
        _stop: &StopRequest,
    ) -> Result<Option<String>, TrainError> {
        Ok(None)
    }

    /// Returns the model's files for a checkpoint, with averaged weights where an average is
    /// kept: they are what synthesis and export read.
    fn contents<'a>(&'a self, state: &'a State<T>) -> Result<Vec<Content<'a>>, TrainError>;

    /// Returns the floating-point operations of a padded position, forward and backward.
    fn flops_per_position(&self) -> Option<f64> {
        None
    }
}

/// Work that renders samples. It owns all it needs, including the weights of its step, so that
/// another thread can do it while training continues. Gives up between two clips when a stop is
/// requested.
pub(crate) type Rendering = Box<dyn FnOnce(&StopRequest) -> Result<SampleSet, TrainError> + Send>;

/// Loads averaged weights into the model, where an average is kept.
fn averaged<M: Module>(model: M, ema: Option<&Ema>) -> Result<M, TrainError> {
    match ema {
        Some(ema) => load(model, ema.weights(), "").map_err(TrainError::failed),
        None => Ok(model),
    }
}

/// Returns a model's files, with a recording of each speaker for `myxtts synthesize`.
fn model_files<'a>(
    model: Outgoing<'a>,
    voices: &'a [Voice],
) -> Result<Vec<Content<'a>>, TrainError> {
    let OursFiles {
        tensors,
        vocabulary,
        description,
    } = model.files().map_err(TrainError::failed)?;
    let tensors = tensors.into_iter();
    let mut contents: Vec<Content<'a>> = tensors
        .map(|(name, stream)| streamed(name, stream))
        .collect();
    contents.extend(vocabulary.map(|(name, bytes)| Content::bytes(name, bytes)));
    contents.push(Content::description(OursDescription::NAME, |files| {
        let files = files.iter();
        let hashes = files.map(|file| (file.name.clone(), file.blake3.clone()));
        description.text(hashes.collect()).map_err(io::Error::other)
    }));
    contents.extend(voice_files(voices));
    Ok(contents)
}

fn voice_files<'a>(voices: &'a [Voice]) -> impl Iterator<Item = Content<'a>> {
    voices.iter().filter_map(|voice| {
        let bytes = wav_pcm16(&voice.waveform)?;
        Some(Content::bytes(format!("voices/{}.wav", voice.name), bytes))
    })
}

/// Reads a number from the device.
fn read(value: Tensor<1>) -> Result<f64, TrainError> {
    let values = value.try_into_vec_as::<f32>().map_err(TrainError::failed)?;
    Ok(values.first().map_or(f64::NAN, |value| f64::from(*value)))
}
