//! The last sign of progress of a measurement, wherever it runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where a measurement is before it has said so.
pub(super) const STARTING: &str = "starting";

/// Where a measurement is, and since when. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Progress(Arc<Mutex<(String, Instant)>>);

impl Progress {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new((STARTING.to_owned(), Instant::now()))))
    }

    /// Notes where the measurement is, which starts the clock again.
    pub(super) fn note(&self, at: &str) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *last = (at.to_owned(), Instant::now());
    }

    /// Returns where the measurement is if it has been there for `patience` or longer.
    pub(super) fn stuck(&self, patience: Duration) -> Option<String> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (last.1.elapsed() >= patience).then(|| last.0.clone())
    }
}
