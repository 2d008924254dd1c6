//! The stage that trains the waveform decoder.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use myxtts_base::report;
use myxtts_data::schedule::Schedule;
use myxtts_infer::{ModelCard, state_dict};
use myxtts_model::hifigan::{Discriminator, HifiganConfig, HifiganDecoder};
use myxtts_model::init::Init;
use myxtts_model::params::{StateDict, load};
use myxtts_run::checkpoint::Checkpoint;
use myxtts_weights::{TensorMap, read_safetensors};

use super::decoder_curriculum::{curriculum, curriculum_words};
use super::execute::StageRun;
use super::frozen::{Frozen, PREFIX};
use super::parts::{batches, codes_cache, decoder_card, host};
use super::prefetch::prefetch_config;
use crate::config::StageName;
use crate::error::TrainError;
use crate::feed::{Cutting, LargestBatch, Targets, largest_segments};
use crate::objective::{DISCRIMINATOR, DISCRIMINATOR_FILE, DecoderObjective};
use crate::optim::AdamWConfig;
use crate::session::evaluate::DecoderEvaluator;
use crate::session::initial_weights::InitialWeights;
use crate::session::saving::{Found, Position, optimizer_file, without_prefix};
use crate::session::training_data::TrainingData;
use crate::session::{Job, Run};
use crate::stage;

impl Run<'_> {
    /// Trains the waveform decoder, and returns the steps it has taken.
    pub(crate) fn decoder(
        &mut self,
        initial_weights: &mut InitialWeights,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let gpt = initial_weights.gpt.take();
        let (Some(dvae), Some(gpt), Some(card)) =
            (&initial_weights.dvae, gpt, &mut initial_weights.card)
        else {
            return Err(no_gpt());
        };
        let decoder = decoder_card(self.job.decoder_size, card);
        card.decoder = Some(decoder.clone());
        let card = &*card;
        let hifigan = initial_weights.hifigan.clone();
        let front_end = &self.training_data.front_end;
        let frozen = Frozen::new(front_end, card, decoder, dvae, gpt, hifigan)?;
        let done = self.train_decoder(card, &frozen, resumed)?;
        // Sentences of the GPT stage say more than copies of recordings.
        let copies = self.samples_of(done);
        self.finished.samples = self.finished.samples.take().or(copies);
        Ok(done)
    }

    /// Takes the steps of the stage, and returns how many it has taken in all.
    fn train_decoder(
        &mut self,
        card: &ModelCard,
        frozen: &Frozen,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let (job, placement, training_data) = (self.job, self.placement, &self.training_data);
        let schedule = schedule(job, training_data, placement.replicas(), self.bounds_rows)?;
        let schedule = Arc::new(schedule);
        let (loop_config, mut position) =
            stage::begin(job, StageName::Decoder, &schedule, self.before, resumed)?;
        let cutting = cutting_of(job, &schedule);
        let (codes, _) = codes_cache(job, training_data, &frozen.dvae, &schedule)?;
        let adamw = adamw_of(job);
        let (earlier, found) = Earlier::begin(frozen, job, &position, resumed.is_some())?;
        position.found = Some(found);
        let (hifigan, steps) = (&frozen.card.hifigan, loop_config.steps);
        let curriculum = curriculum(&job.optimization, job.decoder_size, found, steps);
        self.outputs.say(&curriculum_words(&curriculum, steps));
        let state = |device: &Device| {
            let objective = earlier.objective(job.seed, hifigan, device)?;
            stage::state(job, adamw, objective.with_curriculum(curriculum), resumed)
        };
        let device_stage = {
            let (frozen, codes) = (frozen.clone(), codes.clone());
            move |device: &Device| frozen.feed(device, cutting, codes.clone())
        };
        let conditioning = card.conditioning;
        let targets = Targets::of_rows(&schedule);
        let run = StageRun {
            placement,
            prefetch: prefetch_config(job, placement),
            largest: LargestBatch {
                device: largest_segments(&schedule, hifigan, cutting),
                ..LargestBatch::of(&schedule, conditioning, &card.conditioning_mel)
            },
            host: host(job, training_data, conditioning, schedule, codes)?,
            device_stage: Arc::new(device_stage),
            state,
            loop_config: &loop_config,
            targets,
            ledger: stage::ledger(&self.outputs, StageName::Decoder)?,
            stop: self.outputs.stop.clone(),
        };
        let evaluator = DecoderEvaluator::new(job, training_data, card, frozen, &placement.data[0]);
        let recording = stage::Recording {
            outputs: &mut self.outputs,
            finished: &mut self.finished,
            job,
            training_data,
            position,
            resumed,
        };
        let state = recording.train(run, evaluator)?;
        Ok(state.done)
    }
}

fn no_gpt() -> TrainError {
    TrainError::Usage(report!(
        "the decoder needs a trained GPT and its DVAE, and there is none";
        why: "the decoder learns to turn the GPT's latents of recordings into audio";
        fix: "--stage all, or --init DIR with a trained model or run"
    ))
}

/// Returns how segments are cut from the batches of the schedule.
fn cutting_of(job: &Job, schedule: &Schedule) -> Cutting {
    Cutting {
        frames: job.segments.decoder_frames,
        seed: job.seed,
        steps_per_epoch: schedule.steps_per_epoch(),
    }
}

/// Returns the optimizer's settings with the moments of the stage.
fn adamw_of(job: &Job) -> AdamWConfig {
    AdamWConfig {
        beta_1: 0.8,
        beta_2: 0.99,
        ..job.optimization.adamw
    }
}

/// The weights that a new stage begins with, where there are any.
#[derive(Default)]
struct Earlier {
    generator: Option<StateDict>,
    discriminator: Option<StateDict>,
}

impl Earlier {
    /// Returns the weights to begin with, and what was found when the stage began. A stage that is
    /// resumed has weights of its own in its checkpoint.
    fn begin(
        frozen: &Frozen,
        job: &Job,
        position: &Position,
        is_resumed: bool,
    ) -> Result<(Self, Found), TrainError> {
        if is_resumed {
            // Older checkpoints do not say what was found, and had no curriculum.
            return Ok((Self::default(), position.found.unwrap_or_default()));
        }
        let earlier = Self::find(&frozen.hifigan, job.init.as_deref())?;
        let found = earlier.found();
        Ok((earlier, found))
    }

    /// A decoder among `hifigan`, and its discriminators beside the weights of `init`.
    fn find(hifigan: &TensorMap, init: Option<&Path>) -> Result<Self, TrainError> {
        let generator = without_prefix(state_dict(hifigan), PREFIX);
        if !generator.keys().any(|name| name.starts_with("waveform")) {
            return Ok(Self::default());
        }
        Ok(Self {
            generator: Some(generator),
            discriminator: init.map(discriminator_of).transpose()?.flatten(),
        })
    }

    fn found(&self) -> Found {
        Found {
            decoder: self.generator.is_some(),
            discriminator: self.discriminator.is_some(),
        }
    }

    /// Both on a device, new where there are no weights.
    fn objective(
        &self,
        seed: u64,
        config: &HifiganConfig,
        device: &Device,
    ) -> Result<DecoderObjective, TrainError> {
        let init = Init::new(seed, &device.clone().autodiff());
        let generator = HifiganDecoder::new(&init, config).map_err(TrainError::failed)?;
        let generator = match &self.generator {
            Some(state) => load(generator, state, "").map_err(TrainError::failed)?,
            None => generator,
        };
        let discriminator = Discriminator::new(&init, &config.discriminator());
        let discriminator = discriminator.map_err(TrainError::failed)?;
        let discriminator = match &self.discriminator {
            Some(state) => load(discriminator, state, "").map_err(TrainError::failed)?,
            None => discriminator,
        };
        DecoderObjective::new(generator, discriminator).map_err(TrainError::failed)
    }
}

/// Makes the batches of the stage. A segment costs the same however long its clip is, so if rows
/// are bounded, none has more than the longest bucket.
pub(crate) fn schedule(
    job: &Job,
    training_data: &TrainingData,
    replicas: u32,
    bounds_rows: bool,
) -> Result<Schedule, TrainError> {
    batches(job, training_data, replicas, |_| match bounds_rows {
        true => job.plan.batch_size,
        false => u32::MAX,
    })
}

/// Reads the discriminators beside a decoder that was trained here, if they have learned
/// anything: those of a stage that taught spectra alone have taken no step.
fn discriminator_of(init: &Path) -> Result<Option<StateDict>, TrainError> {
    let folder =
        myxtts_infer::resolve(init, myxtts_infer::Pick::Newest).map_err(TrainError::usage)?;
    let tensors = |name: &str| {
        let file = folder.join(name);
        let read = file.is_file().then(|| read_safetensors(&file));
        read.transpose().map_err(TrainError::failed)
    };
    let moments = tensors(&optimizer_file(DISCRIMINATOR))?;
    if moments.is_some_and(|moments| moments.names().next().is_none()) {
        return Ok(None);
    }
    Ok(tensors(DISCRIMINATOR_FILE)?.map(|discriminator| state_dict(&discriminator)))
}
