//! The wall time of a stage, in parts that leave nothing out: what came before
//! its first step, steps, pauses between them, and what came after the last.

use std::time::{Duration, Instant};

use myxtts_run::metrics::Record;

/// The reasons for which training pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    Checkpoint,
    Validation,
    Samples,
}

const SHORTEST: Duration = Duration::from_micros(100);

/// The time spent on each kind of pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pauses {
    checkpoint: Duration,
    validation: Duration,
    samples: Duration,
}

impl Pauses {
    fn of(&mut self, pause: Pause) -> &mut Duration {
        match pause {
            Pause::Checkpoint => &mut self.checkpoint,
            Pause::Validation => &mut self.validation,
            Pause::Samples => &mut self.samples,
        }
    }

    fn sum(&self) -> Duration {
        self.checkpoint + self.validation + self.samples
    }

    /// Adds the pauses that occurred to a record.
    pub(super) fn record(&self, record: Record) -> Record {
        [
            ("checkpoint_s", self.checkpoint),
            ("validation_s", self.validation),
            ("samples_s", self.samples),
        ]
        .into_iter()
        .filter(|(_, pause)| !pause.is_zero())
        .fold(record, |record, (name, pause)| {
            record.f64(name, pause.as_secs_f64())
        })
    }
}

/// Times a stage. Every moment belongs to one part: a lap ends where the next begins, and pauses
/// are taken out of the lap they are in.
#[derive(Debug)]
pub(super) struct StageClock {
    lap: Instant,
    /// The pauses within this lap.
    pauses: Pauses,
}

impl StageClock {
    /// Times a stage that began at `begin`.
    pub(super) fn since(begin: Instant) -> Self {
        Self {
            lap: begin,
            pauses: Pauses::default(),
        }
    }

    /// Ends a pause that began at `begin`. One too short to record stays part of the lap: there
    /// was nothing to do.
    pub(super) fn paused(&mut self, pause: Pause, begin: Instant) {
        let took = begin.elapsed();
        if took >= SHORTEST {
            *self.pauses.of(pause) += took;
        }
    }

    /// Returns the pauses of this lap so far; `None` if there were none.
    pub(super) fn pauses(&self) -> Option<Pauses> {
        (self.pauses != Pauses::default()).then_some(self.pauses)
    }

    /// Ends a lap, and returns the time it took without its pauses.
    pub(super) fn lap(&mut self) -> Duration {
        let now = Instant::now();
        let lap = now - std::mem::replace(&mut self.lap, now);
        lap.saturating_sub(std::mem::take(&mut self.pauses).sum())
    }
}

#[cfg(test)]
mod tests {
    use myxtts_run::units::Step;

    use super::*;

    #[test]
    fn laps_and_pauses_are_all_the_time_there_was() {
        let begin = Instant::now();
        let mut clock = StageClock::since(begin);
        let nap = || std::thread::sleep(Duration::from_millis(5));
        let mut sum = Duration::ZERO;
        for step in 0..4 {
            nap();
            if step > 0 {
                for pause in [Pause::Samples, Pause::Checkpoint] {
                    let begin = Instant::now();
                    nap();
                    clock.paused(pause, begin);
                }
            }
            sum += clock.pauses().unwrap_or_default().sum();
            let lap = clock.lap();
            assert!(lap >= Duration::from_millis(5), "{lap:?}");
            sum += lap;
        }
        assert_eq!(clock.lap - begin, sum);
    }

    #[test]
    fn only_pauses_there_were_are_written() {
        let pauses = Pauses {
            samples: Duration::from_millis(250),
            ..Pauses::default()
        };
        let record = Record::new(Step(3));
        assert_eq!(pauses.record(record.clone()), record.f64("samples_s", 0.25));
    }
}
