//! The numbers of a step, and the guards that judge it by them.

use std::collections::VecDeque;
use std::time::Duration;

use burn::tensor::{Bool, Tensor};
use myxtts_base::process::ThreadTime;
use myxtts_device::{EngineError, check_for_oom};
use myxtts_run::guard::{NonFiniteVerdict, SpikeAction};
use myxtts_run::units::Step;

use super::meter::StepClock;
use super::reading::Reading;
use super::{Meter, Replica, ReplicaTotals, State, Waits};
use crate::error::TrainError;
use crate::feed::BatchStats;
use crate::optim::AdamW;

/// The report of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// The number of the step in its stage, from 1.
    pub step: u64,
    /// The whole loss, averaged over all replicas.
    pub loss: f32,
    /// The parts of the loss by name, averaged as well.
    pub parts: Vec<(&'static str, f32)>,
    /// Norm of the gradient before it was clipped.
    pub norm: f32,
    /// The learning rate of the step's last phase.
    pub rate: f64,
    /// Why the step was not applied; `None` if it was.
    pub skipped: Option<String>,
    /// A message about a loss that jumped.
    pub spike: Option<String>,
    /// What this replica's batches held.
    pub stats: BatchStats,
    /// How long this replica waited for those batches.
    pub waited: Duration,
    /// What else this replica waited for.
    pub waits: Waits,
    /// What this replica's thread did, where the system reports it. On a GPU the thread only
    /// queues work.
    pub thread: Option<ThreadTime>,
    /// What all replicas' batches held, and how long each replica worked.
    pub totals: ReplicaTotals,
}

/// The numbers of a step, as they become known.
pub(super) struct StepMetrics {
    pub(super) report: StepReport,
    /// Numbers still on the device: the parts of a loss with their names, whole losses without
    /// one.
    unread: Vec<(Option<&'static str>, Tensor<1>)>,
    /// Phases that were left to the device, and whose numbers are on their way.
    undecided: VecDeque<UndecidedPhase>,
    /// Whether losses are no longer those that the guard against jumps has seen.
    is_of_a_new_kind: bool,
    clock: StepClock,
}

/// A phase that the device decides on.
struct UndecidedPhase {
    phase: usize,
    names: Vec<Option<&'static str>>,
    numbers: Reading,
    rate: f64,
    is_last: bool,
    applies_1: Tensor<1, Bool>,
}

/// A phase whose gradient is known.
pub(super) struct ComputedPhase {
    pub(super) phase: usize,
    /// The norm of its gradient, on the device; `None` if it has no gradient.
    pub(super) norm: Option<Tensor<1>>,
    pub(super) rate: f64,
    /// Whether no other phase of the step follows.
    pub(super) is_last: bool,
}

impl StepMetrics {
    pub(super) fn new(step: u64, rate: f64, is_of_a_new_kind: bool, meter: &Meter) -> Self {
        Self {
            report: StepReport {
                step,
                loss: 0.0,
                parts: vec![],
                norm: 0.0,
                rate,
                skipped: None,
                spike: None,
                stats: BatchStats::default(),
                waited: Duration::ZERO,
                waits: Waits::default(),
                thread: None,
                totals: ReplicaTotals::default(),
            },
            unread: vec![],
            undecided: VecDeque::new(),
            is_of_a_new_kind,
            clock: StepClock::start(meter),
        }
    }

    /// Ends the step: its waits are those until now.
    pub(super) fn end(&mut self, meter: &Meter) {
        (self.report.waits, self.report.thread) = self.clock.stop(meter);
    }

    /// Whether all numbers are read and the guards have judged the step.
    pub(super) fn is_settled(&self) -> bool {
        self.undecided.is_empty()
    }

    /// Counts a batch that has arrived.
    pub(super) fn count_batch(&mut self, stats: &BatchStats, waited: Duration) {
        self.report.stats.join(stats);
        self.report.waited += waited;
    }

    /// Takes the losses of a batch without reading them: a read waits for the device, so there is
    /// one for all numbers of a phase, after its backward passes are queued.
    pub(super) fn add(&mut self, total: Tensor<1>, parts: Vec<(&'static str, Tensor<1>)>) {
        self.unread.push((None, total));
        let parts = parts.into_iter();
        self.unread
            .extend(parts.map(|(name, value)| (Some(name), value)));
    }

    /// Reads the losses that were added, and the norm of the gradient.
    pub(super) fn read(
        &mut self,
        norm: Option<Tensor<1>>,
        meter: &Meter,
    ) -> Result<(), TrainError> {
        let (names, numbers_n) = self.numbers(norm);
        let Some(numbers_n) = numbers_n else {
            return Ok(());
        };
        let values = meter.reading_back(|| numbers_n.try_into_vec_as::<f32>());
        let step = self.report.step;
        let values = values.map_err(|why| TrainError::step(step, why.to_string()))?;
        check_for_oom().map_err(|why| TrainError::step(step, why))?;
        self.count(&names, &values);
        Ok(())
    }

    /// Takes the names of what is unread, and all of it in one tensor: losses and their parts, and
    /// the norm at the end.
    fn numbers(
        &mut self,
        norm: Option<Tensor<1>>,
    ) -> (Vec<Option<&'static str>>, Option<Tensor<1>>) {
        let (names, mut values): (Vec<_>, Vec<_>) = self.unread.drain(..).unzip();
        values.extend(norm);
        let numbers_n = (!values.is_empty()).then(|| Tensor::cat(values, 0));
        (names, numbers_n)
    }

    /// Counts numbers that were read.
    fn count(&mut self, names: &[Option<&'static str>], values: &[f32]) {
        self.report.norm = values.get(names.len()).copied().unwrap_or(0.0);
        for (name, value) in names.iter().zip(values) {
            let parts = &mut self.report.parts;
            match name {
                None => self.report.loss += value,
                Some(name) => match parts.iter_mut().find(|(known, _)| known == name) {
                    Some((_, sum)) => *sum += value,
                    None => parts.push((name, *value)),
                },
            }
        }
    }

    /// Combines the losses, counts and times of all replicas.
    fn reduce_across_replicas(&mut self, replica: &Replica) -> Result<(), TrainError> {
        let (report, world_size) = (&mut self.report, replica.world_size());
        if world_size == 1 {
            report.totals = ReplicaTotals::alone(&report.stats);
            return Ok(());
        }
        let worked = self.clock.worked(&replica.meter, report.waited);
        let own = report.parts.iter().map(|(_, value)| *value);
        let own = own.chain([report.loss]);
        let own = own.chain(ReplicaTotals::contribution(
            &report.stats,
            worked,
            replica.rank,
            world_size,
        ));
        let means = replica.mean(own.collect())?;
        let (parts, rest) = means.split_at(report.parts.len());
        for ((_, value), mean) in report.parts.iter_mut().zip(parts) {
            *value = *mean;
        }
        if let Some((loss, rest)) = rest.split_first() {
            report.loss = *loss;
            report.totals = ReplicaTotals::of(rest, world_size);
        }
        Ok(())
    }

    /// Leaves it to the device whether a phase is applied: if the losses until now and the norm
    /// are numbers, as the guards will find when they are read. The numbers start on their way to
    /// the host, before anything is applied. By then the engine has taken memory for all that was
    /// queued, so memory that has run out is known here, and the weights are as they were.
    pub(super) fn begin_reading(
        &mut self,
        computed: ComputedPhase,
    ) -> Result<Option<Tensor<1, Bool>>, TrainError> {
        let ComputedPhase {
            phase,
            norm,
            rate,
            is_last,
        } = computed;
        let losses = self.unread.iter().filter(|(name, _)| name.is_none());
        let losses = losses.map(|(_, loss_1)| loss_1.clone());
        let judged = losses.reduce(|sum, loss_1| sum + loss_1);
        // A quarter of each, so that two finite numbers have a finite sum.
        let quarters = judged.into_iter().chain(norm.clone()).map(|x_1| x_1 * 0.25);
        let Some(sum_1) = quarters.reduce(|sum, x_1| sum + x_1) else {
            return Ok(None);
        };
        let before = self.undecided.back().map(|earlier| &earlier.applies_1);
        let applies_1 = match before {
            Some(earlier_1) => sum_1.is_finite().bool_and(earlier_1.clone()),
            None => sum_1.is_finite(),
        };
        let (names, numbers_n) = self.numbers(norm);
        let Some(numbers_n) = numbers_n else {
            return Ok(None);
        };
        let numbers = Reading::begin(numbers_n);
        let numbers = numbers.map_err(|why| TrainError::step(self.report.step, why))?;
        self.undecided.push_back(UndecidedPhase {
            phase,
            names,
            numbers,
            rate,
            is_last,
            applies_1: applies_1.clone(),
        });
        Ok(Some(applies_1))
    }

    /// Reads the numbers that are on their way, and has the guards and the optimizers learn from
    /// them what the device has decided. `read` waits for them.
    pub(super) fn settle<T>(
        &mut self,
        state: &mut State<T>,
        replica: &Replica,
        read: impl Fn(Reading) -> Result<Vec<f32>, EngineError>,
    ) -> Result<(), TrainError> {
        let mut was_applied = Ok(true);
        while let Some(undecided) = self.undecided.pop_front() {
            if matches!(was_applied, Ok(true)) {
                let step = self.report.step;
                let values = read(undecided.numbers).map_err(|why| TrainError::step(step, why))?;
                self.count(&undecided.names, &values);
                was_applied = self.judge(undecided.is_last, replica, state);
            }
            let is_applied = matches!(was_applied, Ok(true));
            if is_applied {
                self.report.rate = undecided.rate;
            }
            if let Some(optimizer) = state.optimizers.get_mut(undecided.phase) {
                optimizer.settle(is_applied);
            }
        }
        was_applied.map(|_| ())
    }

    /// Waits for the numbers that are on their way, and forgets them.
    pub(super) fn discard(self, optimizers: &mut [AdamW]) -> Result<(), TrainError> {
        for undecided in self.undecided {
            let read = undecided.numbers.finish();
            read.map_err(|why| TrainError::step(self.report.step, why))?;
            if let Some(optimizer) = optimizers.get_mut(undecided.phase) {
                optimizer.settle(true);
            }
        }
        Ok(())
    }

    /// Reads the numbers of a phase before it is applied, and returns whether it may be.
    pub(super) fn should_apply<T>(
        &mut self,
        computed: ComputedPhase,
        replica: &Replica,
        state: &mut State<T>,
    ) -> Result<bool, TrainError> {
        self.read(computed.norm, &replica.meter)?;
        let may_apply = self.judge(computed.is_last, replica, state)?;
        if may_apply {
            self.report.rate = computed.rate;
        }
        Ok(may_apply)
    }

    /// Whether the phase may be applied. The guards judge a step once, by its last phase or by
    /// the first that is bad. All replicas see the same numbers and come to the same answer.
    fn judge<T>(
        &mut self,
        is_last: bool,
        replica: &Replica,
        state: &mut State<T>,
    ) -> Result<bool, TrainError> {
        self.reduce_across_replicas(replica)?;
        if std::mem::take(&mut self.is_of_a_new_kind) {
            state.spikes.forget();
        }
        if !is_last && self.report.loss.is_finite() && self.report.norm.is_finite() {
            return Ok(true);
        }
        let step = Step(self.report.step);
        if state.scale.overflowed(self.report.loss, self.report.norm) {
            self.report.skipped = Some(format!(
                "the gradient overflowed half precision; the loss is now scaled by {}",
                state.scale.factor()
            ));
            return Ok(false);
        }
        let clips = || {
            self.report
                .stats
                .clips
                .iter()
                .map(|clip| clip.0.to_string())
        };
        let verdict = state
            .non_finite
            .judge(step, self.report.loss, self.report.norm, || {
                clips().collect()
            });
        match verdict {
            NonFiniteVerdict::Apply => {}
            NonFiniteVerdict::Skip { streak } => {
                self.report.skipped = Some(format!(
                    "loss {} and gradient norm {} are not both numbers ({streak} in a row)",
                    self.report.loss, self.report.norm
                ));
                return Ok(false);
            }
            NonFiniteVerdict::Stop(report) => return Err(TrainError::BadSteps(report)),
        }
        if let Some(spike) = state.spikes.observe(step, f64::from(self.report.loss)) {
            self.report.spike = Some(spike.to_string());
            if spike.action == SpikeAction::Skip {
                self.report.skipped = Some("the loss jumped".to_owned());
                return Ok(false);
            }
        }
        Ok(true)
    }
}
