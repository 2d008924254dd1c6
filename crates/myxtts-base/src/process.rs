//! What the system reports about this process: its memory and its time on the cores.
//!
//! The standard library has neither, so Linux is read from its own files. Elsewhere
//! everything here is `None`, and whoever asks reports it as unavailable.

mod thread_time;

use std::time::Duration;

pub use thread_time::ThreadTime;

/// The ticks in a second that the kernel counts by towards programs: a part of
/// its interface, and 100 on every Linux that Rust has a target for.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the CPU time of all threads so far, those that ended included.
pub fn cpu_time() -> Option<Duration> {
    parse_stat(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// Returns the bytes of memory that this process holds.
pub fn resident_memory() -> Option<u64> {
    status("VmRSS:")
}

/// Returns the most bytes of memory that this process has held.
pub fn peak_memory() -> Option<u64> {
    status("VmHWM:")
}

/// Begins the count of [`peak_memory`] anew. Where that cannot be asked for, an
/// earlier and larger case shows in the figure.
pub fn forget_peak() {
    // "5" resets the mark.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn status(field: &str) -> Option<u64> {
    parse_status(&std::fs::read_to_string("/proc/self/status").ok()?, field)
}

/// The system counts in units of 1,024 bytes, which it calls kB.
fn parse_status(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Reads the times from a `stat` file. The program's name comes second, in brackets, and may hold
/// anything.
fn parse_stat(stat: &str) -> Option<Duration> {
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
        assert_eq!(parse_stat(stat), Some(Duration::from_secs(3)));
        assert_eq!(parse_stat("42 (a) S 1"), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let status = "Name:\tVmHWM:\nVmHWM:\t    2048 kB\nVmRSS:\t     512 kB\n";
        assert_eq!(parse_status(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(parse_status(status, "VmRSS:"), Some(1 << 19));
        assert_eq!(parse_status(status, "VmSwap:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_reports_all_of_it() {
        let (held, most) = (resident_memory().unwrap(), peak_memory().unwrap());
        assert!(held > 0 && most > 0, "{held} {most}");
        assert!(cpu_time().is_some());
    }
}
