//! What a stage carries from step to step, and what replicas share of it.

use burn::tensor::TensorData;
use myxtts_model::params::ReadError;
use myxtts_ops::on_cores;
use myxtts_run::guard::{NonFinite, SpikeDetector, SpikeSettings};

use super::{Ema, LossScale, Meter, Recipe, Seat};
use crate::error::TrainError;
use crate::objective::Trainee;
use crate::optim::{AdamW, NamedGradients};

/// What a stage carries from step to step, and a checkpoint from run to run.
#[derive(Debug)]
pub struct State<T> {
    /// The model, with its loss and its update.
    pub trainee: T,
    /// One optimizer for each phase.
    pub optimisers: Vec<AdamW>,
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

impl<T: Trainee> State<T> {
    /// Makes the state before the first step.
    pub fn new(trainee: T, optimisers: Vec<AdamW>, ema: Option<Ema>, guards: Guards) -> Self {
        Self {
            trainee,
            optimisers,
            ema,
            done: 0,
            non_finite: NonFinite::new(guards.bad_steps),
            spikes: SpikeDetector::new(guards.spikes),
            scale: guards.scale,
        }
    }

    /// The phases of the step that was begun.
    pub(super) fn phases(&self) -> Vec<usize> {
        let takes_part = |phase: &usize| self.trainee.takes_part(*phase);
        (0..T::PHASES).filter(takes_part).collect()
    }

    /// It after a phase.
    pub(super) fn stepped(mut self, phase: usize, gradients: NamedGradients, rate: f64) -> Self {
        let optimiser = &mut self.optimisers[phase];
        let device = self.trainee.device();
        let step = || self.trainee.stepped(phase, optimiser, gradients, rate);
        self.trainee = on_cores(&device, step);
        self
    }

    /// Reads all weights so many times, for nothing: a fault that is put in.
    pub(super) fn read_back(&self, times: u32, meter: &Meter) -> Result<(), TrainError> {
        for _ in 0..times {
            let read = meter.reading_back(|| self.trainee.state());
            read.map_err(TrainError::failed)?;
        }
        Ok(())
    }

    /// Adds the weights to their moving average, where one is kept.
    pub(super) fn average(&mut self, meter: &Meter) -> Result<(), TrainError> {
        let Some(ema) = &mut self.ema else {
            return Ok(());
        };
        let step = self.done + 1;
        ema.after(step, meter, || self.trainee.tensors())
            .map_err(|why| TrainError::step(step, why.to_string()))
    }

    /// Averages over replicas what each has learned without gradients from its own batches.
    pub(super) fn share_absorbed(self, seat: &Seat) -> Result<Self, TrainError> {
        let names = T::absorbs();
        if seat.members() == 1 || names.is_empty() {
            return Ok(self);
        }
        let unread = |why: ReadError| TrainError::step(self.done + 1, why.to_string());
        let read = || self.trainee.state();
        let mut state = seat.meter.reading_back(read).map_err(unread)?;
        for name in names {
            let Some(data) = state.get_mut(*name) else {
                continue;
            };
            let values = seat.mean(data.iter::<f32>().collect())?;
            *data = TensorData::new(values, data.shape().to_vec());
        }
        let trainee = self.trainee.with_state(&state);
        let trainee = trainee.map_err(|why| TrainError::step(self.done + 1, why))?;
        Ok(Self { trainee, ..self })
    }

    /// Fails if the replicas' weights differ: that is a defect, and the weights are worth nothing
    /// from then on.
    pub(super) fn compare(&self, recipe: &Recipe, seat: &Seat) -> Result<(), TrainError> {
        let every = recipe.compare_every;
        if seat.members() == 1 || every == 0 || !self.done.is_multiple_of(every) {
            return Ok(());
        }
        let mut hasher = blake3::Hasher::new();
        for tensor in self.trainee.tensors() {
            let data = seat.meter.reading_back(|| tensor.read());
            let data = data.map_err(|why| TrainError::step(self.done, why.to_string()))?;
            hasher.update(data.as_bytes());
        }
        let own: Vec<f32> = hasher.finalize().as_bytes().map(f32::from).to_vec();
        // Bytes are exact in f32, and so is the mean of equal bytes.
        match seat.mean(own.clone())? == own {
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
