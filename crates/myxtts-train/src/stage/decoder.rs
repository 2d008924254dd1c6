//! The stage that trains the waveform decoder.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use myxtts_data::schedule::Schedule;
use myxtts_infer::state_dict;
use myxtts_model::hifigan::{Discriminator, HifiganConfig, HifiganDecoder};
use myxtts_model::init::Init;
use myxtts_model::params::{StateDict, load};
use myxtts_run::checkpoint::Checkpoint;
use myxtts_weights::{TensorMap, read_safetensors};

use super::decoder_course::{acts, acts_words};
use super::execute::StageRun;
use super::frozen::{Frozen, PREFIX};
use super::parts::{batches, codes_cache, decoder_card, host};
use super::prefetch::flow;
use crate::config::StageName;
use crate::error::TrainError;
use crate::feed::{Cutting, Largest, Targets, largest_segments};
use crate::objective::{DecoderTrainee, JUDGES, JUDGES_FILE};
use crate::optim::AdamWConfig;
use crate::session::evaluate::DecoderEvaluator;
use crate::session::initial_weights::Origin;
use crate::session::saving::{Found, optimiser_file, without_prefix};
use crate::session::training_data::Material;
use crate::session::{Job, Run};
use crate::stage;

impl Run<'_> {
    /// Trains the waveform decoder, and returns the steps it has taken.
    pub(crate) fn decoder(
        &mut self,
        origin: &mut Origin,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let (job, placement, material) = (self.job, self.placement, &self.material);
        let gpt = origin.gpt.take();
        let (Some(dvae), Some(gpt), Some(card)) = (&origin.dvae, gpt, &mut origin.card) else {
            return Err(TrainError::Usage(
                "the decoder needs a trained GPT and its DVAE, and there is none\n  why:   the \
                 decoder learns to turn the GPT's latents of recordings into audio\n  fix:   --stage \
                 all, or --init DIR with a trained model or run"
                    .to_owned(),
            ));
        };
        let decoder = decoder_card(job.decoder_size, card);
        card.decoder = Some(decoder.clone());
        let card = &*card;
        let hifigan = origin.hifigan.clone();
        let frozen = Frozen::new(
            &material.front_end,
            card,
            decoder.clone(),
            dvae,
            gpt,
            hifigan,
        )?;
        let schedule = schedule(job, material, placement.replicas(), self.bounds_rows)?;
        let schedule = Arc::new(schedule);
        let (recipe, mut position) =
            stage::begin(job, StageName::Decoder, &schedule, self.before, resumed)?;
        let cutting = Cutting {
            frames: job.segments.decoder_frames,
            seed: job.seed,
            steps_per_epoch: schedule.steps_per_epoch(),
        };
        let (codes, _) = codes_cache(job, material, &frozen.dvae, &schedule)?;
        let adamw = AdamWConfig {
            beta_1: 0.8,
            beta_2: 0.99,
            ..job.optimisation.adamw
        };
        let (earlier, found) = match resumed {
            // Older checkpoints do not say what was found, and had no acts.
            Some(_) => (Earlier::default(), position.found.unwrap_or_default()),
            None => {
                let earlier = Earlier::find(&frozen.hifigan, job.init.as_deref())?;
                let found = earlier.found();
                (earlier, found)
            }
        };
        position.found = Some(found);
        let acts = acts(&job.optimisation, job.decoder_size, found, recipe.steps);
        self.desk.say(&acts_words(&acts, recipe.steps));
        let state = |device: &Device| {
            let trainee = earlier.trainee(job.seed, &decoder.hifigan, device)?;
            stage::state(job, adamw, trainee.with_acts(acts), resumed)
        };
        let site = {
            let (frozen, codes) = (frozen.clone(), codes.clone());
            move |device: &Device| frozen.feed(device, cutting, codes.clone())
        };
        let conditioning = card.conditioning;
        let targets = Targets::of_rows(&schedule);
        let run = StageRun {
            placement,
            flow: flow(job, placement),
            largest: Largest {
                device: largest_segments(&schedule, &decoder.hifigan, cutting),
                ..Largest::of(&schedule, conditioning, &card.conditioning_mel)
            },
            host: host(job, material, conditioning, schedule, codes)?,
            site: Arc::new(site),
            state,
            recipe: &recipe,
            targets,
            ledger: stage::ledger(&self.desk, StageName::Decoder)?,
            stop: self.desk.stop.clone(),
        };
        let evaluator = DecoderEvaluator::new(job, material, card, &frozen, &placement.data[0]);
        let desk = &mut self.desk;
        let (state, outcome) =
            stage::train(run, desk, evaluator, position, job, material, resumed)?;
        self.note(StageName::Decoder, &outcome);
        // Sentences of the GPT stage say more than copies of recordings.
        let copies = self.samples_of(state.done);
        self.finished.samples = self.finished.samples.take().or(copies);
        Ok(state.done)
    }
}

/// The weights that a new stage begins with, where there are any.
#[derive(Default)]
struct Earlier {
    generator: Option<StateDict>,
    judges: Option<StateDict>,
}

impl Earlier {
    /// A decoder among `hifigan`, and its judges beside the weights of `init`.
    fn find(hifigan: &TensorMap, init: Option<&Path>) -> Result<Self, TrainError> {
        let generator = without_prefix(state_dict(hifigan), PREFIX);
        if !generator.keys().any(|name| name.starts_with("waveform")) {
            return Ok(Self::default());
        }
        Ok(Self {
            generator: Some(generator),
            judges: init.map(judges_of).transpose()?.flatten(),
        })
    }

    fn found(&self) -> Found {
        Found {
            decoder: self.generator.is_some(),
            judges: self.judges.is_some(),
        }
    }

    /// Both on a device, new where there are no weights.
    fn trainee(
        &self,
        seed: u64,
        config: &HifiganConfig,
        device: &Device,
    ) -> Result<DecoderTrainee, TrainError> {
        let init = Init::new(seed, &device.clone().autodiff());
        let generator = HifiganDecoder::new(&init, config).map_err(TrainError::failed)?;
        let generator = match &self.generator {
            Some(state) => load(generator, state, "").map_err(TrainError::failed)?,
            None => generator,
        };
        let judges = Discriminator::new(&init, &config.discriminator());
        let judges = judges.map_err(TrainError::failed)?;
        let judges = match &self.judges {
            Some(state) => load(judges, state, "").map_err(TrainError::failed)?,
            None => judges,
        };
        DecoderTrainee::new(generator, judges).map_err(TrainError::failed)
    }
}

/// Makes the batches of the stage. A segment costs the same however long its clip is, so if rows
/// are bounded, none has more than the longest bucket.
pub(crate) fn schedule(
    job: &Job,
    material: &Material,
    replicas: u32,
    bounds_rows: bool,
) -> Result<Schedule, TrainError> {
    batches(job, material, replicas, |_| match bounds_rows {
        true => job.plan.batch_size,
        false => u32::MAX,
    })
}

/// Reads the discriminators beside a decoder that was trained here, if they have learned
/// anything: those of a stage that taught spectra alone have taken no step.
fn judges_of(init: &Path) -> Result<Option<StateDict>, TrainError> {
    let folder = myxtts_infer::resolve(init, myxtts_infer::Pick::Newest)
        .map_err(|why| TrainError::Usage(why.to_string()))?;
    let tensors = |name: &str| {
        let file = folder.join(name);
        let read = file.is_file().then(|| read_safetensors(&file));
        read.transpose().map_err(TrainError::failed)
    };
    let moments = tensors(&optimiser_file(JUDGES))?;
    if moments.is_some_and(|moments| moments.names().next().is_none()) {
        return Ok(None);
    }
    Ok(tensors(JUDGES_FILE)?.map(|judges| state_dict(&judges)))
}
