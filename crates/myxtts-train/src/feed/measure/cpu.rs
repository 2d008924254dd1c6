//! CPU time of this process, over all threads, including those that have ended.

use std::time::Duration;

use myxtts_base::process::cpu_time;

/// CPU time since a moment; only Linux reports it without a library.
pub(super) struct CpuClock(Option<Duration>);

impl CpuClock {
    pub(super) fn start() -> Self {
        Self(cpu_time())
    }

    /// Returns the CPU time since the start, in percent of all cores over `wall`.
    pub(super) fn percent_of(&self, wall: Duration) -> Option<f64> {
        let spent = cpu_time()?.saturating_sub(self.0?).as_secs_f64();
        let cores = std::thread::available_parallelism().ok()?.get();
        Some(100.0 * spent / wall.as_secs_f64() / cores as f64)
    }
}
