//! Validation, samples and files of the DVAE.

use std::collections::BTreeSet;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_audio::units::Frames;
use myxtts_audio::{GriffinLim, Mel, MelFrontEnd};
use myxtts_data::stage::Segments;
use myxtts_model::dvae::{Dvae, Reconstruction};
use myxtts_model::params::unread;
use myxtts_run::checkpoint::Content;
use myxtts_run::signals::StopRequest;
use myxtts_weights::{Tensor as StoredTensor, TensorStream};

use super::fixed_batches::fixed_segments;
use super::{Evaluator, Rendering, VALIDATED, averaged, read, voice_files};
use crate::error::{TrainError, unless_stopped};
use crate::feed::{FrontEnd, SegmentBatch};
use crate::objective::DvaeTrainee;
use crate::session::job::Job;
use crate::session::samples::{Heard, HeardClip};
use crate::session::saving::{averaged_streams, file};
use crate::session::training_data::{Material, Voice};
use crate::train_loop::State;

/// How many different codes the validation segments have; `CODES_MADE` is how many in all.
pub(crate) const CODES_USED: &str = "val_codes_used";
pub(crate) const CODES_MADE: &str = "val_codes_made";

/// How many voices are rendered as samples.
const HEARD: usize = 2;

/// Validates a DVAE and renders its samples.
pub(crate) struct DvaeEvaluator<'a> {
    job: &'a Job,
    material: &'a Material,
    device: Device,
    validation: Option<Option<SegmentBatch>>,
}

impl<'a> DvaeEvaluator<'a> {
    /// Evaluates models on `device`.
    pub(crate) fn new(job: &'a Job, material: &'a Material, device: &Device) -> Self {
        Self {
            job,
            material,
            device: device.clone(),
            validation: None,
        }
    }

    fn model(&self, state: &State<DvaeTrainee>) -> Result<Dvae, TrainError> {
        let dvae = averaged(state.trainee.dvae.valid(), state.ema.as_ref())?;
        Ok(dvae.to_device(&self.device))
    }
}

impl Evaluator<DvaeTrainee> for DvaeEvaluator<'_> {
    fn validate(
        &mut self,
        state: &State<DvaeTrainee>,
        stop: &StopRequest,
    ) -> Result<Vec<(&'static str, f32)>, TrainError> {
        if self.validation.is_none() {
            let (job, material) = (self.job, self.material);
            let corpus = &material.validation;
            let segments = fixed_segments(job, material, corpus, &self.device, Segments::Fixed)?;
            self.validation = Some(segments);
        }
        let Some(Some(batch)) = &self.validation else {
            return Ok(vec![]);
        };
        unless_stopped(stop)?;
        let step = self
            .model(state)?
            .step(batch.mel_bct.clone(), Reconstruction::Mse)
            .map_err(TrainError::failed)?;
        let codes = step.codes_n.try_into_vec_as::<i64>();
        let codes = codes.map_err(TrainError::failed)?;
        let made = codes.len();
        let used: BTreeSet<i64> = codes.into_iter().collect();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "figures for people"
        )]
        let numbers = vec![
            (VALIDATED, read(step.reconstruction_bct.mean())? as f32),
            (CODES_USED, used.len() as f32),
            (CODES_MADE, made as f32),
        ];
        Ok(numbers)
    }

    /// Renders each voice's recording, encoded and decoded again.
    fn samples(
        &mut self,
        state: &State<DvaeTrainee>,
        _all: bool,
        _stop: &StopRequest,
    ) -> Result<Rendering, TrainError> {
        let dvae = self.model(state)?;
        let device = self.device.clone();
        let front_end = self.material.front_end.clone();
        let voices: Vec<Voice> = self.material.voices.iter().take(HEARD).cloned().collect();
        Ok(Box::new(move |stop| {
            copies(&dvae, &front_end, &voices, &device, stop)
        }))
    }

    fn contents<'s>(
        &'s self,
        state: &'s State<DvaeTrainee>,
    ) -> Result<Vec<Content<'s>>, TrainError> {
        let dvae = averaged_streams(unread(&state.trainee.dvae), state.ema.as_ref());
        let mut contents = vec![file("dvae.safetensors", dvae)?];
        if let Some(stats) = &self.material.front_end.stats {
            let stats = StoredTensor::from_f32(vec![stats.len()], stats);
            let stats = stats.map_err(TrainError::failed)?;
            let stats = vec![TensorStream::of("mel_stats", &stats)];
            contents.push(file("mel_stats.safetensors", stats)?);
        }
        let vocabulary = self.material.vocabulary.to_json();
        contents.push(Content::bytes("vocab.json", vocabulary.into_bytes()));
        contents.extend(voice_files(&self.material.voices));
        Ok(contents)
    }
}

fn copies(
    dvae: &Dvae,
    front_end: &FrontEnd,
    voices: &[Voice],
    device: &Device,
    stop: &StopRequest,
) -> Result<Heard, TrainError> {
    let stats = front_end.stats.clone();
    let mut mels = MelFrontEnd::new(front_end.codes, stats.clone()).map_err(TrainError::failed)?;
    let mut vocoder = GriffinLim::new(front_end.codes, stats).map_err(TrainError::failed)?;
    let mut heard = Heard {
        title: "copies of recordings through the codes",
        ..Heard::default()
    };
    for voice in voices {
        unless_stopped(stop)?;
        let mel = mels
            .mel(&voice.waveform.samples)
            .map_err(TrainError::failed)?;
        let frames = mel.frames.0 / 4 * 4;
        if frames == 0 {
            continue;
        }
        let data = TensorData::new(mel.values, [1, mel.bands, mel.frames.0]);
        let mel_bct = Tensor::<3>::from_data(data, device).narrow(2, 0, frames);
        let codes_bt: Tensor<2, Int> = dvae.encode(mel_bct);
        let copy_bct = dvae.decode(codes_bt);
        let [_, bands, frames] = copy_bct.dims();
        let copy = Mel {
            bands,
            frames: Frames(frames),
            values: copy_bct
                .try_into_vec_as::<f32>()
                .map_err(TrainError::failed)?,
        };
        heard.clips.push(HeardClip {
            name: format!("copy_{}.wav", voice.name),
            waveform: vocoder.waveform(&copy).map_err(TrainError::failed)?,
            mel: Some(copy),
            spoken: None,
        });
    }
    Ok(heard)
}
