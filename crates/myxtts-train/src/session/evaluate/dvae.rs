//! Validation, samples and files of the DVAE.

use std::collections::BTreeSet;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_audio::units::Frames;
use myxtts_audio::{GriffinLim, Mel, MelFrontEnd};
use myxtts_data::host_stage::Segments;
use myxtts_model::dvae::{Dvae, Reconstruction};
use myxtts_model::params::unread;
use myxtts_run::checkpoint::Content;
use myxtts_run::signals::StopRequest;
use myxtts_weights::{Tensor as StoredTensor, TensorStream};

use super::fixed_batches::fixed_segments;
use super::{Evaluator, Rendering, VALIDATED, averaged, read, voice_files};
use crate::error::{TrainError, unless_stopped};
use crate::feed::{FrontEnd, SegmentBatch};
use crate::objective::DvaeObjective;
use crate::session::job::Job;
use crate::session::samples::{Sample, SampleSet};
use crate::session::saving::{averaged_streams, file};
use crate::session::training_data::{TrainingData, Voice};
use crate::train_loop::State;

/// How many different codes the validation segments have; `CODES_MADE` is how many in all.
pub(crate) const CODES_USED: &str = "val_codes_used";
pub(crate) const CODES_MADE: &str = "val_codes_made";

/// How many voices are rendered as samples.
const SAMPLED: usize = 2;

/// Validates a DVAE and renders its samples.
pub(crate) struct DvaeEvaluator<'a> {
    job: &'a Job,
    training_data: &'a TrainingData,
    device: Device,
    validation: Option<Option<SegmentBatch>>,
}

impl<'a> DvaeEvaluator<'a> {
    /// Evaluates models on `device`.
    pub(crate) fn new(job: &'a Job, training_data: &'a TrainingData, device: &Device) -> Self {
        Self {
            job,
            training_data,
            device: device.clone(),
            validation: None,
        }
    }

    fn model(&self, state: &State<DvaeObjective>) -> Result<Dvae, TrainError> {
        let dvae = averaged(state.objective.dvae.valid(), state.ema.as_ref())?;
        Ok(dvae.to_device(&self.device))
    }
}

impl Evaluator<DvaeObjective> for DvaeEvaluator<'_> {
    fn validate(
        &mut self,
        state: &State<DvaeObjective>,
        stop: &StopRequest,
    ) -> Result<Vec<(&'static str, f32)>, TrainError> {
        if self.validation.is_none() {
            let (job, training_data) = (self.job, self.training_data);
            let corpus = &training_data.validation;
            let segments =
                fixed_segments(job, training_data, corpus, &self.device, Segments::Fixed)?;
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
        state: &State<DvaeObjective>,
        _all: bool,
        _stop: &StopRequest,
    ) -> Result<Rendering, TrainError> {
        let dvae = self.model(state)?;
        let device = self.device.clone();
        let front_end = self.training_data.front_end.clone();
        let voices: Vec<Voice> = self
            .training_data
            .voices
            .iter()
            .take(SAMPLED)
            .cloned()
            .collect();
        Ok(Box::new(move |stop| {
            copies(&dvae, &front_end, &voices, &device, stop)
        }))
    }

    fn contents<'s>(
        &'s self,
        state: &'s State<DvaeObjective>,
    ) -> Result<Vec<Content<'s>>, TrainError> {
        let dvae = averaged_streams(unread(&state.objective.dvae), state.ema.as_ref());
        let mut contents = vec![file("dvae.safetensors", dvae)?];
        if let Some(stats) = &self.training_data.front_end.stats {
            let stats = StoredTensor::from_f32(vec![stats.len()], stats);
            let stats = stats.map_err(TrainError::failed)?;
            let stats = vec![TensorStream::of("mel_stats", &stats)];
            contents.push(file("mel_stats.safetensors", stats)?);
        }
        let vocabulary = self.training_data.vocabulary.to_json();
        contents.push(Content::bytes("vocab.json", vocabulary.into_bytes()));
        contents.extend(voice_files(&self.training_data.voices));
        Ok(contents)
    }
}

fn copies(
    dvae: &Dvae,
    front_end: &FrontEnd,
    voices: &[Voice],
    device: &Device,
    stop: &StopRequest,
) -> Result<SampleSet, TrainError> {
    let stats = front_end.stats.clone();
    let mut mels = MelFrontEnd::new(front_end.codes, stats.clone()).map_err(TrainError::failed)?;
    let mut vocoder = GriffinLim::new(front_end.codes, stats).map_err(TrainError::failed)?;
    let mut sample_set = SampleSet {
        title: "copies of recordings through the codes",
        ..SampleSet::default()
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
        sample_set.clips.push(Sample {
            name: format!("copy_{}.wav", voice.name),
            waveform: vocoder.waveform(&copy).map_err(TrainError::failed)?,
            mel: Some(copy),
            utterance: None,
        });
    }
    Ok(sample_set)
}
