//! Samples that another thread renders.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use myxtts_run::signals::{LOOK_EVERY, StopRequest};

use crate::error::{TrainError, unless_stopped};
use crate::session::evaluate::Rendering;
use crate::session::samples::SampleSet;

/// A rendering under way. Once dropped it is left to itself: it ends at its next clip if the run
/// was asked to stop, and with the process in any case.
pub(super) struct InProgress {
    sample_set: Receiver<Result<SampleSet, TrainError>>,
    thread: thread::JoinHandle<()>,
}

impl InProgress {
    /// Starts a thread that renders.
    pub(super) fn start(rendering: Rendering, stop: &StopRequest) -> Result<Self, TrainError> {
        let (done, sample_set) = channel();
        let stop = stop.clone();
        let thread = thread::Builder::new().name("samples".to_owned());
        let thread = thread.spawn(move || {
            // Nobody may be waiting for it any more.
            let _ = done.send(rendering(&stop));
        });
        Ok(Self {
            sample_set,
            thread: thread.map_err(TrainError::failed)?,
        })
    }

    /// Whether the thread has ended.
    pub(super) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for the samples; [`TrainError::Stopped`] as soon as the run is asked to stop, even
    /// in the middle of a sentence.
    pub(super) fn wait(self, stop: &StopRequest) -> Result<SampleSet, TrainError> {
        loop {
            match self.sample_set.recv_timeout(LOOK_EVERY) {
                Ok(sample_set) => return sample_set,
                Err(RecvTimeoutError::Timeout) => unless_stopped(stop)?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(TrainError::failed(
                        "the rendering of samples panicked; this is a defect of the program",
                    ));
                }
            }
        }
    }
}
