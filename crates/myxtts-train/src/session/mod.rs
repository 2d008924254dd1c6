//! A whole training: stages in order, each on the devices of the plan, with
//! its books, from wherever the run stood.

pub(crate) mod checkup;
mod encode;
pub(crate) mod evaluate;
mod follow;
pub(crate) mod initial_weights;
mod job;
mod outlook;
pub(crate) mod recorder;
mod resume;
mod rules;
pub(crate) mod sampler;
mod samples;
pub(crate) mod saving;
mod stopping;
mod trained_clips;
pub(crate) mod training_data;
mod verdict;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Stderr, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use myxtts_data::prepare::Quarantined;
use myxtts_data::stage::Tell;
use myxtts_device::telemetry::SystemTelemetry;
use myxtts_infer::ModelCard;
use myxtts_model::gpt::ParameterCount;
use myxtts_pipeline::Outcome;
use myxtts_run::FileError;
use myxtts_run::checkpoint::{AsyncSaver, Best, Checkpoint, Retention, Store};
use myxtts_run::metrics::{self, MetricsWriter};
use myxtts_run::progress::{Progress, Style};
use myxtts_run::run_folder::{RunFolder, RunLog};
use myxtts_run::signals::{StopRequest, StopSignal};
use myxtts_run::tensorboard::EventWriter;
use myxtts_run::units::Step;
use myxtts_text::{CleanOptions, Language, clean_with};
use serde_json::json;

pub use encode::{Encoded, encode};
pub(crate) use evaluate::MOST_VALIDATED;
pub use job::{
    Buffers, CacheKind, Cadence, ConditioningFrom, Job, Optimisation, Resume, ScheduleKind,
    StageLength, StageName,
};
pub use training_data::voice_file_name;
pub use verdict::Finding;

use crate::error::TrainError;
use crate::feed::ShapeWatch;
use crate::placement::Placement;
use crate::stage::{decoder, dvae, parts, recipe};
use checkup::Checkup;
use evaluate::{CODES_MADE, CODES_USED, VALIDATED};
use initial_weights::Origin;
use outlook::{Leg, Outlook, Work};
use recorder::{Desk, StagePlace};
use sampler::Sampler;
use saving::Position;
use stopping::Answering;
use trained_clips::TrainedClips;
use training_data::Material;

/// How a training ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The run's folder.
    pub run: PathBuf,
    /// Steps taken, all stages.
    pub steps: u64,
    /// Samples of the last step.
    pub samples: Option<PathBuf>,
    /// Who asked it to stop.
    pub stopped: Option<StopSignal>,
    /// Percent of the time that the model waited for data, by stage.
    pub data_wait_pct: Vec<(StageName, f64)>,
    /// New shapes after the warm-up.
    pub shapes_after_warmup: u64,
    /// Kernels that were compiled after it.
    pub kernels_after_warmup: u64,
    /// Whether it can speak: it has a GPT.
    pub speaks: bool,
    /// The language of most of its recordings.
    pub language: Option<Language>,
    /// A sentence in it that the model has the letters for.
    pub sentence: Option<String>,
    /// What is to be said of it; nothing of one that was stopped.
    pub verdict: Vec<Finding>,
}

impl Finished {
    /// Before anything was done; stopped, if `stop` was asked.
    fn stopped(job: &Job, stop: &StopRequest) -> Self {
        Self {
            run: job.run.clone(),
            steps: 0,
            samples: None,
            stopped: stop.asked(),
            data_wait_pct: vec![],
            shapes_after_warmup: 0,
            kernels_after_warmup: 0,
            speaks: false,
            language: None,
            sentence: None,
            verdict: vec![],
        }
    }

    /// How it ended, in a line.
    pub fn words(&self) -> String {
        match (self.stopped, self.steps) {
            (None, steps) => format!("done: {steps} steps, {}", self.run.display()),
            (Some(_), 0) => {
                "stopped before the first step; the same command starts again".to_owned()
            }
            (Some(_), steps) => format!(
                "stopped after step {steps} with a checkpoint; the same command resumes there"
            ),
        }
    }
}

/// Trains.
pub fn run(job: &Job, placement: &Placement, stop: StopRequest) -> Result<Finished, TrainError> {
    let folder = RunFolder::take(&job.run).map_err(|why| TrainError::Usage(why.to_string()))?;
    let log = RunLog::open(&folder.log(), io::stderr())?;
    let log = Arc::new(log);
    // The terminal has it already.
    let _ = log.note(&job.plan_text);
    let answering = Answering::start(&stop, &log);
    let Standing {
        store,
        resumed,
        start,
        mut origin,
    } = Standing::find(job, &folder, &log)?;
    write_file(&folder.config(), job.config_text.as_bytes())?;
    let plan = serde_json::to_vec_pretty(&job.plan).map_err(TrainError::failed)?;
    write_file(&folder.plan(), &plan)?;
    let (vocabulary, stats) = (origin.vocabulary.take(), origin.stats.take());
    let material = match Material::read(job, vocabulary, stats, &stop) {
        Err(TrainError::Stopped) => return Ok(Finished::stopped(job, &stop)),
        material => material?,
    };
    let clips = TrainedClips::of(&material);
    if let Some(checkpoint) = &resumed
        && let Some(notice) = clips.compare(checkpoint)?
    {
        let _ = log.line(&notice);
    }
    keep_quarantine(job, &material, &folder)?;
    job.reading.finish();
    material.lost.tell(lost_clips(&folder)?);
    let bounds_rows = resumed.as_ref().is_none_or(bounds_rows);
    let mut desk = Desk::open(
        job,
        folder,
        log,
        store,
        resumed.as_ref(),
        stop.clone(),
        &clips,
    )?;
    if bounds_rows {
        desk.sections.push((ROWS.to_owned(), json!("bounded")));
    }
    let mut run = Run {
        desk,
        bounds_rows,
        job,
        placement,
        material,
        start,
        resumed,
        before: 0,
        finished: Finished::stopped(job, &stop),
    };
    run.say_left_out();
    run.note_language();
    let sampler = run.sampler();
    let trained = run.stages(origin);
    let Run {
        desk, mut finished, ..
    } = run;
    // A checkpoint in flight is written whatever happened.
    let saved = desk.saver.finish();
    drop((answering, sampler));
    trained?;
    let saved = saved?;
    finished.stopped = desk.stop.asked();
    finished.kernels_after_warmup = desk.late_kernels;
    if finished.stopped.is_none() {
        desk.metrics.sync()?;
        let lines = metrics::read(&desk.folder.metrics())?;
        // A pointer that leads nowhere is not a reason to fail a run that is done.
        let best = saved.store.best().ok().flatten();
        finished.verdict = judged(job, &lines, &desk.levels, best, finished.steps);
        for finding in &finished.verdict {
            let _ = desk.log.note(&finding.to_string());
        }
    }
    let _ = desk.log.note(&finished.words());
    desk.folder.release()?;
    Ok(finished)
}

/// What is to be said of a run, from what it wrote down.
fn judged(
    job: &Job,
    lines: &[metrics::Line],
    levels: &BTreeMap<&'static str, Vec<f32>>,
    best: Option<(Checkpoint, Best)>,
    steps: u64,
) -> Vec<Finding> {
    let mut verdict = vec![];
    let counted = lines.iter().rev().find_map(|line| {
        let [used, made] = [CODES_USED, CODES_MADE].map(|name| line.f64(name));
        Some([used?, made?])
    });
    if let Some(counted) = counted {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "counts of codes"
        )]
        let [used, made] = counted.map(|count| count as u64);
        verdict.push(verdict::codes_in_use(used, made, job.dvae.codes as u64));
    }
    for stage in [StageName::Dvae, StageName::Gpt, StageName::Decoder] {
        let of_stage = lines
            .iter()
            .filter(|line| line.text("stage").as_deref() == Some(stage.name()));
        let values: Vec<(u64, f64)> = of_stage
            .filter_map(|line| Some((line.step().0, line.f64(VALIDATED)?)))
            .collect();
        verdict.extend(verdict::validation(stage, &values));
    }
    for (title, levels) in levels {
        verdict.extend(verdict::near_silence(title, levels));
    }
    if let Some((checkpoint, best)) = best {
        let step = checkpoint.step().0;
        verdict.push(verdict::best_checkpoint(
            step,
            &best.metric,
            best.value,
            steps,
        ));
    }
    verdict
}

/// The section of a checkpoint that says how many rows its batches have.
const ROWS: &str = "rows";

/// Whether the run of a checkpoint bounds the rows of short buckets by what
/// they need.
fn bounds_rows(checkpoint: &Checkpoint) -> bool {
    checkpoint.manifest().sections.contains_key(ROWS)
}

/// Where a run stands before its first step of this time.
struct Standing {
    store: Store,
    resumed: Option<Checkpoint>,
    start: Option<Position>,
    /// The weights it begins with.
    origin: Origin,
}

impl Standing {
    fn find(job: &Job, folder: &RunFolder, log: &RunLog<Stderr>) -> Result<Self, TrainError> {
        let say = |line: &str| {
            let _ = log.line(line);
        };
        let begun_again = match job.reset_training {
            true => resume::begin_again(folder, job)?,
            false => None,
        };
        let retention = Retention {
            keep_last: NonZeroUsize::new(job.cadence.keep).unwrap_or(NonZeroUsize::MIN),
            keep_every: None,
        };
        let (mut store, swept) = Store::open(folder.checkpoints(), retention)?;
        for line in swept.to_string().lines() {
            say(line);
        }
        let resumed = match job.reset_training {
            true => None,
            false => resume::find(&store, job)
                .map_err(|error| resume::beside_whole(error, store.folder()))?,
        };
        let mut origin = match (&resumed, begun_again, &job.init) {
            (Some(checkpoint), ..) => {
                for notice in rules::check(checkpoint, job)? {
                    say(&notice);
                }
                Origin::checkpoint(checkpoint)
                    .map_err(|error| resume::beside_whole(error, store.folder()))?
            }
            (None, Some(weights), _) => weights,
            (None, None, Some(folder)) => Origin::init(folder, job)?,
            (None, None, None) => Origin::default(),
        };
        for notice in origin.notices.drain(..) {
            say(&notice);
        }
        let start = resumed.as_ref().map(saving::position).transpose()?;
        if let (Some(checkpoint), Some(position)) = (&resumed, &start) {
            let superseded = store.resume_from(checkpoint.step())?;
            say(&format!(
                "resuming from step {} ({}, {} of {} steps of this stage)",
                checkpoint.step(),
                position.stage.name(),
                position.done,
                position.steps
            ));
            if !superseded.is_empty() {
                let steps: Vec<String> = superseded.iter().map(Step::to_string).collect();
                say(&format!(
                    "later checkpoints are deleted once the first new one is written: {}; stop \
                     before that to keep them",
                    steps.join(", ")
                ));
            }
        }
        Ok(Self {
            store,
            resumed,
            start,
            origin,
        })
    }
}

/// A training in progress.
pub(crate) struct Run<'a> {
    pub(crate) desk: Desk,
    /// Whether rows are bounded by what they need; those of runs that began
    /// without the bound are not, or their batches would be others.
    pub(crate) bounds_rows: bool,
    pub(crate) job: &'a Job,
    pub(crate) placement: &'a Placement,
    pub(crate) material: Material,
    /// Where the run stood.
    start: Option<Position>,
    resumed: Option<Checkpoint>,
    /// Steps of the stages before this one.
    pub(crate) before: u64,
    pub(crate) finished: Finished,
}

impl Run<'_> {
    /// Begins to read the devices. A run that cannot write readings down trains
    /// without them, and says so.
    fn sampler(&mut self) -> Option<Sampler> {
        let started = Sampler::start(
            self.desk.folder.devices(),
            self.placement.gpus.clone(),
            SystemTelemetry::new,
            sampler::EVERY,
            Arc::clone(&self.desk.log),
        );
        let told = |why: &FileError| {
            self.desk.say(&format!(
                "devices are not read while this run trains: {why}"
            ));
        };
        started.inspect_err(told).ok()
    }

    fn say_left_out(&mut self) {
        let left_out = self.material.left_out.len();
        if left_out > 0 {
            let line = format!(
                "{left_out} clips are left out: their texts have more than {} tokens \
                 (--max-text-length); {} lists them",
                self.job.max_text.0,
                self.desk.folder.quarantine().display()
            );
            self.desk.say(&line);
        }
    }

    /// The language of most recordings, and something to say in it.
    fn note_language(&mut self) {
        let clips = &self.material.train.clips;
        let mut counts: BTreeMap<&Language, usize> = BTreeMap::new();
        for clip in clips {
            *counts.entry(&clip.language).or_default() += 1;
        }
        let Some((language, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else {
            return;
        };
        let vocabulary = &self.material.vocabulary;
        let is_known = |text: &&str| {
            let text = clean_with(text, language, &CleanOptions::default()).text;
            text.chars().all(|c| vocabulary.covers(c))
        };
        let own = clips
            .iter()
            .filter(|clip| clip.language == *language)
            .map(|clip| clip.text.as_str());
        // A model of few letters says one of its own sentences, a short one.
        let sentence = language
            .sentence()
            .filter(is_known)
            .or_else(|| own.min_by_key(|text| text.len()));
        self.finished.sentence = sentence.map(str::to_owned);
        self.finished.language = Some(language.clone());
    }

    fn stages(&mut self, mut origin: Origin) -> Result<(), TrainError> {
        let stages = self.job.stages.clone();
        if let (Some(_), Some(_), [StageName::Dvae, StageName::Gpt, ..]) =
            (&origin.gpt, &self.job.init, stages.as_slice())
            && self.resumed.is_none()
        {
            return Err(TrainError::Usage(
                "a new DVAE would make the trained GPT worthless\n  why:   the GPT of --init speaks \
                 the codes of its own DVAE, and training the DVAE changes what they mean\n  fix:   \
                 --stage gpt to fine-tune it, or leave --init out"
                    .to_owned(),
            ));
        }
        let card = origin.card.clone();
        let card = card.unwrap_or_else(|| parts::card_of(self.job, &self.material));
        self.check_memory(&card)?;
        let earlier = match self.resumed {
            Some(_) => metrics::read(&self.desk.folder.metrics())?,
            None => vec![],
        };
        self.desk.outlook = Outlook::new(self.legs(&card)?, &earlier);
        self.finished.speaks = origin.gpt.is_some();
        for (index, stage) in stages.iter().copied().enumerate() {
            self.desk.place = StagePlace {
                number: index + 1,
                of: stages.len(),
            };
            self.desk.stage_begun = Instant::now();
            let begun = self.start.take_if(|position| position.stage == stage);
            if self.start.is_some() {
                // The run stood in a later stage.
                continue;
            }
            if let Some(position) = &begun {
                self.before = position.before;
            }
            let resumed = begun.is_some().then(|| self.resumed.take()).flatten();
            let done = match stage {
                StageName::Dvae => self.dvae(&mut origin, resumed.as_ref())?,
                StageName::Gpt => self.gpt(&mut origin, resumed.as_ref())?,
                StageName::Decoder => self.decoder(&mut origin, resumed.as_ref())?,
            };
            self.finished.speaks = match stage {
                // The GPT of an earlier DVAE means other codes.
                StageName::Dvae => false,
                StageName::Gpt => true,
                StageName::Decoder => self.finished.speaks,
            };
            self.before += done;
            self.finished.steps = self.before;
            if self.desk.stop.asked().is_some() {
                break;
            }
        }
        match &self.start {
            None => Ok(()),
            Some(position) => Err(TrainError::Usage(format!(
                "the run stands in its stage {}, which this command does not train\n  fix:   name \
                 it with --stage, as the command did that began the run",
                position.stage.name()
            ))),
        }
    }

    /// The card that bounds rows, where they are bounded.
    pub(crate) fn bound<'c>(&self, card: &'c ModelCard) -> Option<&'c ModelCard> {
        self.bounds_rows.then_some(card)
    }

    /// Steps of each stage, were none to end early, and what one of them is:
    /// what is shown of the whole run must not change from stage to stage.
    fn legs(&self, card: &ModelCard) -> Result<Vec<Leg>, TrainError> {
        let (job, replicas) = (self.job, self.placement.replicas());
        let material = &self.material;
        let leg = |stage: &StageName| {
            let batches = match stage {
                StageName::Dvae => dvae::schedule(job, material, replicas)?,
                StageName::Gpt => parts::schedule(job, material, replicas, self.bound(card))?,
                StageName::Decoder => decoder::schedule(job, material, replicas, self.bounds_rows)?,
            };
            let accumulation = job.accumulation.max(1);
            let work = match stage {
                StageName::Dvae => {
                    let segments = accumulation * job.segment_batch as usize;
                    Work::dvae(&card.dvae, segments * job.segment_frames)
                }
                StageName::Gpt => {
                    let positions = batches.positions_per_batch();
                    let parameters = ParameterCount::of(&card.gpt).total();
                    Work::gpt(parameters, positions * accumulation as f64)
                }
                StageName::Decoder => {
                    let config = parts::decoder_card(job.decoder_size, card).hifigan;
                    let clips = batches.clips_per_step().map_or(1.0, |(_, _, mean)| mean);
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a mean of rows"
                    )]
                    let rows = clips.ceil() as usize / replicas.max(1) as usize;
                    Work::decoder(&config, accumulation * rows.max(1) * job.decoder_frames)
                }
            };
            Ok(Leg {
                stage: *stage,
                steps: recipe::recipe(job, *stage, &batches)?.steps,
                work,
            })
        };
        job.stages.iter().map(leg).collect()
    }

    pub(crate) fn note(&mut self, stage: StageName, outcome: &Outcome) {
        let summary = &outcome.summary;
        self.finished
            .data_wait_pct
            .push((stage, summary.data_wait_pct));
        let line = format!("{}: {}", stage.name(), summary.line());
        self.desk.say(&line);
        let _ = self.desk.log.note(&summary.to_string());
        if let Some(lost) = &outcome.ledger_lost {
            let line = format!("ledger.jsonl is not complete: {lost}");
            self.desk.say(&line);
        }
    }

    pub(crate) fn note_shapes(&mut self, watch: &ShapeWatch) {
        let new = watch.new_shapes();
        self.finished.shapes_after_warmup += new.len() as u64;
        self.desk
            .say(&format!("shapes after warm-up: {}", new.len()));
        for shapes in new.iter().take(5) {
            self.desk.say(&format!(
                "  new: {} rows of {} text tokens, {} codes, {} conditioning frames",
                shapes.rows, shapes.text, shapes.codes, shapes.frames
            ));
        }
    }

    /// Where the samples of the stage's last step are.
    pub(crate) fn samples_of(&self, done: u64) -> Option<PathBuf> {
        let step = Step(self.before + done);
        let folder = self.job.run.join("samples").join(format!("step_{step}"));
        folder.exists().then_some(folder)
    }
}

/// Writes down recordings that go while the run trains.
fn lost_clips(folder: &RunFolder) -> Result<Tell, TrainError> {
    let log = RunLog::open(&folder.log(), io::stderr()).map_err(TrainError::failed)?;
    let path = folder.quarantine();
    let file = std::fs::File::options().append(true).open(&path);
    let mut file = file.map_err(|why| TrainError::Failed(format!("{}: {why}", path.display())))?;
    Ok(Box::new(move |clip: &Quarantined| {
        // The run does not end because it cannot say what it left out.
        let line = serde_json::to_string(clip).unwrap_or_default();
        let _ = file.write_all(format!("{line}\n").as_bytes());
        let _ = log.line(&format!(
            "left out from now on: {}: {}",
            clip.source, clip.why
        ));
    }))
}

/// Every clip left out, and why, is part of the run.
fn keep_quarantine(job: &Job, material: &Material, folder: &RunFolder) -> Result<(), TrainError> {
    let prepared = job.dataset.join(myxtts_data::prepare::QUARANTINE);
    let mut lines = match prepared.exists() {
        true => std::fs::read(&prepared).map_err(FileError::when("read", &prepared))?,
        false => vec![],
    };
    for clip in &material.left_out {
        serde_json::to_writer(&mut lines, clip).map_err(TrainError::failed)?;
        lines.push(b'\n');
    }
    write_file(&folder.quarantine(), &lines)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    Ok(std::fs::write(path, bytes).map_err(FileError::when("write", path))?)
}
