//! Wall time and CPU time of the thread that asks.
//!
//! On a shared machine wall time measures the neighbours too. Where the system does
//! not report CPU time there is wall time only, and reports say so.

use std::time::{Duration, Instant};

use myxtts_base::process::ThreadTime;

/// The moment when a measurement begins.
pub(super) struct Clock {
    wall: Instant,
    cpu: Option<Duration>,
}

/// The time since a measurement began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elapsed {
    pub(super) wall: Duration,
    /// Counted up to the scheduler's last tick, so good to a few milliseconds.
    pub(super) cpu: Option<Duration>,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            cpu: cpu_time(),
            wall: Instant::now(),
        }
    }

    pub(super) fn elapsed(&self) -> Elapsed {
        Elapsed {
            wall: self.wall.elapsed(),
            cpu: cpu_time()
                .zip(self.cpu)
                .map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

fn cpu_time() -> Option<Duration> {
    ThreadTime::now().map(|thread| thread.ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_costs_no_cpu_and_working_does() {
        let clock = Clock::start();
        std::thread::sleep(Duration::from_millis(50));
        let asleep = clock.elapsed();
        assert!(asleep.wall >= Duration::from_millis(50));
        let clock = Clock::start();
        let mut state = 1_u64;
        while clock.wall.elapsed() < Duration::from_millis(100) {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005) | 1);
        }
        if let (Some(asleep), Some(awake)) = (asleep.cpu, clock.elapsed().cpu) {
            assert!(asleep < awake, "{asleep:?} {awake:?}");
        }
    }
}
