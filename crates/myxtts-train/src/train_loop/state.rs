//! What a stage carries from step to step, and what replicas share of it.

use burn::tensor::TensorData;
use myxtts_model::params::ReadError;
use myxtts_ops::on_compute_pool;
use myxtts_run::guard::{NonFinite, SpikeDetector, SpikeSettings};

use super::lag::Decision;
use super::{Ema, LoopConfig, LossScale, Meter, Replica};
use crate::error::TrainError;
use crate::objective::Objective;
use crate::optim::{AdamW, Condition, NamedGradients};

/// What a stage carries from step to step, and a checkpoint from run to run.
#[derive(Debug)]
pub struct State<T> {
    /// The model, with its loss and its update.
    pub objective: T,
    /// One optimizer for each phase.
    pub optimizers: Vec<AdamW>,
    /// A moving average of the weights, where one is kept.
    pub ema: Option<Ema>,
    /// Steps of the stage taken so far.
    pub done: u64,
    /// The guard against losses that are not finite.
    pub non_finite: NonFinite,
    /// The guard against losses that jump.
    pub spikes: SpikeDetector,
    /// The factor on the loss, which half precision needs.
    pub scale: LossScale,
}

impl<T: Objective> State<T> {
    /// Makes the state before the first step.
    pub fn new(objective: T, optimizers: Vec<AdamW>, ema: Option<Ema>, guards: Guards) -> Self {
        Self {
            objective,
            optimizers,
            ema,
            done: 0,
            non_finite: NonFinite::new(guards.bad_steps),
            spikes: SpikeDetector::new(guards.spikes),
            scale: guards.scale,
        }
    }

    /// Begins the next step and returns its phases, and whether the objective changes with it, so
    /// that losses are no longer those that the guard against jumps has seen.
    pub(super) fn begin_step(&mut self) -> (Vec<usize>, bool) {
        let is_of_a_new_kind = self.objective.begin_step(self.done);
        let is_phase_active = |phase: &usize| self.objective.is_phase_active(*phase);
        let phases = (0..T::PHASES).filter(is_phase_active).collect();
        (phases, is_of_a_new_kind)
    }

    /// It after a phase, unless the device decides otherwise.
    pub(super) fn apply(
        mut self,
        phase: usize,
        gradients: NamedGradients,
        rate: f64,
        decision: &Decision,
    ) -> Self {
        let optimizer = &mut self.optimizers[phase];
        if let Decision::ApplyIf(applies_1) = decision {
            optimizer.only_if(Condition {
                applies_1: applies_1.clone(),
                number: self.done + 1,
            });
        }
        let device = self.objective.device();
        let step = || self.objective.apply(phase, optimizer, gradients, rate);
        self.objective = on_compute_pool(&device, step);
        self
    }

    /// It after what is learned without a gradient.
    pub(super) fn update_buffers(
        mut self,
        traces: &[T::Trace],
        key: u64,
        decision: Decision,
    ) -> Self {
        let only_if = match decision {
            Decision::Skip => return self,
            Decision::Apply => None,
            Decision::ApplyIf(applies_1) => Some(applies_1),
        };
        self.objective = self.objective.update_buffers(traces, key, only_if);
        self
    }

    /// Reads all weights so many times, for nothing: a fault that is put in.
    pub(super) fn read_back(&self, times: u32, meter: &Meter) -> Result<(), TrainError> {
        for _ in 0..times {
            let read = meter.reading_back(|| self.objective.state());
            read.map_err(TrainError::failed)?;
        }
        Ok(())
    }

    /// Adds the weights to their moving average, where one is kept.
    pub(super) fn update_ema(&mut self, meter: &Meter) -> Result<(), TrainError> {
        let Some(ema) = &mut self.ema else {
            return Ok(());
        };
        let step = self.done + 1;
        ema.after(step, meter, || self.objective.tensors())
            .map_err(|why| TrainError::step(step, why.to_string()))
    }

    /// Averages over replicas what each has learned without gradients from its own batches.
    pub(super) fn average_buffers(self, replica: &Replica) -> Result<Self, TrainError> {
        let names = T::buffer_names();
        if replica.world_size() == 1 || names.is_empty() {
            return Ok(self);
        }
        let unread = |why: ReadError| TrainError::step(self.done + 1, why.to_string());
        let read = || self.objective.state();
        let mut state = replica.meter.reading_back(read).map_err(unread)?;
        for name in names {
            let Some(data) = state.get_mut(*name) else {
                continue;
            };
            let values = replica.mean(data.iter::<f32>().collect())?;
            *data = TensorData::new(values, data.shape().to_vec());
        }
        let objective = self.objective.with_state(&state);
        let objective =
            objective.map_err(|why| TrainError::step(self.done + 1, why.to_string()))?;
        Ok(Self { objective, ..self })
    }

    /// Fails if the replicas' weights differ: that is a defect, and the weights are worth nothing
    /// from then on.
    pub(super) fn check_replicas_agree(
        &self,
        loop_config: &LoopConfig,
        replica: &Replica,
    ) -> Result<(), TrainError> {
        let every = loop_config.compare_every;
        if replica.world_size() == 1 || every == 0 || !self.done.is_multiple_of(every) {
            return Ok(());
        }
        let mut hasher = blake3::Hasher::new();
        for tensor in self.objective.tensors() {
            let data = replica.meter.reading_back(|| tensor.read());
            let data = data.map_err(|why| TrainError::step(self.done, why.to_string()))?;
            hasher.update(data.as_bytes());
        }
        let own: Vec<f32> = hasher.finalize().as_bytes().map(f32::from).to_vec();
        // Bytes are exact in f32, and so is the mean of equal bytes.
        match replica.mean(own.clone())? == own {
            true => Ok(()),
            false => Err(TrainError::Diverged { step: self.done }),
        }
    }
}

/// The settings with which the guards start.
#[derive(Clone, Copy, Debug)]
pub struct Guards {
    /// How many bad steps in a row are skipped before the training stops.
    pub bad_steps: usize,
    /// When a loss jumps.
    pub spikes: SpikeSettings,
    /// The factor on the loss to start with.
    pub scale: LossScale,
}
