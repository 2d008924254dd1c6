//! What is measured on, and the steps that are taken on it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use myxtts_base::process::peak_memory;
use myxtts_data::codes::CodesCache;
use myxtts_data::config::CacheKind;
use myxtts_data::schedule::Schedule as Batches;
use myxtts_device::{KernelWatch, Launches};
use myxtts_infer::ModelCard;
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::{Gpt, ParameterCount};
use myxtts_model::init::Init;
use myxtts_pipeline::{Ledger, Outcome};
use myxtts_run::guard::SpikeAction;
use myxtts_run::lr::{LrSchedule, Parts, Shape};
use myxtts_run::signals::StopRequest;
use myxtts_run::units::Step;

use super::observer::ProbeObserver;
use super::{BatchSource, BucketOption, LaunchesAsked, Probe, ProbeCodes, ProbeRequest};
use crate::config::StageName;
use crate::error::TrainError;
use crate::feed::{LargestBatch, ShapeTracker, codes_source};
use crate::objective::GptObjective;
use crate::placement::Placement;
use crate::session::Job;
use crate::session::initial_weights::InitialWeights;
use crate::session::training_data::TrainingData;
use crate::stage::execute::{PrefetchConfig, StageObserver, StageRun, run_stage};
use crate::stage::pool_monitor::held;
use crate::stage::prefetch::prefetch_config;
use crate::stage::warm_up::WarmUp;
use crate::stage::{self, parts, precision, stage_plan};
use crate::train_loop::LoopConfig;

/// The most bytes that batches made beforehand may take on each model device.
const CACHED_BYTES: u64 = 1 << 30;

/// The longest that making batches beforehand may take.
const LONGEST_FILL: Duration = Duration::from_secs(3600);

/// The most files whose sizes are looked at.
const FILES_LOOKED_AT: usize = 1000;

/// The most clips for which other buckets are tried.
const CLIPS_OF_CHOICES: usize = 20_000;

/// What is trained: the same for every request.
pub(super) struct Subject<'a> {
    job: &'a Job,
    placement: &'a Placement,
    training_data: TrainingData,
    card: ModelCard,
    dvae: Dvae,
    pub(super) schedule: Arc<Batches>,
}

impl<'a> Subject<'a> {
    pub(super) fn read(job: &'a Job, placement: &'a Placement) -> Result<Self, TrainError> {
        let vocabulary = match &job.init {
            Some(folder) => InitialWeights::vocabulary_of(folder)?,
            None => None,
        };
        let training_data = TrainingData::read(job, vocabulary, None, &StopRequest::new())?;
        let card = parts::card_of(job, &training_data);
        let home = Device::flex();
        let dvae = Dvae::new(&Init::new(job.seed, &home), &card.dvae);
        let schedule = parts::schedule(job, &training_data, placement.replicas(), Some(&card))?;
        Ok(Self {
            job,
            placement,
            dvae: dvae.map_err(TrainError::failed)?,
            training_data,
            card,
            schedule: Arc::new(schedule),
        })
    }

    pub(super) fn largest(&self) -> LargestBatch {
        let card = &self.card;
        LargestBatch::of(&self.schedule, card.conditioning, &card.conditioning_mel)
    }

    /// Takes these steps, observed by `observer`.
    pub(super) fn train(
        &self,
        request: &ProbeRequest,
        steps: &Steps,
        shapes: &Arc<ShapeTracker>,
        observer: &mut dyn StageObserver<GptObjective>,
    ) -> Result<Outcome, TrainError> {
        let Self {
            job,
            placement,
            training_data,
            card,
            schedule,
            ..
        } = self;
        let codes = self.codes(request.codes)?;
        let loop_config = self.loop_config(steps, request)?;
        let compute = precision::on(job.plan.precision, placement)?;
        let learns = parts::gpt_recipe(job, card);
        let warm_up = self.warm_up(request);
        let state = |device: &Device| {
            let init = Init::new(job.seed, &device.clone().autodiff());
            let gpt = parts::adapted(job, Gpt::new(&init, &card.gpt), &init);
            let objective = GptObjective::new(gpt.with_compute(compute), learns.clone());
            let adamw = job.optimization.adamw;
            let objective = warm_up.model(objective, adamw, &loop_config, card)?;
            let mut state = stage::state(job, adamw, objective, None)?;
            state.done = request.begin_at;
            Ok(state)
        };
        let conditioning = card.conditioning;
        let (clips, batches) = (codes.clone(), Arc::clone(schedule));
        let host = parts::host(job, training_data, conditioning, batches, clips)?;
        let device_stage = parts::device_stage(
            training_data,
            &self.dvae,
            card.quirks,
            codes,
            Arc::clone(shapes),
            request.faults.clone(),
        );
        let run = StageRun {
            placement,
            prefetch: self.prefetch(request, steps),
            largest: self.largest(),
            host: host.slowed(request.faults.slowness(), request.faults.clip),
            device_stage: warm_up.device_stage(device_stage, conditioning, shapes),
            state,
            loop_config: &loop_config,
            targets: parts::gpt_targets(job, training_data, card, schedule),
            ledger: Ledger::in_memory().keeping(),
            stop: StopRequest::new(),
        };
        let (_, outcome) = run_stage(run, observer)?;
        Ok(outcome)
    }

    fn warm_up(&self, request: &ProbeRequest) -> WarmUp {
        WarmUp {
            schedule: Arc::clone(&self.schedule),
            placement: self.placement.clone(),
            settles: request.settles,
            listener: request.listener.clone(),
            stop: StopRequest::new(),
        }
    }

    pub(super) fn run(&self, request: &ProbeRequest, begin: Instant) -> Result<Probe, TrainError> {
        let Self {
            job,
            placement,
            training_data,
            card,
            schedule,
            ..
        } = self;
        let shapes = Arc::new(ShapeTracker::default());
        let steps = self.steps(request, self.largest());
        let kernels = placement.has_gpu().then(KernelWatch::warm_up);
        let launches = match request.launches {
            LaunchesAsked::No => None,
            asked => Some(Launches::watch(asked == LaunchesAsked::Timed)),
        };
        let mut observer =
            ProbeObserver::new(request, steps, job.clips.audio.sample_rate, kernels, begin);
        observer.launches = launches.filter(|_| placement.has_gpu());
        let outcome = self.train(request, &steps, &shapes, &mut observer)?;
        let seen = observer.finish()?;
        let devices = placement.models.iter();
        Ok(Probe {
            steps: seen.steps,
            entries: outcome.entries,
            ledger: outcome.summary,
            made_ready: seen.made_ready,
            start: seen.start,
            wall: seen.wall,
            accumulation: steps.accumulation,
            replicas: placement.replicas(),
            padding_pct: schedule.padding_percent(&training_data.train.lengths),
            buckets: self.buckets(),
            clips: training_data.train.clips.len(),
            run_steps: stage_plan::loop_config(job, StageName::Gpt, schedule)?.steps,
            step_bytes: self.step_bytes(),
            recordings: self.recordings().map(Path::to_owned).collect(),
            parameters: ParameterCount::of(&card.gpt).total(),
            peak_rss_bytes: peak_memory(),
            device_bytes: devices.map(held).collect(),
            kernels: seen.kernels,
            launches: seen.launches,
            shapes: shapes.shapes(),
            new_shapes: shapes.new_shapes(),
            threads: seen.threads,
            loss: seen.loss,
        })
    }

    fn codes(&self, codes: ProbeCodes) -> Result<Option<Arc<CodesCache>>, TrainError> {
        let (job, training_data) = (self.job, &self.training_data);
        let source = codes_source(&self.dvae, &training_data.front_end, &job.clips.audio);
        let source = source.map_err(TrainError::failed)?;
        let contents = training_data.train.contents.clone();
        let cache = match (codes, job.clips.cache) {
            (ProbeCodes::Made, _) | (ProbeCodes::AsLater, CacheKind::None) => return Ok(None),
            (ProbeCodes::AsLater, _) => {
                let codes = u16::try_from(self.card.dvae.codes).unwrap_or(u16::MAX);
                CodesCache::drawn(contents, source, codes)
            }
            (ProbeCodes::AfterAnEpoch, _) => CodesCache::in_memory(contents, source),
        };
        Ok(Some(Arc::new(cache)))
    }

    /// Plans the steps of a request for this data.
    pub(super) fn steps(&self, request: &ProbeRequest, largest: LargestBatch) -> Steps {
        let accumulation = self.job.accumulation() as u64;
        let epoch = self.schedule.steps_per_epoch().div_ceil(accumulation);
        let warm_up = match request.codes {
            ProbeCodes::AfterAnEpoch => epoch.max(request.warm_up_steps),
            ProbeCodes::AsLater | ProbeCodes::Made => request.warm_up_steps,
        };
        let fit = CACHED_BYTES / (largest.device.max(1) * accumulation);
        let measured = match request.keep {
            BatchSource::Live => request.steps,
            BatchSource::Cached => request.steps.min(fit.saturating_sub(warm_up).max(1)),
        };
        // The data must not end before the steps do.
        let beyond = match request.keep {
            BatchSource::Live => 2 * u64::from(self.job.plan.in_flight) + 1,
            BatchSource::Cached => 0,
        };
        Steps {
            begin: request.begin_at,
            warm_up,
            measured,
            end: request.begin_at + warm_up + measured + beyond,
            accumulation,
            replicas: u64::from(self.placement.replicas()).max(1),
            workers: u64::from(self.job.plan.workers),
        }
    }

    fn loop_config(&self, steps: &Steps, request: &ProbeRequest) -> Result<LoopConfig, TrainError> {
        let job = self.job;
        let rate = Parts {
            base: job.optimization.learning_rate,
            warmup: Step(0),
            shape: Shape::Constant,
        };
        Ok(LoopConfig {
            steps: steps.end,
            accumulation: job.accumulation(),
            lr_schedule: LrSchedule::new(rate).map_err(TrainError::failed)?,
            gradient_clip: job.optimization.gradient_clip,
            seed: job.seed,
            compare_every: 0,
            reads_late: job.optimization.spikes == SpikeAction::Log,
            faults: request.faults.step,
        })
    }

    fn prefetch(&self, request: &ProbeRequest, steps: &Steps) -> PrefetchConfig {
        let prefetch = prefetch_config(self.job, self.placement);
        match request.keep {
            BatchSource::Live => prefetch,
            BatchSource::Cached => {
                let each = (steps.end - steps.begin) * steps.accumulation;
                let count = |batches: u64| usize::try_from(batches).unwrap_or(usize::MAX);
                let longest = request.at_most.min(LONGEST_FILL);
                prefetch.holding(count(each * steps.replicas), count(each), longest)
            }
        }
    }

    /// Tries more buckets, unless choosing them takes long.
    fn buckets(&self) -> Vec<BucketOption> {
        let lengths = &self.training_data.train.lengths;
        let counts = [4, 8, 12, 16, 24, 32].into_iter();
        let more = counts.filter(|count| *count > self.job.clips.buckets);
        let more = more.take(if lengths.len() > CLIPS_OF_CHOICES {
            0
        } else {
            3
        });
        let schedules = more.filter_map(|buckets| {
            let mut job = self.job.clone();
            job.clips.buckets = buckets;
            let replicas = self.placement.replicas();
            let schedule =
                parts::schedule(&job, &self.training_data, replicas, Some(&self.card)).ok()?;
            let edges = schedule
                .shapes()
                .map(|(shape, _)| (shape.text.0, shape.audio.0));
            Some((buckets, schedule.padding_percent(lengths), edges.collect()))
        });
        schedules.collect()
    }

    /// Returns an even sample of the recordings: looking at each file of a large corpus takes
    /// long.
    fn recordings(&self) -> impl Iterator<Item = &Path> {
        let clips = &self.training_data.train.clips;
        let every = clips.len().div_ceil(FILES_LOOKED_AT).max(1);
        clips.iter().step_by(every).map(|clip| clip.audio.as_path())
    }

    /// Estimates the bytes that a step reads, from the sizes of the files on disk.
    fn step_bytes(&self) -> u64 {
        let files = self.recordings().filter_map(|file| file.metadata().ok());
        let sizes: Vec<u64> = files.map(|file| file.len()).collect();
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len().max(1) as f64;
        let clips_a_step = self
            .schedule
            .clips_per_step()
            .map_or(0.0, |(.., mean)| mean);
        // A clip may be conditioned on another recording, which is read as well.
        let recordings = if self.training_data.companions.is_some() {
            2.0
        } else {
            1.0
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bytes of a few recordings"
        )]
        let bytes = (mean * clips_a_step * recordings * self.job.accumulation() as f64) as u64;
        bytes
    }
}

/// The steps of a probe, planned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    /// Steps of the stage before the first one.
    pub(super) begin: u64,
    /// The fewest steps before the measured ones.
    pub(super) warm_up: u64,
    pub(super) measured: u64,
    /// The last step that there is data for.
    pub(super) end: u64,
    /// Batches of one replica's step.
    pub(super) accumulation: u64,
    pub(super) replicas: u64,
    /// Batches that workers are filling.
    pub(super) workers: u64,
}
