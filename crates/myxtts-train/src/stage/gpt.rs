//! The stage that trains the GPT.

use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::Device;
use myxtts_data::schedule::Schedule;
use myxtts_infer::ModelCard;
use myxtts_model::gpt::{Gpt, check_frozen};
use myxtts_model::init::Init;
use myxtts_model::params::{HandedOver, StateDict, load};
use myxtts_run::checkpoint::Checkpoint;

use super::execute::StageRun;
use super::frozen::frozen_dvae;
use super::parts::{card_of, codes_cache, host, schedule, site};
use super::precision;
use super::prefetch::flow;
use super::warm_up::{Listener, WarmUp};
use crate::error::TrainError;
use crate::faults::Faults;
use crate::feed::{Largest, ShapeWatch, Targets};
use crate::objective::{GptRecipe, GptTrainee};
use crate::session::evaluate::GptEvaluator;
use crate::session::initial_weights::Origin;
use crate::session::{Run, StageName};
use crate::stage;

impl Run<'_> {
    /// Trains the GPT, and gives its steps.
    pub(crate) fn gpt(
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
        let compute = precision::on(job.precision, placement)?;
        let card = origin.card.take();
        let card = card.unwrap_or_else(|| card_of(job, material));
        // A configuration is checked against the size it names; weights of
        // `--init` may have another number of blocks.
        check_frozen(&card.gpt, &job.frozen)
            .map_err(|why| TrainError::Usage(format!("training.freeze: {why}")))?;
        let dvae = frozen_dvae(&card, &dvae_weights)?;
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

/// `, 16 to 47 clips in each (mean 30.9)`.
fn clips_of(schedule: &Schedule) -> String {
    schedule
        .clips_per_step()
        .map_or_else(String::new, |(least, most, mean)| {
            format!(", {least} to {most} clips in each (mean {mean:.1})")
        })
}
