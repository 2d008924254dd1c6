//! Where a replica's step goes apart from computing: into waiting for its device and for other
//! replicas.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use myxtts_audio::units::Samples;
use myxtts_base::process::ThreadTime;

use crate::feed::BatchStats;

/// Adds up the waits of one replica, wherever in a step they occur.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    collective_ns: AtomicU64,
    read_back_ns: AtomicU64,
    syncs: AtomicU64,
}

impl Meter {
    /// Runs `work`, counting its time as an exchange between replicas.
    pub(crate) fn in_all_reduce<R>(&self, work: impl FnOnce() -> R) -> R {
        timed(&self.collective_ns, work)
    }

    /// Runs `read`, which reads from the device and so waits for all that was queued before.
    pub(crate) fn reading_back<R>(&self, read: impl FnOnce() -> R) -> R {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        timed(&self.read_back_ns, read)
    }

    /// Runs `read` for numbers of an earlier step, while a later one is queued. It does not count
    /// as a sync: the device has work meanwhile, and does not wait for the host.
    pub(crate) fn reading_late<R>(&self, read: impl FnOnce() -> R) -> R {
        timed(&self.read_back_ns, read)
    }

    /// Runs `read` for an exchange between replicas. It does not count as a sync: such reads
    /// happen however often a step looks at its numbers.
    pub(crate) fn reading_for_all_reduce<R>(&self, read: impl FnOnce() -> R) -> R {
        timed(&self.read_back_ns, read)
    }

    fn collective(&self) -> Duration {
        Duration::from_nanos(self.collective_ns.load(Ordering::Relaxed))
    }

    /// Returns the waits since the last call, and starts again from zero.
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

/// What a replica waited for in a step, apart from batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Time inside the exchange between replicas.
    pub collective: Duration,
    /// Time waiting for the device, to read something from it.
    pub read_back: Duration,
    /// How often it waited for the device while that had nothing else to do.
    pub syncs: u64,
}

/// Times one step of one replica.
#[derive(Debug)]
pub(crate) struct StepClock {
    begin: Instant,
    thread: Option<ThreadTime>,
    /// Time in the exchange before this step began.
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

    /// Returns how long this replica has worked so far: everything but the waits for batches and
    /// for other replicas.
    pub(crate) fn worked(&self, meter: &Meter, waited: Duration) -> Duration {
        let in_all_reduce = meter.collective().saturating_sub(self.collective);
        self.begin.elapsed().saturating_sub(waited + in_all_reduce)
    }

    /// Returns the waits since the end of the last step, and what the step's thread did.
    pub(crate) fn stop(&self, meter: &Meter) -> (Waits, Option<ThreadTime>) {
        let thread = ThreadTime::now().zip(self.thread);
        let thread = thread.map(|(now, then)| now.since(then));
        (meter.take(), thread)
    }
}

/// What a step held and took, over all replicas. It travels between replicas as numbers, together
/// with the losses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplicaTotals {
    /// Clips in the step.
    pub clips: u64,
    /// Audio in the step, without padding.
    pub audio: Samples,
    /// Positions that are not padding.
    pub used: u64,
    /// All positions, padding included.
    pub padded: u64,
    /// How long each replica worked until it had its gradients, by rank; empty if there is only
    /// one.
    pub worked: Vec<Duration>,
}

/// How many numbers of [`ReplicaTotals`] are sums.
const SUMS: usize = 4;

impl ReplicaTotals {
    /// Makes the totals of a training with one replica.
    pub(crate) fn alone(stats: &BatchStats) -> Self {
        Self {
            clips: stats.clips.len() as u64,
            audio: stats.audio,
            used: stats.used,
            padded: stats.padded,
            worked: vec![],
        }
    }

    /// Returns one replica's part; its time stands at the place of its rank.
    pub(crate) fn contribution(
        stats: &BatchStats,
        worked: Duration,
        rank: usize,
        world_size: usize,
    ) -> impl Iterator<Item = f32> {
        let sums = [
            stats.clips.len() as f32,
            stats.audio.0 as f32,
            stats.used as f32,
            stats.padded as f32,
        ];
        let times = (0..world_size).map(move |other| match other == rank {
            true => worked.as_secs_f32(),
            false => 0.0,
        });
        sums.into_iter().chain(times)
    }

    /// Makes the totals from the means of all replicas' parts.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sums of counts"
    )]
    pub(crate) fn of(means: &[f32], world_size: usize) -> Self {
        let sum = |index: usize| {
            means
                .get(index)
                .map_or(0.0, |mean| mean * world_size as f32)
        };
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
        meter.in_all_reduce(|| std::thread::sleep(short));
        let clock = StepClock::start(&meter);
        meter.in_all_reduce(|| std::thread::sleep(2 * short));
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
        let stats = |clips: u32, audio| BatchStats {
            clips: (0..clips).map(myxtts_data::schedule::ClipIndex).collect(),
            audio: Samples(audio),
            used: 10,
            padded: 12,
            ..BatchStats::default()
        };
        let part = |rank: usize, stats: &BatchStats, worked: u64| -> Vec<f32> {
            ReplicaTotals::contribution(stats, Duration::from_millis(worked), rank, 3).collect()
        };
        let parts = [
            part(0, &stats(3, 1000), 250),
            part(1, &stats(4, 2000), 500),
            part(2, &stats(0, 0), 125),
        ];
        let means: Vec<f32> = (0..parts[0].len())
            .map(|index| parts.iter().map(|part| part[index]).sum::<f32>() / 3.0)
            .collect();
        let totals = ReplicaTotals::of(&means, 3);
        assert_eq!((totals.clips, totals.audio), (7, Samples(3000)));
        assert_eq!((totals.used, totals.padded), (30, 36));
        let worked: Vec<u128> = totals.worked.iter().map(Duration::as_millis).collect();
        assert_eq!(worked, [250, 500, 125]);
    }
}
