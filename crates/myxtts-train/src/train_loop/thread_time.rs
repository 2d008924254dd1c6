//! What the scheduler gave a thread.

use std::time::Duration;

/// What the calling thread has done so far, as the scheduler counts it: up to its
/// last tick, so good to a few milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Time on a core, in itself or in the system.
    pub ran: Duration,
    /// Time in which it could have run and had no core.
    pub delayed: Duration,
}

impl ThreadTime {
    /// Until now; `None` where the system does not tell.
    #[cfg(target_os = "linux")]
    pub(crate) fn now() -> Option<Self> {
        use std::fs::File;
        use std::os::unix::fs::FileExt;

        // Opened once: what the file says is made when it is read.
        thread_local! {
            static SCHEDSTAT: Option<File> = File::open("/proc/thread-self/schedstat").ok();
        }
        let mut text = [0; 64];
        let length = SCHEDSTAT.with(|file| file.as_ref()?.read_at(&mut text, 0).ok())?;
        let words = std::str::from_utf8(text.get(..length)?).ok()?;
        let mut numbers = words.split_whitespace().map(|word| word.parse().ok());
        let mut next = || numbers.next().flatten().map(Duration::from_nanos);
        Some(Self {
            ran: next()?,
            delayed: next()?,
        })
    }

    /// Linux tells.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn now() -> Option<Self> {
        None
    }

    /// From `then` until this.
    pub(crate) fn since(self, then: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(then.ran),
            delayed: self.delayed.saturating_sub(then.delayed),
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::time::{Duration, Instant};

    use super::ThreadTime;

    #[test]
    fn work_is_counted_and_sleep_is_not() {
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
