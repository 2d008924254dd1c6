//! Wall time, and CPU time of a thread or of the whole process.
//!
//! On a shared machine wall time measures the neighbours too. Where the system does
//! not report CPU time there is wall time only, and reports say so.

use std::time::{Duration, Instant};

use myxtts_base::process::{self, ThreadTime};

/// The moment when a measurement begins.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    whose: Whose,
    cpu: Option<Duration>,
    wall: Instant,
}

/// The threads whose CPU time is counted.
#[derive(Clone, Copy, Debug)]
enum Whose {
    Thread,
    Process,
}

/// The time since a measurement began.
#[derive(Clone, Copy, Debug)]
pub struct Elapsed {
    /// The time that has passed, neighbours included.
    pub wall: Duration,
    /// The time on the cores, good to a few milliseconds: it is counted up to the scheduler's last
    /// tick.
    pub cpu: Option<Duration>,
}

impl Clock {
    /// Starts a clock that counts the CPU time of the calling thread.
    pub fn of_thread() -> Self {
        Self::of(Whose::Thread)
    }

    /// Starts a clock that counts the CPU time of all threads, those that end meanwhile included.
    pub fn of_process() -> Self {
        Self::of(Whose::Process)
    }

    fn of(whose: Whose) -> Self {
        let cpu = whose.cpu_time();
        Self {
            whose,
            cpu,
            wall: Instant::now(),
        }
    }

    /// Returns the wall time since the start, without a look at the CPU time.
    pub fn wall(&self) -> Duration {
        self.wall.elapsed()
    }

    /// Returns the time since the start. A clock of a thread is asked by that thread.
    pub(crate) fn elapsed(&self) -> Elapsed {
        let wall = self.wall.elapsed();
        let cpu = self.whose.cpu_time().zip(self.cpu);
        Elapsed {
            wall,
            cpu: cpu.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

impl Elapsed {
    /// Returns the CPU time in percent of all cores.
    pub(crate) fn percent_of_cores(&self) -> Option<f64> {
        let cores = std::thread::available_parallelism().ok()?.get();
        Some(100.0 * self.cpu?.as_secs_f64() / self.wall.as_secs_f64() / cores as f64)
    }
}

impl Whose {
    fn cpu_time(self) -> Option<Duration> {
        match self {
            Self::Thread => ThreadTime::now().map(|thread| thread.ran),
            Self::Process => process::cpu_time(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_costs_no_cpu_and_working_does() {
        let clock = Clock::of_thread();
        std::thread::sleep(Duration::from_millis(50));
        let asleep = clock.elapsed();
        assert!(asleep.wall >= Duration::from_millis(50));
        let clock = Clock::of_thread();
        let mut state = 1_u64;
        while clock.wall() < Duration::from_millis(100) {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005) | 1);
        }
        if let (Some(asleep), Some(awake)) = (asleep.cpu, clock.elapsed().cpu) {
            assert!(asleep < awake, "{asleep:?} {awake:?}");
        }
    }

    #[test]
    fn all_cores_are_a_hundred_percent() {
        let cores = std::thread::available_parallelism().unwrap().get();
        let elapsed = Elapsed {
            wall: Duration::from_secs(2),
            cpu: Some(Duration::from_secs(cores as u64)),
        };
        assert!((elapsed.percent_of_cores().unwrap() - 50.0).abs() < 1e-9);
    }
}
