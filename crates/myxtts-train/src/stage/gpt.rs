//! The stage that trains the GPT.

use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::Device;
use myxtts_base::report;
use myxtts_data::codes::CodesCache;
use myxtts_data::schedule::Schedule;
use myxtts_infer::{ModelCard, SamplingDefaults};
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::{Gpt, check_frozen};
use myxtts_model::init::Init;
use myxtts_model::params::{HandedOver, StateDict, load};
use myxtts_ops::Compute;
use myxtts_run::checkpoint::Checkpoint;
use myxtts_run::run_folder::RunLog;
use myxtts_weights::TensorMap;

use super::execute::{MakeDeviceStage, StageRun};
use super::frozen::frozen_dvae;
use super::parts::{
    adapted, card_of, codes_cache, device_stage, gpt_recipe, gpt_targets, host, schedule,
};
use super::precision;
use super::prefetch::prefetch_config;
use super::warm_up::{Listener, WarmUp};
use crate::config::StageName;
use crate::error::TrainError;
use crate::faults::Faults;
use crate::feed::{DeviceFeed, LargestBatch, ShapeTracker};
use crate::objective::GptObjective;
use crate::placement::Placement;
use crate::session::evaluate::GptEvaluator;
use crate::session::initial_weights::InitialWeights;
use crate::session::recorder::RunOutputs;
use crate::session::training_data::TrainingData;
use crate::session::{Job, Run};
use crate::stage;
use crate::train_loop::State;

impl Run<'_> {
    /// Trains the GPT, and returns the steps it has taken.
    pub(crate) fn gpt(
        &mut self,
        initial_weights: &mut InitialWeights,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let (job, placement) = (self.job, self.placement);
        let dvae_weights = initial_weights.dvae.take().ok_or_else(no_dvae)?;
        let compute = precision::on(job.plan.precision, placement)?;
        let card = checked_card(initial_weights.card.take(), job, &self.training_data)?;
        let dvae = frozen_dvae(&card, &dvae_weights)?;
        // Each replica takes one copy and none is left over: a checkpoint of the stage has
        // weights of its own.
        let earlier = initial_weights.gpt.take().filter(|_| resumed.is_none());
        let earlier = Earlier::new(earlier, placement.replicas() as usize);
        let model = StageModel {
            card: &card,
            compute,
            dvae: &dvae,
            hifigan: &initial_weights.hifigan,
        };
        let (state, sampling) = self.train_gpt(&model, &earlier, resumed)?;
        self.finished.samples = self.samples_of(state.done);
        initial_weights.dvae = Some(dvae_weights);
        initial_weights.card = Some(ModelCard { sampling, ..card });
        let done = state.done;
        // Only the decoder stage needs the weights on the host.
        if job.stages.last() != Some(&StageName::Gpt) {
            initial_weights.gpt = Some(stage::final_weights(state)?);
        }
        Ok(done)
    }

    /// Takes the steps of the stage. Returns its last state, and how the model speaks best.
    fn train_gpt(
        &mut self,
        model: &StageModel<'_>,
        earlier: &Earlier,
        resumed: Option<&Checkpoint>,
    ) -> Result<(State<GptObjective>, Option<SamplingDefaults>), TrainError> {
        let (job, placement, training_data) = (self.job, self.placement, &self.training_data);
        let (card, compute) = (model.card, model.compute);
        let schedule = schedule(job, training_data, placement.replicas(), self.bound(card))?;
        let schedule = Arc::new(schedule);
        let (loop_config, position) =
            stage::begin(job, StageName::Gpt, &schedule, self.before, resumed)?;
        self.outputs.say(&batches_words(training_data, &schedule));
        let (codes, notice) = codes_cache(job, training_data, model.dvae, &schedule)?;
        if let Some(notice) = notice {
            self.outputs.say(&notice);
        }
        let tracker = Arc::new(ShapeTracker::default());
        let learns = gpt_recipe(job, card);
        let warm_up = warm_up_of(&schedule, placement, &self.outputs);
        let state = |device: &Device| {
            let gpt = initial(job, card, earlier.take(), resumed, device)?;
            let objective = GptObjective::new(gpt.with_compute(compute), learns.clone());
            let adamw = job.optimization.adamw;
            let objective = warm_up.model(objective, adamw, &loop_config, card)?;
            stage::state(job, adamw, objective, resumed)
        };
        let (conditioning, batches) = (card.conditioning, Arc::clone(&schedule));
        let run = StageRun {
            placement,
            prefetch: prefetch_config(job, placement),
            largest: LargestBatch::of(&schedule, conditioning, &card.conditioning_mel),
            host: host(job, training_data, conditioning, batches, codes.clone())?,
            device_stage: warm_device_stage(training_data, model, codes, &tracker, &warm_up),
            state,
            loop_config: &loop_config,
            targets: gpt_targets(job, training_data, card, &schedule),
            ledger: stage::ledger(&self.outputs, StageName::Gpt)?,
            stop: self.outputs.stop.clone(),
        };
        let evaluator = model.evaluator(job, training_data, &placement.data[0]);
        let sampling = evaluator.sampling();
        let recording = stage::Recording {
            outputs: &mut self.outputs,
            finished: &mut self.finished,
            job,
            training_data,
            position,
            resumed,
        };
        let state = recording.train(run, evaluator)?;
        self.note_shapes(&tracker);
        Ok((state, sampling.get()))
    }
}

/// What model the stage trains, and the parts of it that it leaves as they are.
struct StageModel<'a> {
    card: &'a ModelCard,
    compute: Compute,
    dvae: &'a Dvae,
    hifigan: &'a TensorMap,
}

impl StageModel<'_> {
    /// Makes the evaluator of the stage, which computes on `device`.
    fn evaluator<'e>(
        &self,
        job: &'e Job,
        training_data: &'e TrainingData,
        device: &Device,
    ) -> GptEvaluator<'e> {
        let hifigan = self.hifigan.clone();
        GptEvaluator::new(job, training_data, self.card, self.dvae, hifigan, device)
    }
}

/// Returns the card of earlier weights, or that of a new model, once it is known to have the
/// parts that are frozen.
fn checked_card(
    earlier: Option<ModelCard>,
    job: &Job,
    training_data: &TrainingData,
) -> Result<ModelCard, TrainError> {
    let card = earlier.unwrap_or_else(|| card_of(job, training_data));
    // The configuration was checked against the size it names, but weights of `--init` may
    // have another number of blocks.
    check_frozen(&card.gpt, &job.frozen)
        .map_err(|why| TrainError::Usage(report!("training.freeze: {why}")))?;
    Ok(card)
}

/// Prepares the warm-up of the stage, which reports to the log and ends when a stop is requested.
fn warm_up_of(schedule: &Arc<Schedule>, placement: &Placement, outputs: &RunOutputs) -> WarmUp {
    WarmUp {
        schedule: Arc::clone(schedule),
        placement: placement.clone(),
        settles: true,
        listener: listener(Arc::clone(&outputs.log)),
        stop: outputs.stop.clone(),
    }
}

/// Returns a function that makes the device stage on a device and warms it up.
fn warm_device_stage(
    training_data: &TrainingData,
    model: &StageModel<'_>,
    codes: Option<Arc<CodesCache>>,
    tracker: &Arc<ShapeTracker>,
    warm_up: &WarmUp,
) -> MakeDeviceStage<DeviceFeed> {
    let device_stage = device_stage(
        training_data,
        model.dvae,
        model.card.quirks,
        codes,
        Arc::clone(tracker),
        Faults::default(),
    );
    warm_up.device_stage(device_stage, model.card.conditioning, tracker)
}

fn no_dvae() -> TrainError {
    TrainError::Usage(report!(
        "the GPT needs a trained DVAE, and there is none";
        why: "the GPT learns the codes that a DVAE makes of recordings";
        fix: "--stage all, or --init DIR with weights that have a DVAE"
    ))
}

/// The GPT that a replica begins with: of earlier weights, of a checkpoint that
/// is read later, or new.
fn initial(
    job: &Job,
    card: &ModelCard,
    earlier: Option<StateDict>,
    resumed: Option<&Checkpoint>,
    device: &Device,
) -> Result<Gpt, TrainError> {
    let device = device.clone().autodiff();
    let (blank, drawn) = (Init::blank(&device), Init::new(job.seed, &device));
    let gpt = |init: &Init| Gpt::new(init, &card.gpt);
    match (earlier, resumed) {
        (Some(weights), None) => {
            let gpt = load(gpt(&blank), &HandedOver::from(weights), "");
            let gpt = gpt.map_err(TrainError::failed)?;
            Ok(adapted(job, gpt, &drawn))
        }
        (_, Some(_)) => Ok(adapted(job, gpt(&blank), &blank)),
        (None, None) if job.plan.savings.adapters > 0 => Err(nothing_to_adapt()),
        (None, None) => Ok(gpt(&drawn)),
    }
}

fn nothing_to_adapt() -> TrainError {
    TrainError::Usage(report!(
        "adapters need a GPT that was trained, and there is none";
        why: "the weights of --init have a DVAE and no GPT, so the GPT is new and must be trained \
              itself";
        fix: "--set training.adapters=0, or --init DIR with weights that have a GPT"
    ))
}

/// Somebody who writes what the warm-up says into the log.
fn listener(log: Arc<RunLog>) -> Listener {
    Listener::new(move |line| {
        // If the terminal is gone, nobody is there to read this.
        let _ = log.line(line);
    })
}

/// Earlier weights for several replicas: each takes a copy, except the last, which takes the
/// weights themselves. Those of a large model are gigabytes that no step needs.
struct Earlier(Mutex<(usize, Option<StateDict>)>);

impl Earlier {
    fn new(weights: Option<StateDict>, replicas: usize) -> Self {
        Self(Mutex::new((replicas, weights)))
    }

    fn take(&self) -> Option<StateDict> {
        // The lock is poisoned if a replica panicked while it copied; what it copied from is
        // unchanged.
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, weights) = &mut *shared;
        *left = left.saturating_sub(1);
        match *left {
            0 => weights.take(),
            _ => weights.clone(),
        }
    }
}

/// The batches of an epoch, for the log.
fn batches_words(training_data: &TrainingData, schedule: &Schedule) -> String {
    format!(
        "{} clips in {} shapes, {} batches an epoch{}, {:.1} % padding",
        training_data.train.clips.len(),
        schedule.shapes().count(),
        schedule.steps_per_epoch(),
        clips_of(schedule),
        schedule.padding_percent(&training_data.train.lengths)
    )
}

/// Describes the clips of a step: `, 16 to 47 clips in each (mean 30.9)`.
fn clips_of(schedule: &Schedule) -> String {
    schedule
        .clips_per_step()
        .map_or_else(String::new, |(least, most, mean)| {
            format!(", {least} to {most} clips in each (mean {mean:.1})")
        })
}
