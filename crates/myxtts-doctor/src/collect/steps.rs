//! Lines of `metrics.jsonl`.

use serde::{Deserialize, Deserializer};

use super::{Mean, Newest, SHORT, WARM_UP};
use crate::signal::Signal;
use crate::signals::{Oscillation, Pauses, Period, Recompiles, Replica, StepSignals, TrainStage};
use crate::stats;
use crate::units::{Flop, Seconds, Share};

/// The fewest steps that can show a rhythm.
const ENOUGH: usize = 64;
/// The longest lag that is looked at: far enough to name a pause every 50 steps.
const LONGEST_PERIOD: usize = 60;

/// One line of `metrics.jsonl`; what is not there is `None`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "`StepSignals` says what each field is")]
pub struct StepLine {
    pub step: u64,
    pub wall_time: f64,
    #[serde(deserialize_with = "lenient")]
    pub stage: Option<TrainStage>,
    #[serde(deserialize_with = "lenient")]
    pub loss: Option<serde_json::Value>,
    #[serde(deserialize_with = "lenient")]
    pub step_s: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub data_wait_s: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub read_back_s: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub syncs: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub collective_s: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub dispatch_s: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub core_wait_s: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub padding: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub audio_s: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub flop: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub kernels_new: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub checkpoint_s: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub validation_s: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub samples_s: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub replica_step_s: Option<Vec<f64>>,
}

/// Reads a value; one of another kind counts as missing: the string `"NaN"`, or
/// what a later version writes.
fn lenient<'de, D: Deserializer<'de>, T: for<'a> Deserialize<'a>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(serde_json::from_value(value).ok())
}

impl StepLine {
    /// Returns the time of averaging without the first replica's wait for a slower
    /// one, which does not belong to it.
    fn averaging_s(&self) -> Option<f64> {
        let replicas = self.replica_step_s.as_deref().unwrap_or_default();
        let own = replicas.first().copied().unwrap_or(0.0);
        let slowest = replicas.iter().copied().fold(own, f64::max);
        Some((self.collective_s? - (slowest - own)).max(0.0))
    }

    /// Returns whether the line is that of a step, and not of a validation.
    fn is_step(&self) -> bool {
        self.loss.is_some() || self.step_s.is_some() || self.data_wait_s.is_some()
    }
}

/// All lines of the newest stage, folded.
#[derive(Clone, Debug, Default)]
pub(super) struct StepFold {
    stage: Option<TrainStage>,
    /// The first lines, until it is known how many of them are the warm-up.
    head: Vec<StepLine>,
    sums: Sums,
    last_step: Option<u64>,
    /// When the warm-up ended, in seconds since 1970.
    since: Option<f64>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    steps: u64,
    step: Mean,
    data_wait: Mean,
    read_back: Mean,
    syncs: Mean,
    collective: Mean,
    dispatch: Mean,
    core_wait: Mean,
    audio: Mean,
    flop: Mean,
    /// All positions, in units of the batch's sound; `used` has those without padding.
    positions: Mean,
    used: Mean,
    padding: Mean,
    times: Newest,
    work: Newest,
    kernels: u64,
    with_kernels: Mean,
    without_kernels: Mean,
    counts_kernels: bool,
    measures_steps: bool,
    pauses: [f64; 3],
    /// Pauses after the newest step. They count when another step follows: what comes
    /// after the last step of a stage is its end and not a pause.
    pending: [f64; 3],
    /// The newest distances from the median of the other replicas, by rank.
    apart: Vec<Newest>,
    replica: Vec<Newest>,
    last_time: Option<f64>,
}

impl StepFold {
    pub(super) fn add(&mut self, line: &StepLine) {
        if line.stage.is_some() && line.stage != self.stage {
            *self = Self {
                stage: line.stage,
                ..Self::default()
            };
        }
        if line.is_step() {
            self.last_step = Some(line.step);
        }
        if self.head.len() < SHORT {
            self.head.push(line.clone());
            if self.head.len() == SHORT {
                self.sums = folded(&self.head, WARM_UP);
            }
        } else {
            self.sums.add(line);
        }
        let warm_up = self.warm_up();
        if let Some(first) = self.head.get(warm_up) {
            self.since = Some(first.wall_time);
        }
    }

    fn warm_up(&self) -> usize {
        if self.head.len() < SHORT {
            self.head.len() / 4
        } else {
            WARM_UP
        }
    }

    pub(super) fn stage(&self) -> Signal<TrainStage> {
        Signal::from_option(self.stage, "no step has been written yet")
    }

    pub(super) fn at_step(&self) -> Option<u64> {
        self.last_step
    }

    pub(super) fn since(&self) -> Option<f64> {
        self.since
    }

    pub(super) fn fill(&self, into: &mut StepSignals, mirrors: Option<bool>) {
        let folded = if self.head.len() < SHORT {
            folded(&self.head, self.warm_up())
        } else {
            self.sums.clone()
        };
        folded.fill(into, mirrors);
    }
}

fn folded(lines: &[StepLine], warm_up: usize) -> Sums {
    // The last line of the warm-up is where the first measured step begins.
    let before = warm_up.checked_sub(1).and_then(|last| lines.get(last));
    let mut sums = Sums {
        last_time: before.map(|line| line.wall_time),
        ..Sums::default()
    };
    for line in lines.iter().skip(warm_up) {
        sums.add(line);
    }
    sums
}

impl Sums {
    fn add(&mut self, line: &StepLine) {
        if line.is_step() {
            self.add_step(line);
        } else {
            // Something came between two steps: their distance is not a step.
            self.last_time = None;
        }
        let pauses = [line.checkpoint_s, line.validation_s, line.samples_s];
        for (pending, pause) in self.pending.iter_mut().zip(pauses) {
            *pending += pause.filter(|pause| pause.is_finite()).unwrap_or(0.0);
        }
    }

    fn add_step(&mut self, line: &StepLine) {
        self.steps += 1;
        for (pause, pending) in self.pauses.iter_mut().zip(&mut self.pending) {
            *pause += std::mem::take(pending);
        }
        self.measures_steps |= line.step_s.is_some();
        let since = self.last_time.replace(line.wall_time);
        let by_clock = since.map(|since| line.wall_time - since);
        let took = line
            .step_s
            .or(by_clock)
            .filter(|took| took.is_finite() && *took >= 0.0);
        self.step.add(took);
        self.data_wait.add(line.data_wait_s);
        self.read_back.add(line.read_back_s);
        self.syncs.add(line.syncs);
        self.collective.add(line.averaging_s());
        self.dispatch.add(line.dispatch_s);
        self.core_wait.add(line.core_wait_s);
        self.audio.add(line.audio_s);
        self.flop.add(line.flop);
        self.padding.add(line.padding);
        let work = match (line.audio_s, line.padding) {
            (Some(audio), Some(padding)) if padding < 1.0 => {
                self.used.add(Some(audio));
                self.positions.add(Some(audio / (1.0 - padding)));
                Some(audio / (1.0 - padding))
            }
            _ => None,
        };
        if let Some(took) = took {
            self.times.push(took);
            self.work.push(work.unwrap_or(f64::NAN));
        }
        if let Some(kernels) = line.kernels_new {
            self.counts_kernels = true;
            self.kernels += kernels;
            match kernels {
                0 => self.without_kernels.add(took),
                _ => self.with_kernels.add(took),
            }
        }
        if let Some(replicas) = line.replica_step_s.as_ref().filter(|all| all.len() > 1) {
            self.add_replicas(replicas);
        }
    }

    fn add_replicas(&mut self, steps: &[f64]) {
        if self.apart.len() != steps.len() {
            self.apart = vec![Newest::default(); steps.len()];
            self.replica = self.apart.clone();
        }
        for (rank, own) in steps.iter().enumerate() {
            let others: Vec<f64> = steps
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != rank)
                .map(|(_, step)| *step)
                .collect();
            self.apart[rank].push(own - stats::median(&others).unwrap_or(*own));
            self.replica[rank].push(*own);
        }
    }

    fn fill(&self, into: &mut StepSignals, mirrors: Option<bool>) {
        const OLDER: &str =
            "this run does not measure it; a newer version writes it to metrics.jsonl";
        into.measured = self.steps;
        if self.steps == 0 {
            let why = "no step after the warm-up has been written yet";
            into.step = Signal::unavailable(why);
            into.data_wait = Signal::unavailable(why);
            return;
        }
        into.step = self
            .step
            .signal(Seconds, "the lines of metrics.jsonl have no times");
        into.data_wait = self.data_wait.signal(Seconds, OLDER);
        into.read_back = self.read_back.signal(Seconds, OLDER);
        into.syncs = self.syncs.signal(|syncs| syncs, OLDER);
        into.dispatch = self.dispatch.signal(Seconds, OLDER);
        into.core_wait = self.core_wait.signal(
            Seconds,
            "this system does not report how long a thread waits for a core",
        );
        into.audio = self.audio.signal(Seconds, OLDER);
        into.flop = self
            .flop
            .signal(Flop, "the operations of this stage are not counted");
        into.collective = match mirrors {
            Some(false) => Seconds(0.0).into(),
            _ => self.collective.signal(Seconds, OLDER),
        };
        // Averaged over positions and not over steps: a large batch counts more.
        let over_positions = match (self.used.get(), self.positions.get()) {
            (Some(used), Some(all)) if all > 0.0 => Some(Share(1.0 - used / all)),
            _ => self.padding.get().map(Share),
        };
        into.padding = Signal::from_option(over_positions, OLDER);
        into.oscillation = self.oscillation();
        into.recompiles = if self.counts_kernels {
            Signal::Known(self.recompiles())
        } else {
            Signal::unavailable("the kernels of this backend are not counted")
        };
        into.pauses = if self.measures_steps {
            let per_step = |index: usize| Seconds(self.pauses[index] / self.steps as f64);
            Signal::Known(Pauses {
                checkpoint: per_step(0),
                validation: per_step(1),
                samples: per_step(2),
            })
        } else {
            Signal::unavailable(OLDER)
        };
        into.replicas = match mirrors {
            Some(false) => Vec::new().into(),
            _ if self.apart.is_empty() => Signal::unavailable(OLDER),
            _ => Signal::Known(self.replicas()),
        };
    }

    fn oscillation(&self) -> Signal<Oscillation> {
        let times = self.times.to_vec();
        if times.len() < ENOUGH {
            let few = times.len();
            return Signal::unavailable(format!(
                "{few} steps are too few to see a rhythm; {ENOUGH} are enough"
            ));
        }
        let work = self.work.to_vec();
        let even = match work.iter().all(|work| work.is_finite()) {
            true => stats::without_work(&times, &work),
            false => times,
        };
        let (Some(variation), Some(mean), Some(median)) = (
            stats::variation(&even),
            stats::mean(&even),
            stats::median(&even),
        ) else {
            return Signal::unavailable("the steps took no time");
        };
        // Chance makes weaker repetitions than this in so many steps.
        let chance = 3.5 / (even.len() as f64).sqrt();
        let longest = LONGEST_PERIOD.min(even.len() / 4);
        let period = stats::period(&even, 2..=longest).filter(|(_, strength)| *strength > chance);
        Signal::Known(Oscillation {
            variation,
            period: period.map(|(steps, strength)| Period { steps, strength }),
            excess: Seconds((mean - median).max(0.0)),
        })
    }

    fn recompiles(&self) -> Recompiles {
        let extra = match (self.with_kernels.get(), self.without_kernels.get()) {
            (Some(with), Some(without)) => Some(Seconds((with - without).max(0.0))),
            _ => None,
        };
        Recompiles {
            kernels: self.kernels,
            steps: self.with_kernels.count,
            extra,
        }
    }

    /// Compares each replica with the others. Its distance from them is taken step by
    /// step, so that batches of different lengths do not hide it, and the median of
    /// the distance is compared with how much the distance itself varies.
    fn replicas(&self) -> Vec<Replica> {
        let ranks = self.replica.iter().zip(&self.apart).enumerate();
        ranks
            .map(|(rank, (steps, apart))| {
                let (steps, apart) = (steps.to_vec(), apart.to_vec());
                let step = stats::median(&steps).unwrap_or(0.0);
                // A clock is not finer than this.
                let spread = stats::mad(&apart).unwrap_or(0.0).max(1e-6);
                let distance = stats::median(&apart).unwrap_or(0.0);
                Replica {
                    rank,
                    step: Seconds(step),
                    z_score: stats::modified_z(distance, 0.0, spread),
                }
            })
            .collect()
    }
}
