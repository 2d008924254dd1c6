//! CPU time of this process, all threads, those that ended included.

use std::time::Duration;

/// Ticks in a second that the kernel counts by towards programs; a part of
/// its interface, and 100 on every Linux Rust has a target for.
const TICKS_PER_SECOND: u64 = 100;

/// CPU time since a moment; only Linux tells it without a library.
pub(super) struct CpuClock(Option<Duration>);

impl CpuClock {
    pub(super) fn start() -> Self {
        Self(used())
    }

    /// CPU time since the start, in percent of all cores over `wall`.
    pub(super) fn percent_of(&self, wall: Duration) -> Option<f64> {
        let spent = used()?.saturating_sub(self.0?).as_secs_f64();
        let cores = std::thread::available_parallelism().ok()?.get();
        Some(100.0 * spent / wall.as_secs_f64() / cores as f64)
    }
}

fn used() -> Option<Duration> {
    parse(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// The program's name comes second, in brackets, and may hold anything.
fn parse(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis(
        (user + system) * 1000 / TICKS_PER_SECOND,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_whatever_the_name() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 7 7 20 0 1 0 100";
        assert_eq!(parse(stat), Some(Duration::from_secs(3)));
        assert_eq!(parse("42 (a) S 1"), None);
    }
}
