//! Answers a request to stop at once.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use myxtts_run::run_folder::RunLog;
use myxtts_run::signals::{LOOK_EVERY, StopRequest};

/// A thread that reports in the log when the run is asked to stop: what is under way may take a
/// while to end, and silence would look as if the request was not noticed.
pub(crate) struct StopNotice {
    /// Nothing is sent: dropping the sender ends the thread.
    listening: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StopNotice {
    /// Starts the thread, which ends when this is dropped. If no thread can be started nothing is
    /// reported, and the run stops all the same.
    pub(crate) fn start(stop: &StopRequest, log: &Arc<RunLog>) -> Self {
        let (listening, is_over) = channel();
        let (stop, log) = (stop.clone(), Arc::clone(log));
        let thread = thread::Builder::new().name("stop".to_owned());
        let thread = thread.spawn(move || {
            let mut is_running = true;
            // It looks once more at the end, for a run that stopped before the next look.
            while is_running {
                is_running = is_over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout);
                if let Some(signal) = stop.asked() {
                    let line = format!(
                        "{}: stopping after the last whole step, with a checkpoint; a second \
                         signal ends at once, without one",
                        signal.name()
                    );
                    // If the terminal is gone, nobody is there to read this.
                    let _ = log.line(&line);
                    return;
                }
            }
        });
        Self {
            listening: Some(listening),
            thread: thread.ok(),
        }
    }
}

impl Drop for StopNotice {
    fn drop(&mut self) {
        drop(self.listening.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
