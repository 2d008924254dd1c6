//! `myxtts bench pipeline`: real batches, and a train step that only sleeps.
//!
//! It has two phases: the first epoch, whose codes the DVAE makes, and later ones, whose codes
//! come from the cache. Each runs through the pipeline, and again as one loop in which decode,
//! mel, codes and step follow each other.

mod error;
mod report;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use myxtts_audio::{AudioConfig, Limits};
use myxtts_data::cache::FeatureCache;
use myxtts_data::codes::{CodesCache, CodesSource};
use myxtts_data::dataset::{Corpus, train_vocabulary};
use myxtts_data::generated_corpus::generate;
use myxtts_data::host_stage::{Clip, HostFeed, HostStage, HostStageConfig, Segments};
use myxtts_data::layout::Split;
use myxtts_data::prepare::{self, Settings, prepare, unwatched};
use myxtts_data::schedule::{
    BucketShape, ConditioningSpec, Schedule, choose_buckets, padding_percent,
};
use myxtts_model::dvae::{Dvae, DvaeConfig};
use myxtts_model::init::Init;
use myxtts_pipeline::{Failure, Knobs, Ledger, Make, NoHop, Pipeline, Summary, Ticket};
use myxtts_text::{CleanOptions, Vocabulary};
use myxtts_train::feed::{DeviceFeed, FrontEnd, ShapeTracker, codes_source, single_lane};

pub use error::PipelineBenchError;
pub use report::{Phase, PipelineReport, Speed};

use crate::clock::{Clock, Elapsed};

const CONDITIONING: ConditioningSpec = ConditioningSpec::XTTS;
const BUCKETS: usize = 8;
/// Batches in flight; `RING_DEPTH` is how many of them are on the device.
const IN_FLIGHT: usize = 16;
const RING_DEPTH: usize = 8;
/// The model starts once this many batches are ready, or after `LONGEST_FILL`.
const FILL: usize = 4;
const LONGEST_FILL: Duration = Duration::from_secs(60);
/// Steps of the first epoch that the loop takes; the rest would be alike.
const STEPS_OF_LOOP: u64 = 30;

/// What to measure, and with how much work.
#[derive(Clone, Debug)]
pub struct PipelineRequest {
    /// Clips of the corpus to generate.
    pub clips: u32,
    /// Steps of the phase with cached codes.
    pub steps: u64,
    /// How long a train step takes.
    pub step: Duration,
    /// Rows of the longest bucket.
    pub batch_size: u32,
    /// Host threads that fill batches.
    pub workers: usize,
}

/// Measures the pipeline on the CPU, on a corpus generated in a folder of the
/// system's temporary files.
pub fn measure(request: &PipelineRequest) -> Result<PipelineReport, PipelineBenchError> {
    let folder = tempfile::tempdir().map_err(PipelineBenchError::Folder)?;
    let bench = Bench::prepare(folder.path(), request)?;
    let epoch = bench.schedule.steps_per_epoch();
    let later = epoch..epoch + request.steps;
    let some = 0..epoch.min(STEPS_OF_LOOP);
    let (encoded, first) = bench.phase([0..epoch, some], ["pipeline", "loop"])?;
    // The same cache is used again, with what the first epoch left in it.
    let same = [later.clone(), later];
    let (cached, tracker) = bench.phase(same, ["pipeline", "pipeline"])?;
    Ok(PipelineReport {
        data_wait_pct: cached.pipeline.data_wait_pct,
        shapes_after_warmup: first.after_warm_up() + tracker.after_warm_up(),
        padding_pct: bench.schedule.padding_percent(&bench.corpus.lengths),
        bucket_padding_pct: padding_percent(&bench.corpus.lengths, &bench.shapes),
        host_cpu_pct: cached.pipeline.host_cpu_pct,
        ledger_overhead_pct: cached.ledger.ledger_overhead_pct,
        samples_per_s: cached.pipeline.samples_per_s,
        sequential_samples_per_s: cached.sequential.samples_per_s,
        speedup: cached.speedup,
        phase: "codes from the cache",
        clips: bench.corpus.clips.len(),
        buckets: bench.schedule.shapes().count(),
        batch_size: request.batch_size,
        workers: request.workers,
        step_ms: request.step.as_secs_f64() * 1e3,
        cached,
        encoded,
    })
}

/// The generated corpus and everything that is made from it once.
struct Bench<'a> {
    request: &'a PipelineRequest,
    folder: PathBuf,
    corpus: Corpus,
    clips: Arc<[Clip]>,
    vocabulary: Arc<Vocabulary>,
    shapes: Vec<BucketShape>,
    schedule: Arc<Schedule>,
    device: Device,
    dvae: Dvae,
    source: CodesSource,
}

impl<'a> Bench<'a> {
    fn prepare(folder: &Path, request: &'a PipelineRequest) -> Result<Self, PipelineBenchError> {
        let (dataset, out) = (folder.join("dataset"), folder.join("prepared"));
        generate(&dataset, request.clips)?;
        let prepared = prepare::Request {
            dataset,
            out: out.clone(),
            vocabulary: None,
            next: vec![],
            workers: NonZeroUsize::new(request.workers).unwrap_or(NonZeroUsize::MIN),
            settings: Settings {
                // No clip is held out, so that all are measured.
                held_out_fraction: 0.0,
                ..Settings::default()
            },
        };
        prepare(&prepared, &mut unwatched)?;
        let vocabulary = train_vocabulary(&out)?;
        let corpus = Corpus::read(&out, Split::Train, &vocabulary)?;
        let shapes = choose_buckets(&corpus.lengths, BUCKETS);
        let schedule = Schedule::new(&corpus.lengths, &shapes, request.batch_size, 1, 0)
            .map_err(PipelineBenchError::Unscheduled)?;
        let device = Device::flex();
        let dvae = Dvae::new(&Init::new(0, &device), &DvaeConfig::TINY)?;
        Ok(Self {
            request,
            folder: folder.to_owned(),
            clips: corpus.clips.clone().into(),
            corpus,
            vocabulary: Arc::new(vocabulary),
            shapes,
            schedule: Arc::new(schedule),
            source: codes_source(&dvae, &FrontEnd::XTTS, &AudioConfig::default())?,
            device,
            dvae,
        })
    }

    /// Runs `steps` through the pipeline and `steps_of_loop` through the loop, each with the
    /// cache of codes named for it.
    fn phase(
        &self,
        [steps, steps_of_loop]: [Range<u64>; 2],
        [cache, cache_of_loop]: [&str; 2],
    ) -> Result<(Phase, Arc<ShapeTracker>), PipelineBenchError> {
        let tracker = Arc::new(ShapeTracker::default());
        let (pipeline, ledger) = self.pipeline(steps, self.cache(cache)?, &tracker)?;
        let sequential = self.sequential(steps_of_loop, self.cache(cache_of_loop)?)?;
        let phase = Phase {
            speedup: pipeline.samples_per_s / sequential.samples_per_s,
            pipeline,
            sequential,
            ledger,
        };
        Ok((phase, tracker))
    }

    fn pipeline(
        &self,
        steps: Range<u64>,
        cache: Arc<CodesCache>,
        tracker: &Arc<ShapeTracker>,
    ) -> Result<(Speed, Summary), PipelineBenchError> {
        let knobs = Knobs {
            workers: self.request.workers,
            in_flight: IN_FLIGHT,
            ring_depth: RING_DEPTH,
        };
        let mel = FrontEnd::XTTS.conditioning;
        let setup = single_lane(&self.schedule, CONDITIONING, &mel, steps.clone(), knobs);
        let host = self.host(Some(Arc::clone(&cache)))?;
        let (device, dvae) = (self.device.clone(), self.dvae.clone());
        let (schedule, tracker) = (Arc::clone(&self.schedule), Arc::clone(tracker));
        let device_stage: Make<DeviceFeed> =
            Box::new(move || warm(&device, dvae, &schedule, cache, tracker));
        let hops: Vec<Make<NoHop<_>>> = vec![];
        let (pipeline, mut lanes) =
            Pipeline::start(&setup, host, vec![device_stage], hops, Ledger::in_memory())?;
        let Some(mut lane) = lanes.pop() else {
            return Err(Failure::Requested.into());
        };
        lane.wait_for_start(FILL, LONGEST_FILL)?;
        let clock = Clock::of_process();
        let mut waited = Duration::ZERO;
        while let Some(delivered) = lane.next()? {
            waited += delivered.waited;
            sleep(self.request.step);
        }
        let speed = self.speed(steps, clock.elapsed(), waited);
        drop(lane);
        let outcome = pipeline.finish();
        match outcome.failure {
            Some(failure) => Err(failure.into()),
            None => Ok((speed, outcome.summary)),
        }
    }

    /// Does the same work on this thread, one thing after the other.
    fn sequential(
        &self,
        steps: Range<u64>,
        cache: Arc<CodesCache>,
    ) -> Result<Speed, PipelineBenchError> {
        let failed = |step| move |why| PipelineBenchError::Loop { step, why };
        let host = self.host(Some(Arc::clone(&cache)))?;
        let tracker = Arc::new(ShapeTracker::default());
        let dvae = self.dvae.clone();
        let device_stage = warm(&self.device, dvae, &self.schedule, cache, tracker);
        let mut device_stage = device_stage.map_err(failed(steps.start))?;
        let clock = Clock::of_process();
        let (mut spare, mut waited) = (None, Duration::ZERO);
        for step in steps.clone() {
            let wait = Instant::now();
            let filled = host.prepare(Ticket { step, lane: 0 }, spare.take());
            let filled = filled.map_err(failed(step))?;
            device_stage.batch(&filled).map_err(failed(step))?;
            spare = Some(filled);
            waited += wait.elapsed();
            sleep(self.request.step);
        }
        Ok(self.speed(steps, clock.elapsed(), waited))
    }

    fn host(
        &self,
        codes: Option<Arc<CodesCache>>,
    ) -> Result<HostFeed<Arc<[Clip]>>, PipelineBenchError> {
        let config = HostStageConfig {
            audio: AudioConfig::default(),
            limits: Limits::default(),
            text: CleanOptions::default(),
            conditioning: CONDITIONING,
            segments: Segments::Drawn { seed: 0 },
        };
        let stage = HostStage::new(
            Arc::clone(&self.clips),
            Arc::clone(&self.vocabulary),
            config,
        );
        Ok(HostFeed::new(stage, Arc::clone(&self.schedule), codes)?)
    }

    fn cache(&self, name: &str) -> Result<Arc<CodesCache>, PipelineBenchError> {
        let folder = FeatureCache::open(&self.folder.join(name))?;
        let contents = self.corpus.contents.clone();
        Ok(Arc::new(CodesCache::on_disk(contents, self.source, folder)))
    }

    fn speed(&self, steps: Range<u64>, elapsed: Elapsed, waited: Duration) -> Speed {
        let epoch = self.schedule.steps_per_epoch().max(1);
        let count = steps.end - steps.start;
        let clips: usize = steps
            .filter_map(|step| self.schedule.batch(step / epoch, step % epoch, 0))
            .map(|batch| batch.rows.iter().flatten().count())
            .sum();
        let wall_s = elapsed.wall.as_secs_f64();
        Speed {
            steps: count,
            data_wait_pct: 100.0 * waited.as_secs_f64() / wall_s,
            host_cpu_pct: elapsed.percent_of_cores(),
            samples_per_s: clips as f64 / wall_s,
            wall_s,
        }
    }
}

fn warm(
    device: &Device,
    dvae: Dvae,
    schedule: &Schedule,
    cache: Arc<CodesCache>,
    tracker: Arc<ShapeTracker>,
) -> Result<DeviceFeed, String> {
    let feed = DeviceFeed::new(device, dvae, &FrontEnd::XTTS, true, Arc::clone(&tracker));
    let mut feed = feed.map_err(|why| why.to_string())?.keeping(Some(cache));
    feed.warm_up(schedule.shapes(), CONDITIONING)?;
    tracker.end_warm_up();
    Ok(feed)
}
