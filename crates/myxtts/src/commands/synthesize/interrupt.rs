//! A signal ends the command within a second, whatever it is computing, and leaves no partial
//! file.
//!
//! The engine cannot be interrupted, and one call of it may take seconds. So a separate thread
//! waits for the signal and ends the process; it waits only for a file that is being written.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use myxtts_base::report;
use myxtts_run::signals::StopRequest;

use crate::output::{Failure, Output};

/// How often the thread looks for a signal: short against the second that people wait.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Lets files be written while no signal can end the process.
#[derive(Clone)]
pub(super) struct Undisturbed {
    writing: Arc<Mutex<()>>,
}

impl Undisturbed {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on.
    pub(super) fn install() -> Result<Self, Failure> {
        let stop = StopRequest::install()
            .map_err(|why| Failure::Job(report!("signals cannot be caught: {why}")))?;
        let writing = Arc::new(Mutex::new(()));
        let undisturbed = Self { writing };
        let watched = undisturbed.clone();
        thread::spawn(move || {
            let signal = loop {
                match stop.asked() {
                    Some(signal) => break signal,
                    None => thread::sleep(LOOK_EVERY),
                }
            };
            watched.write(|| {
                let words = format!("stopped by {}; no partial file was left", signal.name());
                Output::new(false).log(words);
                std::process::exit(signal.exit_code())
            })
        });
        Ok(undisturbed)
    }

    /// Writes a file from beginning to end.
    pub(super) fn write<T>(&self, write: impl FnOnce() -> T) -> T {
        // A writer that panicked has already ended the process.
        let _held = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        write()
    }
}
