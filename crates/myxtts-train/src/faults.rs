//! Faults that are injected on purpose, to prove that the doctor names them.
//!
//! Each slows down the real part of the real pipeline, inside what is measured as that part. No
//! training sets one; [`Faults::default`] is none.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use myxtts_audio::Slowness;

/// The faults to inject into a run.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Reading a recording takes this much longer, one at a time, as on a slow disk.
    pub read: Duration,
    /// Each recording is decoded this many extra times.
    pub decodes: u32,
    /// The rest of the host stage takes this much longer for each clip, on one thread or on
    /// several at once.
    pub clip: Duration,
    /// Handing a batch to the device takes this much longer.
    pub upload: Duration,
    /// Each call of the DVAE takes this much longer.
    pub encode: Duration,
    /// Faults in the step itself.
    pub step: StepFaults,
    /// A validation of this length after every so many steps.
    pub pause: Option<(u64, Duration)>,
}

/// The faults to inject into a step.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepFaults {
    /// The replica of this rank takes this much longer for a step.
    pub straggler: Option<(usize, Duration)>,
    /// All weights are read from the device after each step, this many times.
    pub reads: u32,
}

impl Faults {
    /// Returns the faults of loading, shared by all workers.
    pub(crate) fn slowness(&self) -> Slowness {
        let disk = Arc::new(Mutex::new(()));
        let read = self.read;
        Slowness {
            read: (!read.is_zero()).then(|| -> Arc<dyn Fn() + Send + Sync> {
                Arc::new(move || {
                    let _turn = disk.lock().unwrap_or_else(PoisonError::into_inner);
                    sleep(read);
                })
            }),
            decodes: self.decodes,
        }
    }
}

impl StepFaults {
    /// Delays the pass of the replica that is the straggler.
    pub(crate) fn delay(self, rank: usize) {
        if let Some((straggler, delay)) = self.straggler
            && straggler == rank
        {
            sleep(delay);
        }
    }
}
