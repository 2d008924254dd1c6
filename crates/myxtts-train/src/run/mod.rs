//! A whole training: stages in order, each on the devices of the plan, with
//! its books, from wherever the run stood.

mod books;
mod decoder_stage;
mod dvae_stage;
mod encode;
mod gpt_stage;
mod job;
mod material;
mod measure;
mod memory;
mod origin;
mod precision;
mod rules;
mod saving;
mod warm_up;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::rc::Weak;
use std::sync::Arc;

use burn::tensor::Device;
use myxtts_audio::units::Samples;
use myxtts_data::schedule::{ConditioningSpec, Schedule};
use myxtts_data::stage::Segments;
use myxtts_infer::{ModelCard, state_dict};
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::{Gpt, GptConfig, Vocabulary};
use myxtts_model::hifigan::{Discriminator, HifiganDecoder};
use myxtts_model::init::Init;
use myxtts_model::params::{StateDict, load};
use myxtts_pipeline::{Bounds, Knobs, Ledger, Outcome};
use myxtts_run::checkpoint::{AsyncSaver, Checkpoint, Retention, Store};
use myxtts_run::guard::{EarlyStop, SpikeSettings};
use myxtts_run::metrics::MetricsWriter;
use myxtts_run::progress::{Progress, Style};
use myxtts_run::run_folder::{RunFolder, RunLog};
use myxtts_run::schedule::{self, Parts, Shape};
use myxtts_run::signals::{StopRequest, StopSignal};
use myxtts_run::tensorboard::EventWriter;
use myxtts_run::units::Step;
use myxtts_weights::TensorMap;
use serde_json::json;

pub use encode::{Encoded, encode};
pub use job::{
    Buffers, CacheKind, Cadence, Job, Optimisation, Resume, ScheduleKind, StageLength, StageName,
};

pub use measure::{TrainFigures, measure};

use crate::ema::Ema;
use crate::error::TrainError;
use crate::feed::{
    Cutting, HostFeed, Largest, SegmentFeed, ShapeWatch, largest_segments, segment_schedule,
    segment_spec,
};
use crate::looping::{Guards, Recipe, State};
use crate::optim::{AdamW, AdamWConfig};
use crate::placement::Placement;
use crate::scaler::LossScale;
use crate::stage_run::{Flow, StageRun, run_stage};
use crate::trainee::{DecoderTrainee, DvaeRecipe, DvaeTrainee, GptRecipe, GptTrainee, Trainee};
use books::{Books, Desk, Evaluator, Rate};
use decoder_stage::Frozen;
use material::Material;
use origin::Origin;
use saving::{Position, without_prefix};

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
}

/// Steps between two comparisons of replicas.
const COMPARE_EVERY: u64 = 100;
/// Losses a jump is measured against, and how far it must go.
const SPIKE_WINDOW: usize = 100;
const SPIKE_DEVIATIONS: f64 = 6.0;

/// Trains.
pub fn run(job: &Job, placement: &Placement, stop: StopRequest) -> Result<Finished, TrainError> {
    let folder = RunFolder::take(&job.run).map_err(|why| TrainError::Usage(why.to_string()))?;
    let log = RunLog::open(&folder.log(), io::stderr()).map_err(TrainError::failed)?;
    let say = |line: &str| {
        let _ = log.line(line);
    };
    if job.reset_training {
        set_aside(&folder)?;
    }
    let retention = Retention {
        keep_last: NonZeroUsize::new(job.cadence.keep).unwrap_or(NonZeroUsize::MIN),
        keep_every: None,
    };
    let (mut store, swept) = Store::open(folder.checkpoints(), retention)?;
    for line in swept.to_string().lines() {
        say(line);
    }
    let resumed = find(&store, job)?;
    let mut origin = match (&resumed, &job.init) {
        (Some(checkpoint), _) => {
            for notice in rules::check(checkpoint, job)? {
                say(&notice);
            }
            Origin::checkpoint(checkpoint)?
        }
        (None, Some(folder)) => Origin::init(folder, job)?,
        (None, None) => Origin::default(),
    };
    if job.reset_training && resumed.is_none() {
        origin = reset_origin(&folder)?.unwrap_or(origin);
    }
    for notice in origin.notices.drain(..) {
        say(&notice);
    }
    let mut start = None;
    if let Some(checkpoint) = &resumed {
        let position = saving::position(checkpoint)?;
        store.resume_from(checkpoint.step())?;
        say(&format!(
            "resuming from step {} ({}, {} of {} steps of this stage)",
            checkpoint.step(),
            position.stage.name(),
            position.done,
            position.steps
        ));
        start = Some(position);
    }
    let resumed_step = resumed.as_ref().map(Checkpoint::step);
    let (metrics, repaired) = MetricsWriter::open(folder.metrics(), resumed_step)?;
    if repaired.cut > 0 {
        say(&format!(
            "{} lines of metrics.jsonl after that step are made again",
            repaired.cut
        ));
    }
    std::fs::write(folder.config(), &job.config_text).map_err(TrainError::failed)?;
    let plan = serde_json::to_vec_pretty(&job.plan).map_err(TrainError::failed)?;
    std::fs::write(folder.plan(), plan).map_err(TrainError::failed)?;
    copy_quarantine(job, &folder)?;

    let material = Material::read(job, origin.vocabulary.take(), origin.stats.take())?;
    let sections = vec![
        ("config".to_owned(), job.config.clone()),
        ("plan".to_owned(), job.plan.clone()),
        (
            "random".to_owned(),
            json!({ "seed": job.seed, "note": "every draw is a function of seed and step" }),
        ),
    ];
    let mut run = Run {
        desk: Desk {
            metrics,
            events: EventWriter::create(&folder.tensorboard(), resumed_step)
                .map_err(TrainError::failed)?,
            progress: Progress::new(io::stderr(), style(job)),
            saver: AsyncSaver::start(store)?,
            stop,
            cadence: job.cadence,
            sections,
            log,
            folder,
        },
        job,
        placement,
        material,
        start,
        resumed,
        before: 0,
        finished: Finished {
            run: job.run.clone(),
            steps: 0,
            samples: None,
            stopped: None,
            data_wait_pct: vec![],
            shapes_after_warmup: 0,
        },
    };
    let trained = run.stages(origin);
    let Run {
        desk, mut finished, ..
    } = run;
    // A checkpoint in flight is written whatever happened.
    let saved = desk.saver.finish();
    trained?;
    saved?;
    finished.stopped = desk.stop.asked();
    desk.folder.release().map_err(TrainError::failed)?;
    Ok(finished)
}

/// A training in progress.
struct Run<'a> {
    desk: Desk,
    job: &'a Job,
    placement: &'a Placement,
    material: Material,
    /// Where the run stood.
    start: Option<Position>,
    resumed: Option<Checkpoint>,
    /// Steps of the stages before this one.
    before: u64,
    finished: Finished,
}

impl Run<'_> {
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
        if stages.contains(&StageName::Gpt) {
            self.check_memory(&origin)?;
        }
        for stage in stages {
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
            self.before += done;
            self.finished.steps = self.before;
            if self.desk.stop.asked().is_some() {
                break;
            }
        }
        Ok(())
    }

    fn dvae(
        &mut self,
        origin: &mut Origin,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let (job, placement) = (self.job, self.placement);
        let replicas = u32::try_from(placement.models.len()).unwrap_or(1);
        let schedule = segment_schedule(
            &self.material.train.lengths,
            job.segment_batch,
            replicas,
            job.seed,
        );
        let schedule = Arc::new(
            schedule
                .map_err(|clip| TrainError::Failed(format!("clip {} fits no batch", clip.0)))?,
        );
        let mut recipe = self.recipe(
            StageName::Dvae,
            &schedule,
            job.optimisation.dvae_learning_rate,
        )?;
        let position = position(StageName::Dvae, self.before, resumed, recipe.steps)?;
        recipe.steps = position.steps;
        let front_end = self.material.front_end.clone();
        let conditioning = segment_spec(job.segment_frames, &front_end.codes);
        let segments = Segments::Drawn { seed: job.seed };
        let clips = Arc::clone(&self.material.clips);
        let stage = self.material.stage(clips, conditioning, segments);
        let config = job.dvae;
        let earlier = origin.dvae.take();
        let material = &self.material;
        let state = |device: &Device| {
            let device = device.clone().autodiff();
            let dvae = Dvae::new(&Init::new(job.seed, &device), &config);
            let dvae = dvae.map_err(TrainError::failed)?;
            let dvae = match (&earlier, resumed) {
                (Some(weights), None) => load(dvae, weights, "").map_err(TrainError::failed)?,
                (_, Some(_)) => dvae,
                (None, None) => dvae_stage::started(dvae, job, material, &device.clone().inner())?,
            };
            let trainee = DvaeTrainee::new(dvae, DvaeRecipe::default());
            new_state(job, trainee, resumed)
        };
        let frames = job.segment_frames;
        let run = StageRun {
            placement,
            flow: flow(job, placement),
            largest: Largest::of(&schedule, conditioning, &front_end.codes),
            host: HostFeed::new(stage, Arc::clone(&schedule), None)?,
            site: Arc::new(move |device: &Device| {
                SegmentFeed::new(device, &front_end, frames).map_err(|why| why.to_string())
            }),
            state,
            recipe: &recipe,
            ledger: ledger(&self.desk)?,
        };
        let evaluator = dvae_stage::DvaeEvaluator::new(job, material, &placement.data[0]);
        let per_epoch = schedule.steps_per_epoch();
        let (state, outcome) = stage_with_books(
            run,
            &mut self.desk,
            evaluator,
            position,
            per_epoch,
            job,
            resumed,
        )?;
        self.note(StageName::Dvae, &outcome);
        origin.dvae = Some(state.trainee.state());
        // The GPT of an earlier DVAE speaks other codes, and its decoder hears
        // that GPT.
        origin.gpt = None;
        origin.hifigan = TensorMap::new();
        Ok(state.done)
    }

    fn gpt(
        &mut self,
        origin: &mut Origin,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let (job, placement) = (self.job, self.placement);
        let Some(dvae_weights) = origin.dvae.take() else {
            return Err(TrainError::Usage(
                "the GPT needs a trained DVAE, and there is none\n  why:   the GPT learns the \
                 codes that a DVAE makes of recordings\n  fix:   --stage all, or --init DIR with \
                 weights that have a DVAE"
                    .to_owned(),
            ));
        };
        let compute = precision::on(job.precision, placement)?;
        let card = origin.card.take();
        let card = card.unwrap_or_else(|| card_of(job, &self.material));
        let dvae = encode::frozen_dvae(&card, &dvae_weights)?;
        let replicas = u32::try_from(placement.models.len()).unwrap_or(1);
        let schedule = Arc::new(gpt_stage::schedule(
            job,
            &self.material,
            replicas,
            job.batch_size,
        )?);
        let mut recipe = self.recipe(StageName::Gpt, &schedule, job.optimisation.learning_rate)?;
        let position = position(StageName::Gpt, self.before, resumed, recipe.steps)?;
        recipe.steps = position.steps;
        let padding = schedule.padding_percent(&self.material.train.lengths);
        self.desk.say(&format!(
            "{} clips in {} shapes, {} batches an epoch, {padding:.1} % padding",
            self.material.train.clips.len(),
            schedule.shapes().count(),
            schedule.steps_per_epoch()
        ));
        let (codes, notice) = gpt_stage::codes_cache(job, &self.material, &dvae, &schedule)?;
        if let Some(notice) = notice {
            self.desk.say(&notice);
        }
        let watch = Arc::new(ShapeWatch::default());
        let site = gpt_stage::site(
            &self.material,
            &dvae,
            card.quirks,
            codes.clone(),
            Arc::clone(&watch),
        );
        let site = warm_up::site(site, &schedule, card.conditioning, &watch);
        let earlier: Option<StateDict> = origin.gpt.take();
        let gpt_recipe = GptRecipe {
            text_weight: 0.01,
            mel_weight: 1.0,
            label_smoothing: job.optimisation.label_smoothing,
            dropout: job.optimisation.dropout.unwrap_or(card.gpt.dropout),
            quirks: card.quirks,
            frozen: job.frozen.clone(),
        };
        let state = |device: &Device| {
            let autodiff = device.clone().autodiff();
            let gpt = match (&earlier, resumed) {
                (Some(weights), None) => {
                    let gpt = Gpt::new(&Init::blank(&autodiff), &card.gpt);
                    load(gpt, weights, "").map_err(TrainError::failed)?
                }
                (_, Some(_)) => Gpt::new(&Init::blank(&autodiff), &card.gpt),
                (None, None) => Gpt::new(&Init::new(job.seed, &autodiff), &card.gpt),
            };
            let trainee = GptTrainee::new(gpt.with_compute(compute), gpt_recipe.clone());
            let state = new_state(job, trainee, resumed)?;
            warm_up::model(&state.trainee, &schedule, &card, device)?;
            Ok(state)
        };
        let run = StageRun {
            placement,
            flow: flow(job, placement),
            largest: Largest::of(&schedule, card.conditioning, &card.conditioning_mel),
            host: gpt_stage::host(
                job,
                &self.material,
                card.conditioning,
                Arc::clone(&schedule),
                codes,
            )?,
            site,
            state,
            recipe: &recipe,
            ledger: ledger(&self.desk)?,
        };
        let evaluator = gpt_stage::GptEvaluator::new(
            job,
            &self.material,
            &card,
            &dvae,
            origin.hifigan.clone(),
            &placement.data[0],
        );
        let per_epoch = schedule.steps_per_epoch();
        let (state, outcome) = stage_with_books(
            run,
            &mut self.desk,
            evaluator,
            position,
            per_epoch,
            job,
            resumed,
        )?;
        self.note(StageName::Gpt, &outcome);
        self.note_shapes(&watch);
        let step = Step(self.before + state.done);
        let samples = job.run.join("samples").join(format!("step_{step}"));
        self.finished.samples = samples.exists().then_some(samples);
        let done = state.done;
        origin.dvae = Some(dvae_weights);
        origin.gpt = Some(state.trainee.state());
        origin.card = Some(card);
        Ok(done)
    }

    fn decoder(
        &mut self,
        origin: &mut Origin,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let (job, placement) = (self.job, self.placement);
        let (Some(dvae), Some(gpt), Some(card)) = (&origin.dvae, &origin.gpt, &mut origin.card)
        else {
            return Err(TrainError::Usage(
                "the decoder needs a trained GPT and its DVAE, and there is none\n  why:   the \
                 decoder learns to make sound of the GPT's latents of recordings\n  fix:   --stage \
                 all, or --init DIR with a trained model or run"
                    .to_owned(),
            ));
        };
        let decoder = decoder_stage::card(job.decoder_size, card);
        card.decoder = Some(decoder.clone());
        let card = &*card;
        let home = Device::flex();
        let blank = Init::blank(&home);
        let new_dvae = Dvae::new(&blank, &card.dvae).map_err(TrainError::failed)?;
        let frozen = Frozen {
            front_end: self.material.front_end.clone(),
            dvae: load(new_dvae, dvae, "").map_err(TrainError::failed)?,
            gpt: load(Gpt::new(&blank, &card.gpt), gpt, "").map_err(TrainError::failed)?,
            hifigan: origin.hifigan.clone(),
            card: decoder.clone(),
            rate: card.audio.sample_rate,
        };
        let replicas = u32::try_from(placement.models.len()).unwrap_or(1);
        let schedule = Arc::new(gpt_stage::schedule(
            job,
            &self.material,
            replicas,
            job.batch_size,
        )?);
        let rate = job.optimisation.decoder_learning_rate;
        let recipe = self.recipe(StageName::Decoder, &schedule, rate)?;
        let cutting = Cutting {
            frames: job.decoder_frames,
            seed: job.seed,
            steps_per_epoch: schedule.steps_per_epoch(),
        };
        let (codes, _) = gpt_stage::codes_cache(job, &self.material, &frozen.dvae, &schedule)?;
        let adamw = AdamWConfig {
            beta_1: 0.8,
            beta_2: 0.99,
            ..job.optimisation.adamw
        };
        let earlier = without_prefix(state_dict(&frozen.hifigan), decoder_stage::PREFIX);
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
            state_by(adamw, job, trainee, resumed)
        };
        let site = {
            let (frozen, codes) = (frozen.clone(), codes.clone());
            move |device: &Device| frozen.feed(device, cutting, codes.clone())
        };
        let run = StageRun {
            placement,
            flow: flow(job, placement),
            largest: Largest {
                device: largest_segments(&schedule, &decoder.hifigan, cutting),
                ..Largest::of(&schedule, card.conditioning, &card.conditioning_mel)
            },
            host: gpt_stage::host(
                job,
                &self.material,
                card.conditioning,
                Arc::clone(&schedule),
                codes,
            )?,
            site: Arc::new(site),
            state,
            recipe: &recipe,
            ledger: ledger(&self.desk)?,
        };
        let evaluator = decoder_stage::DecoderEvaluator::new(
            job,
            &self.material,
            card,
            &frozen,
            &placement.data[0],
        );
        let (state, outcome) = stage_with_books(
            run,
            &mut self.desk,
            evaluator,
            position(StageName::Decoder, self.before, resumed, recipe.steps)?,
            schedule.steps_per_epoch(),
            job,
            resumed,
        )?;
        self.note(StageName::Decoder, &outcome);
        let step = Step(self.before + state.done);
        let samples = job.run.join("samples").join(format!("step_{step}"));
        // Sentences of the GPT stage say more than copies of recordings.
        if self.finished.samples.is_none() && samples.exists() {
            self.finished.samples = Some(samples);
        }
        Ok(state.done)
    }

    /// Refuses, before anything is trained, what the model's budget cannot hold.
    fn check_memory(&self, origin: &Origin) -> Result<(), TrainError> {
        let job = self.job;
        let Some(budget) = job.buffers.model_bytes else {
            return Ok(());
        };
        let card = origin
            .card
            .clone()
            .unwrap_or_else(|| card_of(job, &self.material));
        let schedule = |batch_size: u32| {
            let replicas = u32::try_from(self.placement.models.len()).unwrap_or(1);
            gpt_stage::schedule(job, &self.material, replicas, batch_size)
        };
        let batches = schedule(job.batch_size)?;
        let mel = &card.conditioning_mel;
        let largest = Largest::of(&batches, card.conditioning, mel);
        let demand = memory::Demand {
            gpt: &card.gpt,
            frames: mel.frames(card.conditioning.max).0,
            waiting: largest.device * job.buffers.depth.max(1) as u64,
        };
        demand.check(&batches, job.batch_size, budget, schedule)
    }

    fn recipe(
        &self,
        stage: StageName,
        batches: &Schedule,
        learning_rate: f64,
    ) -> Result<Recipe, TrainError> {
        let job = self.job;
        let length = job.lengths.get(&stage).copied().unwrap_or(StageLength {
            epochs: 1,
            max_steps: None,
        });
        let micro = length.epochs.saturating_mul(batches.steps_per_epoch());
        let steps = micro / job.accumulation.max(1) as u64;
        let steps = steps.min(length.max_steps.unwrap_or(u64::MAX)).max(1);
        let optimisation = &job.optimisation;
        // A rise of more than a tenth of a short stage would never end.
        let warmup = Step(optimisation.warmup_steps.min(steps / 10));
        let shape = match optimisation.schedule {
            ScheduleKind::Constant => Shape::Constant,
            ScheduleKind::Cosine => Shape::Cosine {
                total: Step(steps.max(warmup.0 + 1)),
                floor: learning_rate / 20.0,
            },
            ScheduleKind::Noam => Shape::Noam,
            ScheduleKind::MultiStep => {
                let mut milestones = vec![Step(steps / 2), Step(steps * 3 / 4)];
                milestones.dedup();
                milestones.retain(|milestone| *milestone > warmup);
                Shape::MultiStep {
                    milestones,
                    gamma: 0.5,
                }
            }
        };
        let parts = Parts {
            base: learning_rate,
            warmup,
            shape,
        };
        Ok(Recipe {
            steps,
            accumulation: job.accumulation,
            schedule: schedule::Schedule::new(parts).map_err(TrainError::failed)?,
            gradient_clip: optimisation.gradient_clip,
            seed: job.seed,
            compare_every: COMPARE_EVERY,
        })
    }

    fn note(&mut self, stage: StageName, outcome: &Outcome) {
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

    fn note_shapes(&mut self, watch: &ShapeWatch) {
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
}

/// What a new GPT is.
fn card_of(job: &Job, material: &Material) -> ModelCard {
    let dvae = job.dvae;
    let text = &material.vocabulary;
    let vocabulary = Vocabulary {
        text_tokens: text.text_tokens(),
        start_text: text.start(),
        stop_text: text.stop(),
        codes: u32::try_from(dvae.codes).unwrap_or(u32::MAX),
        ..Vocabulary::XTTS_V2
    };
    let [min, max] = job.conditioning.map(Samples);
    let front_end = &material.front_end;
    ModelCard {
        gpt: GptConfig {
            vocabulary,
            ..job.gpt.clone()
        },
        dvae,
        quirks: job.quirks,
        audio: job.audio.clone(),
        codes_mel: front_end.codes,
        conditioning_mel: front_end.conditioning,
        conditioning: ConditioningSpec { min, max },
        languages: text.languages().into_iter().map(str::to_owned).collect(),
        decoder: None,
    }
}

/// Runs a stage and keeps its books.
fn stage_with_books<T, S, C, M, E>(
    run: StageRun<'_, C, S, M>,
    desk: &mut Desk,
    evaluator: E,
    position: Position,
    steps_per_epoch: u64,
    job: &Job,
    resumed: Option<&Checkpoint>,
) -> Result<(State<T>, Outcome), TrainError>
where
    T: Trainee,
    T::Batch: crate::placement::Portable,
    S: myxtts_pipeline::SiteWork<Buffer = crate::feed::Filled, Batch = crate::feed::Fed<T::Batch>>
        + 'static,
    C: myxtts_data::stage::ClipSource + Send + Sync + 'static,
    M: Fn(&Device) -> Result<State<T>, TrainError> + Sync,
    E: Evaluator<T>,
{
    desk.say(&format!(
        "stage {}: {} steps, {steps_per_epoch} batches an epoch",
        position.stage.name(),
        position.steps
    ));
    let early = match resumed {
        Some(checkpoint) => saving::section(checkpoint, "early_stop")?,
        None => EarlyStop::new(
            match job.optimisation.patience {
                0 => u64::MAX,
                patience => patience,
            },
            0.0,
        ),
    };
    let multi_gpu = run.placement.has_hop;
    let accumulation = run.recipe.accumulation.max(1) as u64;
    let mut books = Books {
        desk,
        evaluator,
        saved: resumed.is_some().then_some(position.done),
        position,
        steps_per_epoch: (steps_per_epoch / accumulation).max(1),
        early,
        rate: Rate::default(),
        pipeline: Weak::new(),
        pool: memory::PoolWatch::default(),
        sampled: None,
        best: None,
        multi_gpu,
        sample_rate: f64::from(job.audio.sample_rate.hz()),
        trainee: std::marker::PhantomData,
    };
    let (state, outcome) = run_stage(run, &mut books)?;
    let _ = books.desk.progress.finish();
    books.close(&state)?;
    Ok((state, outcome))
}

/// A new state, or the one a checkpoint of the stage has.
fn new_state<T: Trainee>(
    job: &Job,
    trainee: T,
    resumed: Option<&Checkpoint>,
) -> Result<State<T>, TrainError> {
    state_by(job.optimisation.adamw, job, trainee, resumed)
}

/// The same, with moments of the stage's own.
fn state_by<T: Trainee>(
    adamw: AdamWConfig,
    job: &Job,
    trainee: T,
    resumed: Option<&Checkpoint>,
) -> Result<State<T>, TrainError> {
    let optimisation = &job.optimisation;
    let ema =
        (optimisation.ema_decay > 0.0).then(|| Ema::new(optimisation.ema_decay, trainee.state()));
    let guards = Guards {
        bad_steps: optimisation.bad_steps,
        spikes: SpikeSettings {
            window: SPIKE_WINDOW,
            threshold: SPIKE_DEVIATIONS,
            action: optimisation.spikes,
        },
        scale: LossScale::of(trainee.compute()),
    };
    let optimisers = (0..T::PHASES).map(|_| AdamW::new(adamw)).collect();
    let state = State::new(trainee, optimisers, ema, guards);
    match resumed {
        Some(checkpoint) => saving::restore(state, checkpoint, adamw),
        None => Ok(state),
    }
}

/// Where a stage of so many steps begins. One that ended early stays ended, and
/// steps that were taken stay taken.
fn position(
    stage: StageName,
    before: u64,
    resumed: Option<&Checkpoint>,
    steps: u64,
) -> Result<Position, TrainError> {
    let Some(checkpoint) = resumed else {
        return Ok(Position {
            stage,
            before,
            done: 0,
            steps,
            ended_early: false,
        });
    };
    let stored = saving::position(checkpoint)?;
    let steps = match stored.ended_early {
        true => stored.done,
        false => steps.max(stored.done),
    };
    Ok(Position { steps, ..stored })
}

/// Workers and rings within the plan.
fn flow(job: &Job, placement: &Placement) -> Flow {
    let buffers = &job.buffers;
    let lanes = placement.models.len();
    let depth = buffers.depth.max(1);
    // Enough to start with; more only where waits show that it helps.
    let least = (2 * lanes).min(buffers.in_flight);
    let knobs = Knobs {
        workers: buffers.workers.max(1),
        read_ahead: match buffers.in_flight_chosen || !buffers.adaptive {
            true => buffers.in_flight,
            false => buffers.in_flight.min((8 * lanes).max(depth.min(16))),
        },
        depth: match buffers.depth_chosen || !buffers.adaptive {
            true => depth,
            false => depth.min(4),
        },
    };
    let free = |chosen: bool, free: usize, fixed: usize| match chosen || !buffers.adaptive {
        true => fixed,
        false => free,
    };
    Flow {
        knobs,
        bounds: Bounds {
            least: Knobs {
                workers: free(buffers.workers_chosen, 1, knobs.workers),
                read_ahead: free(buffers.in_flight_chosen, least, knobs.read_ahead),
                depth: free(buffers.depth_chosen, 1, knobs.depth),
            },
            most: Knobs {
                workers: knobs.workers,
                read_ahead: free(
                    buffers.in_flight_chosen,
                    buffers.in_flight,
                    knobs.read_ahead,
                ),
                depth: free(buffers.depth_chosen, depth, knobs.depth),
            },
        },
        ring_bytes: buffers.ring_bytes,
        fill_target: match buffers.waits {
            true => knobs.depth,
            false => 1,
        },
        start_delay: buffers.start_delay,
    }
}

fn ledger(desk: &Desk) -> Result<Ledger, TrainError> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(desk.folder.ledger())
        .map_err(TrainError::failed)?;
    Ok(Ledger::written(BufWriter::new(file)))
}

fn style(job: &Job) -> Style {
    match io::stderr().is_terminal() {
        true => Style::Terminal { columns: 120 },
        false => Style::Quiet {
            every: job.cadence.log.max(1),
        },
    }
}

/// The checkpoint to go on from.
fn find(store: &Store, job: &Job) -> Result<Option<Checkpoint>, TrainError> {
    match job.resume {
        Resume::Auto => Ok(store.latest()?),
        Resume::At(step) => Ok(Some(store.at(Step(step))?)),
        Resume::Never => match store.latest()? {
            None => Ok(None),
            Some(checkpoint) => Err(TrainError::Usage(format!(
                "{} holds a run of {} steps\n  asked: --resume never\n  fix:   --resume auto to go \
                 on, --reset-training to begin again with its weights, or another name with --set \
                 training.name=NAME",
                job.run.display(),
                checkpoint.step()
            ))),
        },
    }
}

const ASIDE: &str = "checkpoints-before-reset";

/// Checkpoints of the training that is begun again, kept beside the new ones.
fn set_aside(folder: &RunFolder) -> Result<(), TrainError> {
    let (from, to) = (folder.checkpoints(), folder.path().join(ASIDE));
    let is_empty = std::fs::read_dir(&from).map_or(true, |mut entries| entries.next().is_none());
    if is_empty {
        return Ok(());
    }
    if to.exists() {
        std::fs::remove_dir_all(&to).map_err(TrainError::failed)?;
    }
    std::fs::rename(from, to).map_err(TrainError::failed)
}

fn reset_origin(folder: &RunFolder) -> Result<Option<Origin>, TrainError> {
    let aside = folder.path().join(ASIDE);
    if !aside.exists() {
        return Ok(None);
    }
    let keep_all = Retention {
        keep_last: NonZeroUsize::MAX,
        keep_every: None,
    };
    let (store, _) = Store::open(aside, keep_all)?;
    let checkpoint = store.latest()?;
    checkpoint
        .map(|checkpoint| Origin::checkpoint(&checkpoint))
        .transpose()
}

/// Every clip left out, and why, is part of the run.
fn copy_quarantine(job: &Job, folder: &RunFolder) -> Result<(), TrainError> {
    let from = job.dataset.join(myxtts_data::prepare::QUARANTINE);
    if from.exists() {
        std::fs::copy(from, folder.quarantine()).map_err(TrainError::failed)?;
    }
    Ok(())
}
