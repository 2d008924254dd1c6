//! How much time the scheduler gave a thread.

use std::time::Duration;

/// What a thread has done, as the scheduler counts it: up to its last tick, so good
/// to a few milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// The time on a core, in the thread itself or in the system.
    pub ran: Duration,
    /// The time in which it could have run and had no core.
    pub delayed: Duration,
}

impl ThreadTime {
    /// Returns what the calling thread has done so far.
    #[cfg(target_os = "linux")]
    pub fn now() -> Option<Self> {
        use std::fs::File;
        use std::os::unix::fs::FileExt;

        // The file is opened once: its text is made each time it is read.
        thread_local! {
            static SCHEDSTAT: Option<File> = File::open("/proc/thread-self/schedstat").ok();
        }
        let mut text = [0; 64];
        let length = SCHEDSTAT.with(|file| file.as_ref()?.read_at(&mut text, 0).ok())?;
        Self::parse(std::str::from_utf8(text.get(..length)?).ok()?)
    }

    /// Returns `None`: only Linux reports it.
    #[cfg(not(target_os = "linux"))]
    pub fn now() -> Option<Self> {
        None
    }

    /// Reads a `schedstat`: nanoseconds on a core, nanoseconds waiting for one, and
    /// a count of time slices.
    pub fn parse(schedstat: &str) -> Option<Self> {
        let mut numbers = schedstat.split_whitespace().map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok().map(Duration::from_nanos);
        Some(Self {
            ran: next()?,
            delayed: next()?,
        })
    }

    /// Returns what was done between `then` and this.
    pub fn since(self, then: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(then.ran),
            delayed: self.delayed.saturating_sub(then.delayed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadTime;

    #[test]
    fn a_line_without_both_times_is_not_read() {
        assert!(ThreadTime::parse("1 2 3\n").is_some());
        assert_eq!(ThreadTime::parse("1"), None);
        assert_eq!(ThreadTime::parse("1 x"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_is_counted_and_sleep_is_not() {
        use std::time::{Duration, Instant};

        // Not every kernel keeps the count.
        let Some(begin) = ThreadTime::now() else {
            return;
        };
        let ran = || ThreadTime::now().unwrap().since(begin).ran;
        std::thread::sleep(Duration::from_millis(60));
        let slept = ran();
        let since = Instant::now();
        let mut number = 1_u64;
        while ran() < slept + Duration::from_millis(30) {
            number = std::hint::black_box(number.wrapping_mul(3));
            assert!(since.elapsed() < Duration::from_secs(60));
        }
        assert!(slept < Duration::from_millis(30), "{slept:?}");
    }
}
