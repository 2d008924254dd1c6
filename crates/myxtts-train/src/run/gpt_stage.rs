//! The stage that trains the GPT.

use std::sync::{Arc, Mutex, PoisonError};

use burn::module::Module;
use burn::tensor::Device;
use myxtts_data::cache::FeatureCache;
use myxtts_data::config::CacheKind;
use myxtts_data::prepare::CACHE;
use myxtts_data::schedule::{BucketShape, ConditioningSpec, Schedule, choose_buckets};
use myxtts_data::stage::{Clip, Segments};
use myxtts_infer::{ModelCard, SamplingDefaults};
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::{Gpt, GptConfig, Quirks, Vocabulary, check_frozen};
use myxtts_model::init::Init;
use myxtts_model::params::{HandedOver, StateDict, load};
use myxtts_run::FileError;
use myxtts_run::checkpoint::Checkpoint;

use super::evaluate::GptEvaluator;
use super::flow::flow;
use super::job::Job;
use super::material::Material;
use super::origin::Origin;
use super::warm_up::{Listener, WarmUp};
use super::{Run, decoder_stage, encode, precision, stage};
use crate::config::StageName;
use crate::demand::Demand;
use crate::error::TrainError;
use crate::faults::Faults;
use crate::feed::{CodesCache, CodesSource, DeviceFeed, HostFeed, Largest, ShapeWatch, Targets};
use crate::stage_run::{MakeSite, StageRun};
use crate::trainee::{GptRecipe, GptTrainee};

impl Run<'_> {
    /// Trains the GPT, and gives its steps.
    pub(super) fn gpt(
        &mut self,
        origin: &mut Origin,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let (job, placement, material) = (self.job, self.placement, &self.material);
        let Some(dvae_weights) = origin.dvae.take() else {
            return Err(TrainError::Usage(
                "the GPT needs a trained DVAE, and there is none\n  why:   the GPT learns the \
                 codes that a DVAE makes of recordings\n  fix:   --stage all, or --init DIR with \
                 weights that have a DVAE"
                    .to_owned(),
            ));
        };
        let compute = precision::on(job.plan.precision, placement)?;
        let card = origin.card.take();
        let card = card.unwrap_or_else(|| card_of(job, material));
        // A configuration is checked against the size it names; weights of
        // `--init` may have another number of blocks.
        check_frozen(&card.gpt, &job.frozen)
            .map_err(|why| TrainError::Usage(format!("training.freeze: {why}")))?;
        let dvae = encode::frozen_dvae(&card, &dvae_weights)?;
        let schedule = schedule(job, material, placement.replicas(), self.bound(&card))?;
        let schedule = Arc::new(schedule);
        let (recipe, position) =
            stage::begin(job, StageName::Gpt, &schedule, self.before, resumed)?;
        let padding = schedule.padding_percent(&material.train.lengths);
        self.desk.say(&format!(
            "{} clips in {} shapes, {} batches an epoch{}, {padding:.1} % padding",
            material.train.clips.len(),
            schedule.shapes().count(),
            schedule.steps_per_epoch(),
            clips_of(&schedule)
        ));
        let (codes, notice) = codes_cache(job, material, &dvae, &schedule)?;
        if let Some(notice) = notice {
            self.desk.say(&notice);
        }
        let watch = Arc::new(ShapeWatch::default());
        let site = site(
            material,
            &dvae,
            card.quirks,
            codes.clone(),
            Arc::clone(&watch),
            Faults::default(),
        );
        // One copy for each replica, and none left over: a checkpoint of the
        // stage has weights of its own.
        let earlier = origin.gpt.take().filter(|_| resumed.is_none());
        let earlier = Earlier::new(earlier, placement.replicas() as usize);
        let learns = GptRecipe {
            label_smoothing: job.optimisation.label_smoothing,
            dropout: job.optimisation.dropout.unwrap_or(card.gpt.dropout),
            quirks: card.quirks,
            frozen: job.frozen.clone(),
            ..GptRecipe::default()
        };
        let warm_up = WarmUp {
            schedule: Arc::clone(&schedule),
            placement: placement.clone(),
            settles: true,
            listener: Listener::new({
                let log = Arc::clone(&self.desk.log);
                move |line| {
                    // A terminal that is gone has nobody to tell.
                    let _ = log.line(line);
                }
            }),
            stop: self.desk.stop.clone(),
        };
        let state = |device: &Device| {
            let autodiff = device.clone().autodiff();
            let gpt = match (earlier.take(), resumed) {
                (Some(weights), None) => {
                    let gpt = Gpt::new(&Init::blank(&autodiff), &card.gpt);
                    load(gpt, &HandedOver::from(weights), "").map_err(TrainError::failed)?
                }
                (_, Some(_)) => Gpt::new(&Init::blank(&autodiff), &card.gpt),
                (None, None) => Gpt::new(&Init::new(job.seed, &autodiff), &card.gpt),
            };
            let trainee = GptTrainee::new(gpt.with_compute(compute), learns.clone());
            let adamw = job.optimisation.adamw;
            let trainee = warm_up.model(trainee, adamw, &recipe, &card)?;
            stage::state(job, adamw, trainee, resumed)
        };
        let conditioning = card.conditioning;
        let targets = Targets::of_gpt(
            &schedule,
            &material.train,
            conditioning,
            material.companions.clone(),
            job.beginnings,
            job.seed,
            card.quirks,
        );
        let run = StageRun {
            placement,
            flow: flow(job, placement),
            largest: Largest::of(&schedule, conditioning, &card.conditioning_mel),
            host: host(job, material, conditioning, Arc::clone(&schedule), codes)?,
            site: warm_up.site(site, conditioning, &watch),
            state,
            recipe: &recipe,
            targets,
            ledger: stage::ledger(&self.desk, StageName::Gpt)?,
            stop: self.desk.stop.clone(),
        };
        let hifigan = origin.hifigan.clone();
        let evaluator = GptEvaluator::new(job, material, &card, &dvae, hifigan, &placement.data[0]);
        let sampling = evaluator.sampling();
        let desk = &mut self.desk;
        let (state, outcome) =
            stage::train(run, desk, evaluator, position, job, material, resumed)?;
        self.note(StageName::Gpt, &outcome);
        self.note_shapes(&watch);
        self.finished.samples = self.samples_of(state.done);
        origin.dvae = Some(dvae_weights);
        origin.card = Some(ModelCard {
            sampling: sampling.get(),
            ..card
        });
        let done = state.done;
        // Only the decoder's stage wants the weights on the host.
        if job.stages.last() != Some(&StageName::Gpt) {
            origin.gpt = Some(stage::handed_on(state)?);
        }
        Ok(done)
    }
}

/// Earlier weights, for so many replicas: each takes a copy but the last, which
/// takes the weights themselves. A large model's are gigabytes that no step
/// needs.
struct Earlier(Mutex<(usize, Option<StateDict>)>);

impl Earlier {
    fn new(weights: Option<StateDict>, replicas: usize) -> Self {
        Self(Mutex::new((replicas, weights)))
    }

    fn take(&self) -> Option<StateDict> {
        // Poisoned by a replica that panicked while it copied: what it copied
        // from is as it was.
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, weights) = &mut *shared;
        *left = left.saturating_sub(1);
        match *left {
            0 => weights.take(),
            _ => weights.clone(),
        }
    }
}

/// What a new GPT is.
pub(super) fn card_of(job: &Job, material: &Material) -> ModelCard {
    let dvae = job.sizes.dvae;
    let text = &material.vocabulary;
    let vocabulary = Vocabulary {
        text_tokens: text.text_tokens(),
        start_text: text.start(),
        stop_text: text.stop(),
        codes: u32::try_from(dvae.codes).unwrap_or(u32::MAX),
        ..Vocabulary::XTTS_V2
    };
    let front_end = &material.front_end;
    ModelCard {
        gpt: GptConfig {
            vocabulary,
            ..job.sizes.gpt.clone()
        },
        dvae,
        quirks: job.quirks,
        audio: job.audio.clone(),
        codes_mel: front_end.codes,
        conditioning_mel: front_end.conditioning,
        conditioning: job.conditioning,
        languages: text.languages().into_iter().map(str::to_owned).collect(),
        decoder: None,
        sampling: Some(SamplingDefaults::TRAINED_HERE),
    }
}

/// The batches of the stage: where clips go, and what was made of them.
///
/// With a card, a batch of short clips has no more rows than need as much
/// memory as the longest the configuration allows.
pub(super) fn schedule(
    job: &Job,
    material: &Material,
    replicas: u32,
    bound: Option<&ModelCard>,
) -> Result<Schedule, TrainError> {
    let demand = bound.map(|card| demand_of(job, card));
    batches(job, material, replicas, |shape| {
        let most = demand.as_ref();
        most.map_or(u32::MAX, |demand| {
            demand.rows_within(job.plan.batch_size, shape)
        })
    })
}

/// What training a model of this card asks of its devices.
pub(super) fn demand_of(job: &Job, card: &ModelCard) -> Demand {
    let decoder = decoder_stage::card_of(job.decoder_size, card);
    Demand {
        gpt: card.gpt.clone(),
        dvae: card.dvae,
        decoder: decoder.hifigan,
        stages: job.stages.clone(),
        longest: BucketShape {
            text: job.max_text,
            audio: job.max_audio,
        },
        conditioning: card.conditioning,
        segments: [job.segments.dvae_frames, job.segments.dvae_batch as usize],
        decoder_frames: job.segments.decoder_frames,
        has_average: job.optimisation.ema_decay > 0.0,
        has_start: job.init.is_some(),
        clips: None,
    }
}

/// `, 16 to 47 clips in each (mean 30.9)`.
fn clips_of(schedule: &Schedule) -> String {
    schedule
        .clips_per_step()
        .map_or_else(String::new, |(least, most, mean)| {
            format!(", {least} to {most} clips in each (mean {mean:.1})")
        })
}

/// Batches with at most so many rows of each shape.
pub(super) fn batches(
    job: &Job,
    material: &Material,
    replicas: u32,
    most: impl Fn(BucketShape) -> u32,
) -> Result<Schedule, TrainError> {
    let shapes = choose_buckets(&material.train.lengths, job.buckets);
    Schedule::within(
        &material.train.lengths,
        &shapes,
        job.plan.batch_size,
        replicas,
        job.seed,
        most,
    )
    .map_err(|clip| TrainError::Failed(format!("clip {} fits no bucket", clip.0)))
}

/// Codes kept from epoch to epoch, as the job says, and whether those of
/// another DVAE were there.
pub(super) fn codes_cache(
    job: &Job,
    material: &Material,
    dvae: &Dvae,
    schedule: &Schedule,
) -> Result<(Option<Arc<CodesCache>>, Option<String>), TrainError> {
    let source = CodesSource::of(dvae, &material.front_end, &job.audio);
    let source = source.map_err(TrainError::failed)?;
    let contents = material.train.contents.clone();
    Ok(match job.cache {
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

/// The host stage.
pub(super) fn host(
    job: &Job,
    material: &Material,
    conditioning: ConditioningSpec,
    schedule: Arc<Schedule>,
    codes: Option<Arc<CodesCache>>,
) -> Result<HostFeed<Arc<[Clip]>>, TrainError> {
    let segments = Segments::Drawn { seed: job.seed };
    let stage = material.stage(Arc::clone(&material.clips), conditioning, segments);
    let stage = stage
        .conditioned_by(material.companions.clone())
        .beginning_at(job.beginnings);
    let host = HostFeed::new(stage, schedule, codes)?;
    Ok(match job.plan.static_shapes {
        true => host,
        false => host.with_tight_shapes(material.train.lengths.clone().into()),
    })
}

/// Makes the device stage on a device.
pub(super) fn site(
    material: &Material,
    dvae: &Dvae,
    quirks: Quirks,
    codes: Option<Arc<CodesCache>>,
    watch: Arc<ShapeWatch>,
    faults: Faults,
) -> MakeSite<DeviceFeed> {
    let front_end = material.front_end.clone();
    let (dvae, watch) = (dvae.clone(), watch);
    Arc::new(move |device: &Device| {
        let dvae = dvae.clone().to_device(device);
        let feed = DeviceFeed::new(device, dvae, &front_end, true, Arc::clone(&watch));
        let feed = feed.map_err(|why| why.to_string())?;
        let feed = feed.with_quirks(quirks).keeping(codes.clone());
        Ok(feed.with_faults(faults.clone()))
    })
}
