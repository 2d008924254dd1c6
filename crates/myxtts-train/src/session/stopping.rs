//! Whoever asks a run to stop is answered at once.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use myxtts_run::run_folder::RunLog;
use myxtts_run::signals::{LOOK_EVERY, StopRequest};

/// A thread that says in the log when the run is asked to stop: what is under
/// way may take a while to end, and silence looks like not having heard.
pub(crate) struct Answering {
    /// Nothing is sent: dropped, it ends the thread.
    listening: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Answering {
    /// Until it is dropped. Without a thread to spare nobody answers, and the
    /// run stops all the same.
    pub(crate) fn start<W: Write + Send + 'static>(
        stop: &StopRequest,
        log: &Arc<RunLog<W>>,
    ) -> Self {
        let (listening, is_over) = channel();
        let (stop, log) = (stop.clone(), Arc::clone(log));
        let thread = thread::Builder::new().name("stop".to_owned());
        let thread = thread.spawn(move || {
            let mut is_running = true;
            // Looked at once more at the end: a run that stopped sooner than it
            // was looked at has been asked, too.
            while is_running {
                is_running = is_over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout);
                if let Some(signal) = stop.asked() {
                    let line = format!(
                        "{}: stopping after the last whole step, with a checkpoint; a second \
                         signal ends at once, without one",
                        signal.name()
                    );
                    // A terminal that is gone has nobody to tell.
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

impl Drop for Answering {
    fn drop(&mut self) {
        drop(self.listening.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
