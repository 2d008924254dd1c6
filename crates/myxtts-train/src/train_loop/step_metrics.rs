//! The numbers of a step, and the guards that judge it by them.

use std::time::Duration;

use burn::tensor::Tensor;
use myxtts_base::process::ThreadTime;
use myxtts_device::check_for_oom;
use myxtts_run::guard::{NonFiniteVerdict, SpikeAction};
use myxtts_run::units::Step;

use super::meter::StepClock;
use super::{Meter, Replica, ReplicaTotals, State, Waits};
use crate::error::TrainError;
use crate::feed::BatchStats;

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
    clock: StepClock,
}

impl StepMetrics {
    pub(super) fn new(step: u64, rate: f64, meter: &Meter) -> Self {
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
            clock: StepClock::start(meter),
        }
    }

    /// Returns the report of the finished step, with its waits.
    pub(super) fn finish(mut self, meter: &Meter) -> StepReport {
        (self.report.waits, self.report.thread) = self.clock.stop(meter);
        self.report
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
        let (names, mut values): (Vec<_>, Vec<_>) = self.unread.drain(..).unzip();
        values.extend(norm);
        if values.is_empty() {
            return Ok(());
        }
        let values = meter.reading_back(|| Tensor::cat(values, 0).try_into_vec_as::<f32>());
        let step = self.report.step;
        let values = values.map_err(|why| TrainError::step(step, why.to_string()))?;
        check_for_oom().map_err(|why| TrainError::step(step, why))?;
        self.report.norm = values.get(names.len()).copied().unwrap_or(0.0);
        for (name, value) in names.into_iter().zip(values) {
            let parts = &mut self.report.parts;
            match name {
                None => self.report.loss += value,
                Some(name) => match parts.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, sum)) => *sum += value,
                    None => parts.push((name, value)),
                },
            }
        }
        Ok(())
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

    /// Whether the phase may be applied. The guards judge a step once, by its last phase or by
    /// the first that is bad. All replicas see the same numbers and come to the same answer.
    pub(super) fn should_apply<T>(
        &mut self,
        norm: Option<Tensor<1>>,
        is_last: bool,
        replica: &Replica,
        state: &mut State<T>,
    ) -> Result<bool, TrainError> {
        self.read(norm, &replica.meter)?;
        self.reduce_across_replicas(replica)?;
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
