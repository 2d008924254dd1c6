//! The stage that trains the DVAE.

use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_base::report;
use myxtts_data::host_stage::{HostFeed, Segments};
use myxtts_data::schedule::Schedule;
use myxtts_model::dvae::Dvae;
use myxtts_model::init::Init;
use myxtts_model::params::{StateDict, load, state_dict};
use myxtts_run::checkpoint::Checkpoint;
use myxtts_weights::TensorMap;

use super::execute::StageRun;
use super::prefetch::prefetch_config;
use crate::config::StageName;
use crate::error::TrainError;
use crate::feed::{
    LargestBatch, SegmentBatch, SegmentFeed, Targets, segment_schedule, segment_spec,
};
use crate::objective::{DvaeObjective, DvaeObjectiveConfig};
use crate::session::evaluate::{DvaeEvaluator, fixed_segments};
use crate::session::initial_weights::InitialWeights;
use crate::session::training_data::TrainingData;
use crate::session::{Job, Run};
use crate::stage;

impl Run<'_> {
    /// Trains the DVAE, and returns the steps it has taken.
    pub(crate) fn dvae(
        &mut self,
        initial_weights: &mut InitialWeights,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let (job, placement, training_data) = (self.job, self.placement, &self.training_data);
        let schedule = Arc::new(schedule(job, training_data, placement.replicas())?);
        let (loop_config, position) =
            stage::begin(job, StageName::Dvae, &schedule, self.before, resumed)?;
        let front_end = training_data.front_end.clone();
        let segments = segment_spec(job.segments.dvae_frames, &front_end.codes);
        let drawn = Segments::Drawn { seed: job.seed };
        let host = training_data.stage(Arc::clone(&training_data.clips), segments, drawn);
        let earlier = initial_weights.dvae.take();
        let state = |device: &Device| {
            let device = device.clone().autodiff();
            let dvae = Dvae::new(&Init::new(job.seed, &device), &job.sizes.dvae);
            let dvae = dvae.map_err(TrainError::failed)?;
            let dvae = match (&earlier, resumed) {
                (Some(weights), None) => load(dvae, weights, "").map_err(TrainError::failed)?,
                (_, Some(_)) => dvae,
                (None, None) => started(dvae, job, training_data, &device.inner())?,
            };
            let objective = DvaeObjective::new(dvae, DvaeObjectiveConfig::default());
            stage::state(job, job.optimization.adamw, objective, resumed)
        };
        let frames = job.segments.dvae_frames;
        let targets = Targets::of_segments(&schedule);
        let run = StageRun {
            placement,
            prefetch: prefetch_config(job, placement),
            largest: LargestBatch::of(&schedule, segments, &front_end.codes),
            host: HostFeed::new(host, schedule, None)?,
            device_stage: Arc::new(move |device: &Device| {
                SegmentFeed::new(device, &front_end, frames).map_err(|why| why.to_string())
            }),
            state,
            loop_config: &loop_config,
            targets,
            ledger: stage::ledger(&self.outputs, StageName::Dvae)?,
            stop: self.outputs.stop.clone(),
        };
        let evaluator = DvaeEvaluator::new(job, training_data, &placement.data[0]);
        let outputs = &mut self.outputs;
        let (state, outcome) = stage::train(
            run,
            outputs,
            evaluator,
            position,
            job,
            training_data,
            resumed,
        )?;
        self.note(StageName::Dvae, &outcome);
        let done = state.done;
        initial_weights.dvae = Some(stage::final_weights(state)?);
        // The GPT of an earlier DVAE speaks other codes, and its decoder was trained on that GPT.
        initial_weights.gpt = None;
        initial_weights.hifigan = TensorMap::new();
        Ok(done)
    }
}

/// Makes the batches of the stage.
pub(crate) fn schedule(
    job: &Job,
    training_data: &TrainingData,
    replicas: u32,
) -> Result<Schedule, TrainError> {
    let lengths = &training_data.train.lengths;
    segment_schedule(lengths, job.segments.dvae_batch, replicas, job.seed)
        .map_err(|clip| TrainError::Failed(report!("clip {} fits no batch", clip.0)))
}

/// Makes a new DVAE that starts from the data: the first layer subtracts the mean of each band,
/// the last one adds it again, and the codebook is made of the first vectors that the encoder
/// produces. Log mels are far from zero, and hundreds of steps would go into learning that.
fn started(
    dvae: Dvae,
    job: &Job,
    training_data: &TrainingData,
    device: &Device,
) -> Result<Dvae, TrainError> {
    let drawn = Segments::Drawn { seed: job.seed };
    let segments = fixed_segments(job, training_data, &training_data.train, device, drawn)?;
    let Some(SegmentBatch { mel_bct, .. }) = segments else {
        return Ok(dvae);
    };
    let mean_c = mel_bct.clone().mean_dim(0).mean_dim(2);
    let mean_c = mean_c
        .try_into_vec_as::<f32>()
        .map_err(TrainError::failed)?;
    let weights = state_dict(&dvae).map_err(TrainError::failed)?;
    let weights = centred(weights, &mean_c);
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
    // The decoder's last layer is the only one of its layers that is as wide as the mel.
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
