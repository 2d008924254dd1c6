//! `myxtts bench train`: the GPT stage on real clips, codes cached, no books.

use std::rc::Weak;
use std::sync::Arc;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::{Gpt, ParameterCount};
use myxtts_model::init::Init;
use myxtts_pipeline::{Ledger, Pipeline, Start, Summary};
use myxtts_run::schedule::{Parts, Schedule, Shape};
use myxtts_run::signals::StopRequest;
use myxtts_run::units::Step;
use serde::Serialize;

use super::flow::flow;
use super::job::Job;
use super::material::Material;
use super::warm_up::WarmUp;
use super::{gpt_stage, stage};
use crate::bench::{forget_peak, peak_bytes};
use crate::error::TrainError;
use crate::feed::{CodesCache, CodesSource, Largest, ShapeWatch, Targets};
use crate::looping::{Recipe, State, StepDone, Watch};
use crate::placement::Placement;
use crate::stage_run::{StageRun, StageWatch, run_stage};
use crate::trainee::{GptRecipe, GptTrainee};

/// How fast a stage goes.
#[derive(Clone, Debug, Serialize)]
pub struct TrainFigures {
    /// Parameters of the GPT.
    pub parameters: usize,
    /// Clips of the corpus.
    pub clips: usize,
    /// Steps measured, after an epoch that fills the cache of codes.
    pub steps: u64,
    /// Clips a second.
    pub samples_per_s: f64,
    /// Seconds of audio a second.
    pub audio_per_s: f64,
    /// Mean seconds of a step, waiting included.
    pub step_s: f64,
    /// Percent of the time that the model waited for data.
    pub data_wait_pct: f64,
    /// Percent of positions that are padding.
    pub padding_pct: f64,
    /// Most memory the process had; absent where the system does not say.
    pub peak_rss_bytes: Option<u64>,
    /// Loss of the last step.
    pub loss: f32,
    /// Where the time of every stage went, the first epoch included.
    pub ledger: Summary,
}

/// Trains a new GPT on the codes of a new DVAE for an epoch and `steps` steps.
pub fn measure(job: &Job, placement: &Placement, steps: u64) -> Result<TrainFigures, TrainError> {
    forget_peak();
    let material = Material::read(job, None, None, &StopRequest::new())?;
    let card = gpt_stage::card_of(job, &material);
    let home = Device::flex();
    let dvae = Dvae::new(&Init::new(job.seed, &home), &card.dvae).map_err(TrainError::failed)?;
    let replicas = placement.replicas();
    let schedule = gpt_stage::schedule(job, &material, replicas, Some(&card))?;
    let schedule = Arc::new(schedule);
    let source = CodesSource::of(&dvae, &material.front_end, &job.audio);
    let source = source.map_err(TrainError::failed)?;
    let contents = material.train.contents.clone();
    let codes = Some(Arc::new(CodesCache::in_memory(contents, source)));
    let watch = Arc::new(ShapeWatch::default());
    let site = gpt_stage::site(
        &material,
        &dvae,
        card.quirks,
        codes.clone(),
        Arc::clone(&watch),
    );
    let accumulation = job.accumulation.max(1) as u64;
    let first = schedule.steps_per_epoch().div_ceil(accumulation);
    let rate = Parts {
        base: job.optimisation.learning_rate,
        warmup: Step(0),
        shape: Shape::Constant,
    };
    let recipe = Recipe {
        steps: first + steps,
        accumulation: job.accumulation,
        schedule: Schedule::new(rate).map_err(TrainError::failed)?,
        gradient_clip: job.optimisation.gradient_clip,
        seed: job.seed,
        compare_every: 0,
    };
    let learns = GptRecipe {
        dropout: card.gpt.dropout,
        quirks: card.quirks,
        ..GptRecipe::default()
    };
    let warm_up = WarmUp {
        schedule: Arc::clone(&schedule),
        placement: placement.clone(),
        listener: None,
    };
    let state = |device: &Device| {
        let gpt = Gpt::new(&Init::new(job.seed, &device.clone().autodiff()), &card.gpt);
        let trainee = GptTrainee::new(gpt, learns.clone());
        let adamw = job.optimisation.adamw;
        let trainee = warm_up.model(trainee, adamw, &recipe, &card)?;
        stage::state(job, adamw, trainee, None)
    };
    let host = gpt_stage::host(
        job,
        &material,
        card.conditioning,
        Arc::clone(&schedule),
        codes,
    )?;
    let run = StageRun {
        placement,
        flow: flow(job, placement),
        largest: Largest::of(&schedule, card.conditioning, &card.conditioning_mel),
        host,
        site: warm_up.site(site, card.conditioning, &watch),
        state,
        recipe: &recipe,
        targets: Targets::of_gpt(
            &schedule,
            &material.train,
            card.conditioning,
            material.companions.clone(),
            job.beginnings,
            job.seed,
            card.quirks,
        ),
        ledger: Ledger::in_memory(),
        stop: StopRequest::new(),
    };
    let mut timed = Timed::new(first);
    let (_, outcome) = run_stage(run, &mut timed)?;
    let wall = timed.wall.as_secs_f64().max(1e-9);
    Ok(TrainFigures {
        parameters: ParameterCount::of(&card.gpt).total(),
        clips: material.train.clips.len(),
        steps,
        samples_per_s: timed.clips as f64 * f64::from(replicas) / wall,
        audio_per_s: timed.audio as f64 * f64::from(replicas)
            / f64::from(job.audio.sample_rate.hz())
            / wall,
        step_s: wall / steps.max(1) as f64,
        data_wait_pct: 100.0 * timed.waited.as_secs_f64() / wall,
        padding_pct: schedule.padding_percent(&material.train.lengths),
        peak_rss_bytes: peak_bytes(),
        loss: timed.loss,
        ledger: outcome.summary,
    })
}

/// Counts the steps after the first epoch.
struct Timed {
    first: u64,
    since: Instant,
    wall: Duration,
    waited: Duration,
    clips: usize,
    audio: usize,
    loss: f32,
}

impl Timed {
    fn new(first: u64) -> Self {
        Self {
            first,
            since: Instant::now(),
            wall: Duration::ZERO,
            waited: Duration::ZERO,
            clips: 0,
            audio: 0,
            loss: f32::NAN,
        }
    }
}

impl<T> Watch<T> for Timed {
    fn after(&mut self, done: &StepDone, _: &State<T>) -> Result<bool, TrainError> {
        if done.step <= self.first {
            self.since = Instant::now();
            return Ok(false);
        }
        self.wall = self.since.elapsed();
        self.waited += done.waited;
        self.clips += done.facts.clips.len();
        self.audio += done.facts.audio.0;
        self.loss = done.loss;
        Ok(false)
    }
}

impl<T> StageWatch<T> for Timed {
    fn started(&mut self, _: Duration, _: &Start, _: &State<T>) -> Result<bool, TrainError> {
        Ok(false)
    }

    fn pipeline(&mut self, _: Weak<Pipeline>) {}
}
