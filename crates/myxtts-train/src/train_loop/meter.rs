//! Where a replica's step goes besides computing: into waiting for its device,
//! and for other replicas.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use myxtts_audio::units::Samples;
use myxtts_base::process::ThreadTime;

use crate::feed::Facts;

/// Adds up waits of one replica, wherever in a step they are.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    collective_ns: AtomicU64,
    read_back_ns: AtomicU64,
    syncs: AtomicU64,
}

impl Meter {
    /// Does something in the seam between replicas.
    pub(crate) fn in_seam<R>(&self, work: impl FnOnce() -> R) -> R {
        timed(&self.collective_ns, work)
    }

    /// Reads from the device: waits for all that was queued before.
    pub(crate) fn reading_back<R>(&self, read: impl FnOnce() -> R) -> R {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        timed(&self.read_back_ns, read)
    }

    /// The same for the seam: what it reads it would read anyway, however often
    /// a step looks at its numbers.
    pub(crate) fn reading_for_seam<R>(&self, read: impl FnOnce() -> R) -> R {
        timed(&self.read_back_ns, read)
    }

    fn collective(&self) -> Duration {
        Duration::from_nanos(self.collective_ns.load(Ordering::Relaxed))
    }

    /// What was added since the last call.
    fn take(&self) -> Waits {
        let nanoseconds = |sum: &AtomicU64| Duration::from_nanos(sum.swap(0, Ordering::Relaxed));
        Waits {
            collective: nanoseconds(&self.collective_ns),
            read_back: nanoseconds(&self.read_back_ns),
            syncs: self.syncs.swap(0, Ordering::Relaxed),
        }
    }
}

fn timed<R>(sum: &AtomicU64, work: impl FnOnce() -> R) -> R {
    let begin = Instant::now();
    let result = work();
    let spent = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    sum.fetch_add(spent, Ordering::Relaxed);
    result
}

/// What a replica waited in a step, batches aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Inside the averaging seam.
    pub collective: Duration,
    /// For the device, to read something from it.
    pub read_back: Duration,
    /// How often.
    pub syncs: u64,
}

/// Runs through one step of one replica.
#[derive(Debug)]
pub(crate) struct StepClock {
    begin: Instant,
    thread: Option<ThreadTime>,
    /// Spent in the seam already: it began before the step did.
    collective: Duration,
}

impl StepClock {
    pub(crate) fn start(meter: &Meter) -> Self {
        Self {
            begin: Instant::now(),
            thread: ThreadTime::now(),
            collective: meter.collective(),
        }
    }

    /// What this replica has worked so far: all but the waits for batches and
    /// for other replicas.
    pub(crate) fn worked(&self, meter: &Meter, waited: Duration) -> Duration {
        let in_seam = meter.collective().saturating_sub(self.collective);
        self.begin.elapsed().saturating_sub(waited + in_seam)
    }

    /// The waits since the end of the step before, and what the step's thread
    /// did in it.
    pub(crate) fn stop(&self, meter: &Meter) -> (Waits, Option<ThreadTime>) {
        let thread = ThreadTime::now().zip(self.thread);
        let thread = thread.map(|(now, then)| now.since(then));
        (meter.take(), thread)
    }
}

/// What a step held and took, over all replicas. Goes through the seam as
/// numbers, together with the losses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Together {
    /// Clips in it.
    pub clips: u64,
    /// Audio in it, without padding.
    pub audio: Samples,
    /// Positions that hold something.
    pub used: u64,
    /// All positions.
    pub padded: u64,
    /// What each replica has worked until it had its gradients, by rank; empty
    /// where there is one.
    pub worked: Vec<Duration>,
}

/// Numbers of [`Together`] that are sums.
const SUMS: usize = 4;

impl Together {
    /// Of the only replica.
    pub(crate) fn alone(facts: &Facts) -> Self {
        Self {
            clips: facts.clips.len() as u64,
            audio: facts.audio,
            used: facts.used,
            padded: facts.padded,
            worked: vec![],
        }
    }

    /// One replica's part; its place among the times is its rank.
    pub(crate) fn part(
        facts: &Facts,
        worked: Duration,
        rank: usize,
        members: usize,
    ) -> impl Iterator<Item = f32> {
        let sums = [
            facts.clips.len() as f32,
            facts.audio.0 as f32,
            facts.used as f32,
            facts.padded as f32,
        ];
        let times = (0..members).map(move |other| match other == rank {
            true => worked.as_secs_f32(),
            false => 0.0,
        });
        sums.into_iter().chain(times)
    }

    /// From the means of all parts.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sums of counts"
    )]
    pub(crate) fn of(means: &[f32], members: usize) -> Self {
        let sum = |index: usize| means.get(index).map_or(0.0, |mean| mean * members as f32);
        let count = |index: usize| sum(index).round() as u64;
        let seconds = |index: usize| Duration::try_from_secs_f32(sum(index)).unwrap_or_default();
        Self {
            clips: count(0),
            audio: Samples(count(1) as usize),
            used: count(2),
            padded: count(3),
            worked: (SUMS..means.len()).map(seconds).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_taken_once() {
        let meter = Meter::default();
        let short = Duration::from_millis(5);
        meter.in_seam(|| std::thread::sleep(short));
        let clock = StepClock::start(&meter);
        meter.in_seam(|| std::thread::sleep(2 * short));
        meter.reading_back(|| std::thread::sleep(short));
        let worked = clock.worked(&meter, Duration::ZERO);
        assert!(
            worked >= short && worked < clock.begin.elapsed() - short,
            "{worked:?}"
        );
        let (waits, _) = clock.stop(&meter);
        assert!(waits.collective >= 3 * short && waits.read_back >= short);
        assert_eq!(waits.syncs, 1);
        assert_eq!(meter.take(), Waits::default());
    }

    #[test]
    fn parts_of_all_replicas_come_together() {
        let facts = |clips: u32, audio| Facts {
            clips: (0..clips).map(myxtts_data::schedule::ClipIndex).collect(),
            audio: Samples(audio),
            used: 10,
            padded: 12,
            ..Facts::default()
        };
        let part = |rank: usize, facts: &Facts, worked: u64| -> Vec<f32> {
            Together::part(facts, Duration::from_millis(worked), rank, 3).collect()
        };
        let parts = [
            part(0, &facts(3, 1000), 250),
            part(1, &facts(4, 2000), 500),
            part(2, &facts(0, 0), 125),
        ];
        let means: Vec<f32> = (0..parts[0].len())
            .map(|index| parts.iter().map(|part| part[index]).sum::<f32>() / 3.0)
            .collect();
        let together = Together::of(&means, 3);
        assert_eq!((together.clips, together.audio), (7, Samples(3000)));
        assert_eq!((together.used, together.padded), (30, 36));
        let worked: Vec<u128> = together.worked.iter().map(Duration::as_millis).collect();
        assert_eq!(worked, [250, 500, 125]);
    }
}
