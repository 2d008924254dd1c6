//! A watchdog over a measurement in this process.
//!
//! A driver that hangs does so inside a call that never returns, so nothing but the end of the
//! process ends it. What there is to say is said first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use myxtts_train::probe::Listener;

use super::Ended;
use super::progress::Progress;
use super::watched::LOOK_EVERY;

/// Watches a measurement until it is dropped.
pub(crate) struct Watchdog {
    progress: Progress,
    is_over: Arc<AtomicBool>,
}

impl Watchdog {
    /// Calls `bark` if the measurement has reported nothing new for so many seconds.
    ///
    /// # Errors
    /// Returns an error if no thread could be started.
    pub(crate) fn start(
        seconds: u32,
        bark: impl FnOnce(Ended) + Send + 'static,
    ) -> std::io::Result<Self> {
        let patience = Duration::from_secs(u64::from(seconds));
        let progress = Progress::new();
        let is_over = Arc::new(AtomicBool::new(false));
        let (watched, ends) = (progress.clone(), Arc::clone(&is_over));
        std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    if let Some(at) = watched.stuck(patience) {
                        return bark(Ended::Hung { at, seconds });
                    }
                    std::thread::sleep(LOOK_EVERY);
                }
            })?;
        Ok(Self { progress, is_over })
    }

    /// Returns the listener that keeps the watchdog quiet.
    pub(crate) fn listener(&self) -> Listener {
        let progress = self.progress.clone();
        Listener::new(move |at| progress.note(at))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, RecvTimeoutError};

    use super::*;

    #[test]
    fn it_barks_at_silence_and_names_the_place() {
        let (bark, barks) = mpsc::channel();
        let dog = Watchdog::start(1, move |ended| bark.send(ended).unwrap()).unwrap();
        dog.listener().tell("step 7");
        let ended = barks.recv_timeout(Duration::from_secs(300)).unwrap();
        let at = "step 7".to_owned();
        assert_eq!(ended, Ended::Hung { at, seconds: 1 });
    }

    #[test]
    fn it_is_quiet_once_the_measurement_is_over() {
        let (bark, barks) = mpsc::channel();
        drop(Watchdog::start(3600, move |ended| bark.send(ended).unwrap()).unwrap());
        // The thread ends, and its end of the channel with it.
        let silence = barks.recv_timeout(Duration::from_secs(300));
        assert_eq!(silence, Err(RecvTimeoutError::Disconnected));
    }
}
