//! The stage that trains the waveform decoder.

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::Device;
use myxtts_audio::units::SampleRate;
use myxtts_data::schedule::Schedule;
use myxtts_infer::{DecoderCard, ModelCard, VoiceKind, VoiceVectors, state_dict};
use myxtts_model::ModelSize;
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::Gpt;
use myxtts_model::hifigan::{Discriminator, HifiganDecoder};
use myxtts_model::init::Init;
use myxtts_model::params::{HandedOver, load};
use myxtts_run::checkpoint::Checkpoint;
use myxtts_weights::TensorMap;

use super::evaluate::DecoderEvaluator;
use super::flow::flow;
use super::job::{Job, StageName};
use super::material::Material;
use super::origin::Origin;
use super::saving::without_prefix;
use super::{Run, encode, gpt_stage, stage};
use crate::error::TrainError;
use crate::feed::{
    CodesCache, Cutting, DecoderFeed, DeviceFeed, FrontEnd, Largest, ShapeWatch, Targets,
    largest_segments,
};
use crate::optim::AdamWConfig;
use crate::stage_run::StageRun;
use crate::trainee::DecoderTrainee;

/// In front of the names of the decoder's tensors in a checkpoint.
pub(super) const PREFIX: &str = "hifigan_decoder.";

impl Run<'_> {
    /// Trains the waveform decoder, and gives its steps.
    pub(super) fn decoder(
        &mut self,
        origin: &mut Origin,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let (job, placement, material) = (self.job, self.placement, &self.material);
        let gpt = origin.gpt.take();
        let (Some(dvae), Some(gpt), Some(card)) = (&origin.dvae, gpt, &mut origin.card) else {
            return Err(TrainError::Usage(
                "the decoder needs a trained GPT and its DVAE, and there is none\n  why:   the \
                 decoder learns to make sound of the GPT's latents of recordings\n  fix:   --stage \
                 all, or --init DIR with a trained model or run"
                    .to_owned(),
            ));
        };
        let decoder = card_of(job.decoder_size, card);
        card.decoder = Some(decoder.clone());
        let card = &*card;
        let blank = Gpt::new(&Init::blank(&Device::flex()), &card.gpt);
        let frozen = Frozen {
            front_end: material.front_end.clone(),
            dvae: encode::frozen_dvae(card, dvae)?,
            gpt: load(blank, &HandedOver::from(gpt), "").map_err(TrainError::failed)?,
            hifigan: origin.hifigan.clone(),
            card: decoder.clone(),
            rate: card.audio.sample_rate,
        };
        let schedule = schedule(job, material, placement.replicas(), self.bounds_rows)?;
        let schedule = Arc::new(schedule);
        let (recipe, position) =
            stage::begin(job, StageName::Decoder, &schedule, self.before, resumed)?;
        let cutting = Cutting {
            frames: job.decoder_frames,
            seed: job.seed,
            steps_per_epoch: schedule.steps_per_epoch(),
        };
        let (codes, _) = gpt_stage::codes_cache(job, material, &frozen.dvae, &schedule)?;
        let adamw = AdamWConfig {
            beta_1: 0.8,
            beta_2: 0.99,
            ..job.optimisation.adamw
        };
        let earlier = without_prefix(state_dict(&frozen.hifigan), PREFIX);
        let has_earlier = earlier.keys().any(|name| name.starts_with("waveform"));
        let state = |device: &Device| {
            let init = Init::new(job.seed, &device.clone().autodiff());
            let generator = HifiganDecoder::new(&init, &decoder.hifigan);
            let generator = generator.map_err(TrainError::failed)?;
            let generator = match has_earlier && resumed.is_none() {
                true => load(generator, &earlier, "").map_err(TrainError::failed)?,
                false => generator,
            };
            let judges = Discriminator::new(&init, &decoder.hifigan.discriminator());
            let judges = judges.map_err(TrainError::failed)?;
            let trainee = DecoderTrainee::new(generator, judges).map_err(TrainError::failed)?;
            stage::state(job, adamw, trainee, resumed)
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
            host: gpt_stage::host(job, material, conditioning, schedule, codes)?,
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

/// The batches of the stage. A segment costs the same whatever its clip's
/// length, so where rows are bounded none has more than the longest.
pub(super) fn schedule(
    job: &Job,
    material: &Material,
    replicas: u32,
    bounds_rows: bool,
) -> Result<Schedule, TrainError> {
    gpt_stage::batches(job, material, replicas, |_| match bounds_rows {
        true => job.batch_size,
        false => u32::MAX,
    })
}

/// What the decoder is: as its weights say, or new and of a size.
pub(super) fn card_of(size: ModelSize, model: &ModelCard) -> DecoderCard {
    if let Some(decoder) = &model.decoder {
        return decoder.clone();
    }
    let channels = model.gpt.channels;
    let mut hifigan = size.decoder(channels, channels);
    hifigan.input_rate = model.audio.sample_rate.hz();
    DecoderCard {
        hifigan,
        voice: VoiceKind::Conditioning,
    }
}

/// The frozen parts that make latents and voices of recordings.
#[derive(Clone)]
pub(super) struct Frozen {
    pub(super) front_end: FrontEnd,
    pub(super) dvae: Dvae,
    pub(super) gpt: Gpt,
    /// The decoder's tensors as the stage found them; a speaker encoder among
    /// them stays as it is.
    pub(super) hifigan: TensorMap,
    pub(super) card: DecoderCard,
    pub(super) rate: SampleRate,
}

impl Frozen {
    /// Makes batches on a device.
    pub(super) fn feed(
        &self,
        device: &Device,
        cutting: Cutting,
        codes: Option<Arc<CodesCache>>,
    ) -> Result<DecoderFeed, String> {
        let dvae = self.dvae.clone().to_device(device);
        let watch = Arc::new(ShapeWatch::default());
        let feed = DeviceFeed::new(device, dvae, &self.front_end, false, watch);
        let feed = feed.map_err(|why| why.to_string())?.keeping(codes);
        let voices = VoiceVectors::new(self.card.voice, &self.hifigan, self.rate, device);
        let voices = voices.map_err(|why| why.to_string())?;
        let gpt = self.gpt.clone().to_device(device);
        DecoderFeed::new(device, feed, gpt, voices, &self.card.hifigan, cutting)
    }
}
