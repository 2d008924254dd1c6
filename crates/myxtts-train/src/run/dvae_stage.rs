//! The stage that trains the DVAE.

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_audio::units::Frames;
use myxtts_audio::{GriffinLim, Mel, MelFrontEnd};
use myxtts_data::schedule::{Batch, BucketShape, ClipIndex};
use myxtts_data::stage::{Clip, Segments};
use myxtts_data::units::{Codes, Tokens};
use myxtts_model::dvae::{Dvae, Reconstruction};
use myxtts_model::params::{StateDict, load, state_dict};
use myxtts_run::checkpoint::Content;
use myxtts_run::tensorboard::mel_image;
use myxtts_run::units::Step;

use super::books::{Desk, Evaluator};
use super::gpt_stage::{voice_files, write_sample};
use super::job::Job;
use super::material::Material;
use super::saving::file;
use crate::error::TrainError;
use crate::feed::{Corpus, SegmentBatch, SegmentFeed, segment_spec};
use crate::looping::State;
use crate::trainee::DvaeTrainee;

/// Segments validated on, and segments a codebook is seeded from.
const SOME: usize = 64;

/// One segment of each of some clips, always the same.
pub(super) fn fixed_segments(
    job: &Job,
    material: &Material,
    corpus: &Corpus,
    device: &Device,
    segments: Segments,
) -> Result<Option<SegmentBatch>, TrainError> {
    let every = corpus.clips.len().div_ceil(SOME).max(1);
    let chosen: Vec<usize> = (0..corpus.clips.len()).step_by(every).collect();
    let clips: Vec<Clip> = chosen
        .iter()
        .filter_map(|index| corpus.clips.get(*index).cloned())
        .collect();
    if clips.is_empty() {
        return Ok(None);
    }
    let longest = |part: fn(&myxtts_data::schedule::ClipLength) -> u32| {
        corpus.lengths.iter().map(part).max().unwrap_or(1)
    };
    let batch = Batch {
        bucket: 0,
        shape: BucketShape {
            text: Tokens(longest(|length| length.text.0)),
            audio: Codes(longest(|length| length.audio.0)),
        },
        rows: (0..u32::try_from(clips.len()).unwrap_or(u32::MAX))
            .map(|index| Some(ClipIndex(index)))
            .collect(),
    };
    let front_end = &material.front_end;
    let spec = segment_spec(job.segment_frames, &front_end.codes);
    let stage = material.stage(clips, spec, segments);
    let mut host = stage.buffer(&batch);
    stage
        .fill(0, &batch, &mut host, &mut stage.scratch())
        .map_err(TrainError::failed)?;
    let feed = SegmentFeed::new(device, front_end, job.segment_frames);
    let batch = feed.map_err(TrainError::failed)?.batch(&host);
    batch.map(Some).map_err(TrainError::Failed)
}

/// A new DVAE that starts from the data: the first layer takes the mean of
/// each band away, the last one gives it back, and the codebook is made of
/// vectors the encoder sees first. Log mels are far from zero, and hundreds of
/// steps would go into learning that.
pub(super) fn started(
    dvae: Dvae,
    job: &Job,
    material: &Material,
    device: &Device,
) -> Result<Dvae, TrainError> {
    let drawn = Segments::Drawn { seed: job.seed };
    let segments = fixed_segments(job, material, &material.train, device, drawn)?;
    let Some(SegmentBatch { mel_bct, .. }) = segments else {
        return Ok(dvae);
    };
    let mean_c = mel_bct.clone().mean_dim(0).mean_dim(2);
    let mean_c = mean_c
        .try_into_vec_as::<f32>()
        .map_err(TrainError::failed)?;
    let weights = centred(state_dict(&dvae), &mean_c);
    let dvae = load(dvae, &weights, "").map_err(TrainError::failed)?;
    Ok(dvae.with_seeded_codebook(Tensor::from_inner(mel_bct), job.seed))
}

const FIRST_WEIGHT: &str = "encoder.0.0.weight";
const FIRST_BIAS: &str = "encoder.0.0.bias";

fn centred(mut weights: StateDict, mean_c: &[f32]) -> StateDict {
    let (Some(weight), Some(bias)) = (weights.get(FIRST_WEIGHT), weights.get(FIRST_BIAS)) else {
        return weights;
    };
    let per_output = weight.num_elements() / bias.num_elements().max(1);
    let taps = per_output / mean_c.len().max(1);
    let weight: Vec<f32> = weight.iter().collect();
    let shifted: Vec<f32> = bias
        .iter::<f32>()
        .zip(weight.chunks_exact(per_output.max(1)))
        .map(|(bias, weight)| {
            let bands = weight.chunks_exact(taps.max(1)).zip(mean_c);
            bias - bands
                .map(|(taps, mean)| taps.iter().sum::<f32>() * mean)
                .sum::<f32>()
        })
        .collect();
    let count = shifted.len();
    weights.insert(FIRST_BIAS.to_owned(), TensorData::new(shifted, [count]));
    // The last layer is the only one of the decoder that is as wide as the mel.
    let last = weights.iter().rev().find(|(name, data)| {
        name.starts_with("decoder.")
            && name.ends_with("bias")
            && data.num_elements() == mean_c.len()
    });
    if let Some(name) = last.map(|(name, _)| name.clone()) {
        let mean = TensorData::new(mean_c.to_vec(), [mean_c.len()]);
        weights.insert(name, mean);
    }
    weights
}

/// Validation, samples and files of the DVAE.
pub(super) struct DvaeEvaluator<'a> {
    job: &'a Job,
    material: &'a Material,
    device: Device,
    validation: Option<Option<SegmentBatch>>,
}

impl<'a> DvaeEvaluator<'a> {
    pub(super) fn new(job: &'a Job, material: &'a Material, device: &Device) -> Self {
        Self {
            job,
            material,
            device: device.clone(),
            validation: None,
        }
    }

    fn model(&self, state: &State<DvaeTrainee>) -> Result<Dvae, TrainError> {
        let dvae = state.trainee.dvae.valid();
        let dvae = match &state.ema {
            Some(ema) => load(dvae, ema.weights(), "").map_err(TrainError::failed)?,
            None => dvae,
        };
        Ok(dvae.to_device(&self.device))
    }
}

impl Evaluator<DvaeTrainee> for DvaeEvaluator<'_> {
    fn validate(
        &mut self,
        state: &State<DvaeTrainee>,
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
        let step = self
            .model(state)?
            .step(batch.mel_bct.clone(), Reconstruction::Mse)
            .map_err(TrainError::failed)?;
        let used: std::collections::BTreeSet<i64> = step
            .codes_n
            .try_into_vec_as::<i64>()
            .map_err(TrainError::failed)?
            .into_iter()
            .collect();
        let loss = step.reconstruction_bct.mean().try_into_vec_as::<f32>();
        let loss = loss.map_err(TrainError::failed)?;
        #[expect(clippy::cast_precision_loss, reason = "codes are counted in hundreds")]
        let used = used.len() as f32;
        Ok(vec![
            ("val_loss_mel", loss.first().copied().unwrap_or(f32::NAN)),
            ("val_codes_used", used),
        ])
    }

    /// Each voice's recording, through the codes and back.
    fn sample(
        &mut self,
        state: &State<DvaeTrainee>,
        desk: &mut Desk,
        step: Step,
        _all: bool,
    ) -> Result<(), TrainError> {
        let dvae = self.model(state)?;
        let folder = desk.folder.samples(step).map_err(TrainError::failed)?;
        let front_end = &self.material.front_end;
        let stats = front_end.stats.clone();
        let mut mels =
            MelFrontEnd::new(front_end.codes, stats.clone()).map_err(TrainError::failed)?;
        let mut vocoder = GriffinLim::new(front_end.codes, stats).map_err(TrainError::failed)?;
        for voice in self.material.voices.iter().take(2) {
            let mel = mels
                .mel(&voice.waveform.samples)
                .map_err(TrainError::failed)?;
            let frames = mel.frames.0 / 4 * 4;
            if frames == 0 {
                continue;
            }
            let data = TensorData::new(mel.values, [1, mel.bands, mel.frames.0]);
            let mel_bct = Tensor::<3>::from_data(data, &self.device).narrow(2, 0, frames);
            let codes_bt: Tensor<2, Int> = dvae.encode(mel_bct);
            let copy = dvae.decode(codes_bt);
            let [_, bands, frames] = copy.dims();
            let copy = Mel {
                bands,
                frames: Frames(frames),
                values: copy.try_into_vec_as::<f32>().map_err(TrainError::failed)?,
            };
            let name = format!("copy_{}.wav", voice.name);
            let waveform = vocoder.waveform(&copy).map_err(TrainError::failed)?;
            write_sample(desk, &folder, &name, &waveform, step)?;
            let [bands, frames] =
                [bands, frames].map(|size| u32::try_from(size).unwrap_or(u32::MAX));
            if let Some(image) = mel_image(&copy.values, bands, frames) {
                let written = desk.events.image(&format!("mel/{name}"), step, &image);
                written.map_err(TrainError::failed)?;
            }
        }
        desk.events.flush().map_err(TrainError::failed)?;
        desk.say(&format!(
            "copies of recordings through the codes, step {step}: {}",
            folder.display()
        ));
        Ok(())
    }

    fn contents(&self, state: &State<DvaeTrainee>) -> Result<Vec<Content>, TrainError> {
        let mut contents = vec![file("dvae.safetensors", &state_dict(&state.trainee.dvae))?];
        if let Some(stats) = &self.material.front_end.stats {
            let data = TensorData::new(stats.clone(), [stats.len()]);
            let stats = [("mel_stats".to_owned(), data)].into();
            contents.push(file("mel_stats.safetensors", &stats)?);
        }
        let vocabulary = self.material.vocabulary.to_json();
        contents.push(Content::bytes("vocab.json", vocabulary.into_bytes()));
        contents.extend(voice_files(&self.material.voices));
        Ok(contents)
    }

    fn clip(&self, index: usize) -> Option<&str> {
        self.material.train.ids.get(index).map(String::as_str)
    }

    fn flops_per_position(&self) -> Option<f64> {
        None
    }
}
