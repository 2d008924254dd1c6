//! The parts that several stages are made of: what a new model is, batches, codes,
//! and what the pipeline's stages do with them.

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::Device;
use myxtts_base::report;
use myxtts_data::cache::FeatureCache;
use myxtts_data::codes::CodesCache;
use myxtts_data::config::CacheKind;
use myxtts_data::host_stage::{Clip, HostFeed, Segments};
use myxtts_data::prepare::CACHE;
use myxtts_data::schedule::{BucketShape, ConditioningSpec, Schedule, choose_buckets};
use myxtts_infer::{DecoderCard, ModelCard, SamplingDefaults, VoiceKind};
use myxtts_model::ModelSize;
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::{Gpt, GptConfig, Quirks, Vocabulary};
use myxtts_model::init::Init;
use myxtts_run::FileError;

use super::execute::MakeDeviceStage;
use crate::demand::Demand;
use crate::error::TrainError;
use crate::faults::Faults;
use crate::feed::{DeviceFeed, ShapeTracker, Targets, codes_source};
use crate::objective::GptObjectiveConfig;
use crate::session::Job;
use crate::session::training_data::TrainingData;

/// Describes a new GPT.
pub(crate) fn card_of(job: &Job, training_data: &TrainingData) -> ModelCard {
    let dvae = job.sizes.dvae;
    let text = &training_data.vocabulary;
    let vocabulary = Vocabulary {
        text_tokens: text.text_tokens(),
        start_text: text.start(),
        stop_text: text.stop(),
        codes: u32::try_from(dvae.codes).unwrap_or(u32::MAX),
        ..Vocabulary::XTTS_V2
    };
    let front_end = &training_data.front_end;
    ModelCard {
        gpt: GptConfig {
            vocabulary,
            ..job.sizes.gpt.clone()
        },
        dvae,
        quirks: job.quirks,
        audio: job.clips.audio.clone(),
        codes_mel: front_end.codes,
        conditioning_mel: front_end.conditioning,
        conditioning: job.clips.conditioning,
        languages: text.languages().into_iter().map(str::to_owned).collect(),
        decoder: None,
        sampling: Some(SamplingDefaults::TRAINED_HERE),
    }
}

/// Describes the decoder: as its weights say, or new and of the given size.
pub(crate) fn decoder_card(size: ModelSize, model: &ModelCard) -> DecoderCard {
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

/// Returns what training a model of this card asks of its devices.
pub(crate) fn demand_of(job: &Job, card: &ModelCard) -> Demand {
    let decoder = decoder_card(job.decoder_size, card);
    Demand {
        gpt: card.gpt.clone(),
        dvae: card.dvae,
        decoder: decoder.hifigan,
        stages: job.stages.clone(),
        longest: BucketShape {
            text: job.clips.max_text,
            audio: job.clips.max_audio,
        },
        conditioning: card.conditioning,
        segments: [job.segments.dvae_frames, job.segments.dvae_batch as usize],
        decoder_frames: job.segments.decoder_frames,
        has_average: job.optimization.ema_decay > 0.0,
        has_start: job.init.is_some(),
        clips: None,
    }
}

/// Makes the batches of the stage.
///
/// With a card, a batch of short clips has no more rows than need as much memory as one of the
/// longest that the configuration allows.
pub(crate) fn schedule(
    job: &Job,
    training_data: &TrainingData,
    replicas: u32,
    bound: Option<&ModelCard>,
) -> Result<Schedule, TrainError> {
    let demand = bound.map(|card| demand_of(job, card));
    batches(job, training_data, replicas, |shape| {
        let most = demand.as_ref();
        most.map_or(u32::MAX, |demand| {
            demand.rows_within(job.plan.batch_size, shape)
        })
    })
}

/// Makes batches with at most `most(shape)` rows of each shape.
pub(crate) fn batches(
    job: &Job,
    training_data: &TrainingData,
    replicas: u32,
    most: impl Fn(BucketShape) -> u32,
) -> Result<Schedule, TrainError> {
    let shapes = choose_buckets(&training_data.train.lengths, job.clips.buckets);
    Schedule::within(
        &training_data.train.lengths,
        &shapes,
        job.plan.batch_size,
        replicas,
        job.seed,
        most,
    )
    .map_err(|clip| TrainError::Failed(report!("clip {} fits no bucket", clip.0)))
}

/// Opens the cache of codes that the job asks for, with a message if codes of another DVAE were
/// there.
pub(crate) fn codes_cache(
    job: &Job,
    training_data: &TrainingData,
    dvae: &Dvae,
    schedule: &Schedule,
) -> Result<(Option<Arc<CodesCache>>, Option<String>), TrainError> {
    let source = codes_source(dvae, &training_data.front_end, &job.clips.audio);
    let source = source.map_err(TrainError::failed)?;
    let contents = training_data.train.contents.clone();
    Ok(match job.clips.cache {
        CacheKind::None => (None, None),
        CacheKind::Memory => {
            let cache = CodesCache::in_memory(contents, source);
            (Some(Arc::new(cache)), None)
        }
        CacheKind::Disk => {
            let path = job.dataset.folder.join(CACHE);
            let folder = FeatureCache::open(&path).map_err(TrainError::failed)?;
            let cache = CodesCache::on_disk(contents, source, folder);
            let replaces = source.replaces(&path);
            let again = match replaces.map_err(FileError::when("mark the codes in", &path))? {
                true => cache.missing(schedule).map_err(TrainError::failed)?,
                false => 0,
            };
            let notice = format!(
                "{again} clips are encoded again: the DVAE changed, or the mel in front of it"
            );
            (Some(Arc::new(cache)), (again > 0).then_some(notice))
        }
    })
}

/// Makes the host stage, which fills batches of the schedule.
pub(crate) fn host(
    job: &Job,
    training_data: &TrainingData,
    conditioning: ConditioningSpec,
    schedule: Arc<Schedule>,
    codes: Option<Arc<CodesCache>>,
) -> Result<HostFeed<Arc<[Clip]>>, TrainError> {
    let segments = Segments::Drawn { seed: job.seed };
    let stage = training_data.stage(Arc::clone(&training_data.clips), conditioning, segments);
    let stage = stage
        .conditioned_by(training_data.companions.clone())
        .beginning_at(job.clips.beginnings);
    let host = HostFeed::new(stage, schedule, codes)?;
    Ok(match job.plan.static_shapes {
        true => host,
        false => host.with_tight_shapes(training_data.train.lengths.clone().into()),
    })
}

/// Returns a function that makes the device stage on a device.
pub(crate) fn device_stage(
    training_data: &TrainingData,
    dvae: &Dvae,
    quirks: Quirks,
    codes: Option<Arc<CodesCache>>,
    tracker: Arc<ShapeTracker>,
    faults: Faults,
) -> MakeDeviceStage<DeviceFeed> {
    let front_end = training_data.front_end.clone();
    let (dvae, tracker) = (dvae.clone(), tracker);
    Arc::new(move |device: &Device| {
        let dvae = dvae.clone().to_device(device);
        let feed = DeviceFeed::new(device, dvae, &front_end, true, Arc::clone(&tracker));
        let feed = feed.map_err(|why| why.to_string())?;
        let feed = feed.with_quirks(quirks).keeping(codes.clone());
        Ok(feed.with_faults(faults.clone()))
    })
}

/// Gives a GPT the adapters that the plan of a job has, if any.
pub(crate) fn adapted(job: &Job, gpt: Gpt, init: &Init) -> Gpt {
    match job.plan.savings.adapters as usize {
        0 => gpt,
        rank => gpt.with_adapters(init, rank),
    }
}

/// How the GPT of a card learns in a training of this job.
pub(crate) fn gpt_recipe(job: &Job, card: &ModelCard) -> GptObjectiveConfig {
    GptObjectiveConfig {
        label_smoothing: job.optimization.label_smoothing,
        dropout: job.optimization.dropout.unwrap_or(card.gpt.dropout),
        quirks: card.quirks,
        frozen: job.frozen.clone(),
        recompute: job.plan.savings.recompute,
        ..GptObjectiveConfig::default()
    }
}

/// How many targets each batch of the GPT has.
pub(crate) fn gpt_targets(
    job: &Job,
    training_data: &TrainingData,
    card: &ModelCard,
    schedule: &Arc<Schedule>,
) -> Targets {
    Targets::of_gpt(
        schedule,
        &training_data.train,
        card.conditioning,
        training_data.companions.clone(),
        job.clips.beginnings,
        job.seed,
        card.quirks,
    )
}
