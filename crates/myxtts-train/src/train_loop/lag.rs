//! How far the host is behind the device.
//!
//! A host that reads a step's loss before it queues the next leaves the device without work in
//! between. On a GPU the numbers of a step are therefore read while the next one is computed, and
//! the device itself decides whether a step is taken. The host is never further behind than that,
//! and not behind at all where somebody looks at the weights: a checkpoint of a step is of exactly
//! that step.
//!
//! On the CPU reading costs nothing, so each step is judged before it is taken. So it is between
//! replicas, whose averages go through the host, and where losses that jump are left out: only
//! the host knows those that a loss is compared with.

use burn::tensor::{Bool, Tensor};
use myxtts_ops::is_cpu;

use super::loss_scale::DeviceLossScale;
use super::reading::Reading;
use super::step_metrics::{ComputedPhase, StepMetrics};
use super::{Ema, LoopConfig, LossFactor, Replica, State, StepObserver};
use crate::error::TrainError;
use crate::objective::Objective;

/// Whether a phase is applied.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a handle, of which a step has one"
)]
pub(super) enum Decision {
    Skip,
    Apply,
    /// The device decides.
    ApplyIf(Tensor<1, Bool>),
}

/// Steps that are queued on the device and not yet reported.
pub(super) struct Lag<'a> {
    replica: &'a Replica,
    config: &'a LoopConfig,
    /// Whether the device decides on steps.
    is_late: bool,
    scale: Option<DeviceLossScale>,
    /// The step before the present one, if it is not reported yet.
    pending: Option<StepMetrics>,
}

/// Whether steps on this device are left to it. What compiles kernels beforehand asks as well: they
/// are others than those of a step that is decided by the host.
pub(super) fn is_late<T: Objective>(objective: &T, config: &LoopConfig, replica: &Replica) -> bool {
    config.reads_late && replica.world_size() == 1 && !is_cpu(&objective.device())
}

impl<'a> Lag<'a> {
    pub(super) fn new<T: Objective>(
        state: &State<T>,
        config: &'a LoopConfig,
        replica: &'a Replica,
    ) -> Self {
        let is_late = is_late(&state.objective, config, replica) && !state.spikes.skips();
        let device = state.objective.device().inner();
        let scale = is_late.then(|| DeviceLossScale::of(&state.scale, &device));
        Self {
            replica,
            config,
            is_late,
            scale: scale.flatten(),
            pending: None,
        }
    }

    /// Returns the factor on the loss of the present step.
    pub(super) fn scale<T>(&self, state: &State<T>) -> LossFactor {
        match &self.scale {
            Some(scale) => scale.factor(),
            None => LossFactor::Known(state.scale.factor()),
        }
    }

    /// Decides on a phase, or leaves it to the device.
    pub(super) fn decide<T>(
        &mut self,
        computed: ComputedPhase,
        metrics: &mut StepMetrics,
        state: &mut State<T>,
    ) -> Result<Decision, TrainError> {
        if !self.is_late {
            return match metrics.should_apply(computed, self.replica, state)? {
                true => Ok(Decision::Apply),
                false => Ok(Decision::Skip),
            };
        }
        let is_last = computed.is_last;
        let Some(applies_1) = metrics.begin_reading(computed)? else {
            return Ok(Decision::Apply);
        };
        if let (Some(scale), true) = (&mut self.scale, is_last) {
            scale.record(&applies_1);
        }
        Ok(Decision::ApplyIf(applies_1))
    }

    /// Has the guards judge the step before this one, and this one too unless it may wait.
    pub(super) fn settle<T>(
        &mut self,
        metrics: &mut StepMetrics,
        state: &mut State<T>,
        observer: &mut dyn StepObserver<T>,
    ) -> Result<(), TrainError> {
        let meter = &self.replica.meter;
        if let Some(mut pending) = self.pending.take() {
            let late = |numbers: Reading| meter.reading_late(|| numbers.finish());
            pending.settle(state, self.replica, late)?;
            self.pending = Some(pending);
        }
        let step = metrics.report.step;
        let must_be_known = step >= self.config.steps
            || state.non_finite.is_at_its_limit()
            || state.ema.is_some() && Ema::is_due(step)
            || observer.looks_at(step);
        let settled = match must_be_known {
            true => metrics.settle(state, self.replica, self.now()),
            false => Ok(()),
        };
        match settled {
            // Nothing of a bad step was applied, so the state is still that of the step before.
            Err(TrainError::BadSteps(_)) => self.report_failure(settled, metrics, state, observer),
            // Numbers that cannot be read leave it unknown which step the weights are of: there is
            // nothing to save.
            settled => settled.map_err(|error| error.in_batch(step, &metrics.report.stats)),
        }
    }

    /// Reports what is settled, and keeps the present step if it is not. Returns whether the
    /// observer asks to stop.
    pub(super) fn report<T>(
        &mut self,
        mut metrics: StepMetrics,
        state: &mut State<T>,
        observer: &mut dyn StepObserver<T>,
    ) -> Result<bool, TrainError> {
        metrics.end(&self.replica.meter);
        let before = self.pending.take();
        let mut is_enough = before.map_or(Ok(false), |before| {
            observer.after_step(&before.report, state)
        });
        // If the observer fails at the step before, this one is reported all the same: what it
        // saves then are the weights of this step.
        if !metrics.is_settled() && is_enough.is_err() {
            metrics.settle(state, self.replica, self.now())?;
        }
        if metrics.is_settled() {
            let noted = observer.after_step(&metrics.report, state);
            is_enough = is_enough.and_then(|is_enough| Ok(is_enough | noted?));
        } else {
            self.pending = Some(metrics);
        }
        is_enough.inspect_err(|error| observer.failed(error, state))
    }

    /// Reports the step that is pending, so that state and observer are at the same step.
    pub(super) fn flush<T>(
        &mut self,
        state: &mut State<T>,
        observer: &mut dyn StepObserver<T>,
    ) -> Result<(), TrainError> {
        let Some(mut pending) = self.pending.take() else {
            return Ok(());
        };
        pending.settle(state, self.replica, self.now())?;
        let noted = observer.after_step(&pending.report, state);
        noted.inspect_err(|error| observer.failed(error, state))?;
        Ok(())
    }

    /// Ends the training with everything reported.
    pub(super) fn finish<T>(
        mut self,
        mut state: State<T>,
        observer: &mut dyn StepObserver<T>,
    ) -> Result<State<T>, TrainError> {
        self.flush(&mut state, observer)?;
        Ok(state)
    }

    /// Adds the step and its batches to an error, and reports the error to the observer, once the
    /// step that is pending and earlier phases of this one are known.
    pub(super) fn report_failure<T, V>(
        &mut self,
        result: Result<V, TrainError>,
        metrics: &mut StepMetrics,
        state: &mut State<T>,
        observer: &mut dyn StepObserver<T>,
    ) -> Result<V, TrainError> {
        if result.is_err() {
            self.flush(state, observer)?;
            metrics.settle(state, self.replica, self.now())?;
        }
        result
            .map_err(|error| error.in_batch(metrics.report.step, &metrics.report.stats))
            .inspect_err(|error| observer.failed(error, state))
    }

    /// Reads numbers while nothing else is queued.
    fn now(&self) -> impl Fn(Reading) -> Result<Vec<f32>, myxtts_device::EngineError> + use<'a> {
        let meter = &self.replica.meter;
        move |numbers| meter.reading_back(|| numbers.finish())
    }
}
