//! Stopping: the first error wins, and every thread learns of it.

use std::fmt;

use myxtts_base::report;
use serde::Serialize;

use crate::sync::{Arc, Mutex, lock};

/// A part of the pipeline, as the ledger and errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PipelineStage {
    /// Decoding, features, tokens and padding, on host threads.
    Host,
    /// Upload, mels and codes, on the data device.
    Device,
    /// The way from the data device to the model device.
    Hop,
    /// The train step, on the model device.
    Model,
}

impl fmt::Display for PipelineStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Device => "device",
            Self::Hop => "hop",
            Self::Model => "model",
        })
    }
}

/// Why the pipeline stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A stage returned an error.
    #[error("the {stage} stage failed at step {step}: {why}")]
    Failed {
        /// The stage that failed.
        stage: PipelineStage,
        /// The step whose batch it was working on.
        step: u64,
        /// The error the stage returned.
        why: String,
    },
    /// A stage could not begin.
    #[error("the {stage} stage could not start: {why}")]
    NotStarted {
        /// The stage that did not start.
        stage: PipelineStage,
        /// The error the stage returned.
        why: String,
    },
    /// A thread of the pipeline panicked, which is a defect in this program.
    #[error(
        "{}",
        report!(
            "the {stage} stage panicked: {why}";
            why: "a bug in this program";
            fix: "please report it with this message"
        )
    )]
    Panicked {
        /// The stage that the thread belongs to.
        stage: PipelineStage,
        /// The message of the panic.
        why: String,
    },
    /// Somebody asked the run to end.
    #[error("stopped on request")]
    Requested,
}

/// The switch that ends a run. Clones are the same switch.
#[derive(Clone)]
pub struct Stop(Arc<Mutex<Inner>>);

struct Inner {
    first: Option<Failure>,
    stopped: bool,
    /// What to close so that no thread keeps waiting.
    closers: Vec<Box<dyn Fn() + Send + Sync>>,
}

impl Stop {
    /// Makes a switch that nobody has used.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Inner {
            first: None,
            stopped: false,
            closers: vec![],
        })))
    }

    /// Adds something to close when the run ends. Call this while the pipeline is
    /// put together, before a thread can fail.
    pub(crate) fn on_stop(&self, closer: impl Fn() + Send + Sync + 'static) {
        lock(&self.0).closers.push(Box::new(closer));
    }

    /// Ends the run. Only the first failure is kept.
    pub fn fail(&self, failure: Failure) {
        let mut inner = lock(&self.0);
        inner.stopped = true;
        inner.first.get_or_insert(failure);
        let closers = std::mem::take(&mut inner.closers);
        // Outside the lock, because closing drops batches, and their owners may ask.
        drop(inner);
        for close in closers {
            close();
        }
    }

    /// Returns whether the run is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        lock(&self.0).stopped
    }

    /// Returns the first failure, if there was one.
    pub(crate) fn first(&self) -> Option<Failure> {
        lock(&self.0).first.clone()
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.first()).finish()
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_words(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
