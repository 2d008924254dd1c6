//! A signal ends the command within a second, whatever it is computing, and leaves no partial
//! file.
//!
//! The engine cannot be interrupted, and one call of it may take seconds. So a separate thread
//! waits for the signal and ends the process; it waits only for a file that is being written.

use std::thread;
use std::time::Duration;

use myxtts::speech::Undisturbed;

use crate::commands::stop_request;
use crate::output::{Failure, Output};

/// How often the thread looks for a signal: short against the second that people wait.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Catches SIGINT, SIGTERM and SIGHUP from now on. What is written through the result is written
/// while no signal can end the process.
pub(super) fn undisturbed() -> Result<Undisturbed, Failure> {
    let stop = stop_request()?;
    let undisturbed = Undisturbed::default();
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
