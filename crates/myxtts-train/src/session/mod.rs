//! A whole training: its stages in order, each on the devices of the plan and recorded in the
//! run's folder, from wherever the run left off.

pub(crate) mod checkup;
mod encode;
mod eta;
pub(crate) mod evaluate;
mod finished;
mod follow;
pub(crate) mod initial_weights;
mod job;
mod quarantine;
pub(crate) mod recorder;
mod request;
mod resume;
mod resume_rules;
pub(crate) mod sampler;
mod samples;
pub(crate) mod saving;
mod stages;
mod stopping;
mod trained_clips;
pub(crate) mod training_data;
mod verdict;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use myxtts_device::telemetry::SystemTelemetry;
use myxtts_run::FileError;
use myxtts_run::checkpoint::Checkpoint;
use myxtts_run::metrics;
use myxtts_run::observer::Observer;
use myxtts_run::run_folder::{RunFolder, RunLog};
use myxtts_run::signals::StopRequest;
use myxtts_text::{CleanOptions, Language, clean_with};

pub use encode::{Encoded, encode};
pub(crate) use evaluate::MOST_VALIDATED;
pub use finished::Finished;
pub(crate) use job::{Job, Optimization};
pub use request::{PreparedDataset, SegmentSizes, TrainRequest};
pub use training_data::voice_file_name;
pub use verdict::Finding;

use crate::error::TrainError;
use crate::placement::Placement;
use initial_weights::InitialWeights;
use quarantine::{keep_quarantine, lost_clips};
use recorder::RunOutputs;
use resume::ResumePoint;
use sampler::Sampler;
use saving::Position;
use stopping::StopNotice;
use trained_clips::TrainedClips;
use training_data::TrainingData;
use verdict::judged;

/// Trains, and tells the observer.
pub fn run(
    request: &TrainRequest,
    placement: &Placement,
    stop: StopRequest,
    observer: Arc<dyn Observer>,
) -> Result<Finished, TrainError> {
    let job = &Job::of(request);
    let folder = RunFolder::take(&job.run).map_err(TrainError::usage)?;
    let log = Arc::new(RunLog::open(&folder.log(), observer)?);
    // Whoever asked for the training knows the plan already.
    let _ = log.note(&job.plan.to_string());
    let stop_notice = StopNotice::start(&stop, &log);
    let mut resume_point = ResumePoint::find(job, &folder, &log)?;
    write_settings(job, &folder)?;
    let known = &mut resume_point.initial_weights;
    let (vocabulary, stats) = (known.vocabulary.take(), known.stats.take());
    let training_data = match TrainingData::read(job, vocabulary, stats, &stop) {
        Err(TrainError::Stopped) => return Ok(Finished::stopped(job, &stop)),
        training_data => training_data?,
    };
    let (mut run, initial_weights) = Run::begin(
        job,
        placement,
        resume_point,
        training_data,
        folder,
        log,
        &stop,
    )?;
    run.say_left_out();
    run.note_language();
    let sampler = run.sampler();
    let trained = run.stages(initial_weights);
    let Run {
        outputs,
        mut finished,
        ..
    } = run;
    // A checkpoint that is being written is finished whatever happened.
    let saved = outputs.saver.finish();
    drop((stop_notice, sampler));
    trained?;
    let saved = saved?;
    finished.stopped = outputs.stop.asked();
    finished.kernels_after_warmup = outputs.late_kernels;
    if finished.stopped.is_none() {
        outputs.metrics.sync()?;
        let lines = metrics::read(&outputs.folder.metrics())?;
        // A pointer that leads nowhere is not a reason to fail a finished run.
        let best = saved.store.best().ok().flatten();
        finished.verdict = judged(job, &lines, &outputs.levels, best, finished.steps);
        for finding in &finished.verdict {
            let _ = outputs.log.note(&finding.to_string());
        }
    }
    let _ = outputs.log.note(&finished.words());
    outputs.folder.release()?;
    Ok(finished)
}

/// A training in progress.
pub(crate) struct Run<'a> {
    pub(crate) outputs: RunOutputs,
    /// Whether rows are bounded by the memory they need. A run that began without the bound keeps
    /// doing without it, or its batches would change.
    pub(crate) bounds_rows: bool,
    pub(crate) job: &'a Job,
    pub(crate) placement: &'a Placement,
    pub(crate) training_data: TrainingData,
    /// Where the run left off.
    start: Option<Position>,
    resumed: Option<Checkpoint>,
    /// Steps of the stages before the present one.
    pub(crate) before: u64,
    pub(crate) finished: Finished,
}

impl<'a> Run<'a> {
    /// With its files open and its clips known; the weights it begins with, too.
    fn begin(
        job: &'a Job,
        placement: &'a Placement,
        resume_point: ResumePoint,
        training_data: TrainingData,
        folder: RunFolder,
        log: Arc<RunLog>,
        stop: &StopRequest,
    ) -> Result<(Self, InitialWeights), TrainError> {
        let ResumePoint {
            store,
            resumed,
            start,
            initial_weights,
        } = resume_point;
        let clips = TrainedClips::of(&training_data);
        if let Some(checkpoint) = &resumed
            && let Some(notice) = clips.compare(checkpoint)?
        {
            let _ = log.line(&notice);
        }
        keep_quarantine(job, &training_data, &folder)?;
        job.dataset.reading.finish();
        training_data.lost.tell(lost_clips(&folder, &log)?);
        let bounds_rows = resumed.as_ref().is_none_or(saving::bounds_rows);
        let mut outputs = RunOutputs::open(
            job,
            folder,
            log,
            store,
            resumed.as_ref(),
            stop.clone(),
            &clips,
        )?;
        if bounds_rows {
            outputs.sections.push(saving::rows_are_bounded());
        }
        let run = Self {
            outputs,
            bounds_rows,
            job,
            placement,
            training_data,
            start,
            resumed,
            before: 0,
            finished: Finished::stopped(job, stop),
        };
        Ok((run, initial_weights))
    }

    /// Starts to read the devices. A run that cannot write the readings trains without them, and
    /// says so.
    fn sampler(&mut self) -> Option<Sampler> {
        let started = Sampler::start(
            self.outputs.folder.devices(),
            self.placement.gpus.clone(),
            SystemTelemetry::new,
            sampler::EVERY,
            Arc::clone(&self.outputs.log),
        );
        let told = |why: &FileError| {
            self.outputs.say(&format!(
                "devices are not read while this run trains: {why}"
            ));
        };
        started.inspect_err(told).ok()
    }

    fn say_left_out(&mut self) {
        let left_out = self.training_data.left_out.len();
        if left_out > 0 {
            let line = format!(
                "{left_out} clips are left out: their texts have more than {} tokens \
                 (--max-text-length); {} lists them",
                self.job.clips.max_text.0,
                self.outputs.folder.quarantine().display()
            );
            self.outputs.say(&line);
        }
    }

    /// Determines the language of most recordings, and a sentence to say in it.
    fn note_language(&mut self) {
        let clips = &self.training_data.train.clips;
        let mut counts: BTreeMap<&Language, usize> = BTreeMap::new();
        for clip in clips {
            *counts.entry(&clip.language).or_default() += 1;
        }
        let Some((language, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else {
            return;
        };
        let vocabulary = &self.training_data.vocabulary;
        let is_known = |text: &&str| {
            let text = clean_with(text, language, &CleanOptions::default()).text;
            text.chars().all(|c| vocabulary.covers(c))
        };
        let own = clips
            .iter()
            .filter(|clip| clip.language == *language)
            .map(|clip| clip.text.as_str());
        // A model of few letters says a short sentence of its own data.
        let sentence = language
            .sentence()
            .filter(is_known)
            .or_else(|| own.min_by_key(|text| text.len()));
        self.finished.sentence = sentence.map(str::to_owned);
        self.finished.language = Some(language.clone());
    }
}

/// Writes the configuration and the plan to the run's folder.
fn write_settings(job: &Job, folder: &RunFolder) -> Result<(), TrainError> {
    write_file(&folder.config(), job.config_text.as_bytes())?;
    let plan = serde_json::to_vec_pretty(&job.plan).map_err(TrainError::failed)?;
    write_file(&folder.plan(), &plan)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    Ok(std::fs::write(path, bytes).map_err(FileError::when("write", path))?)
}
