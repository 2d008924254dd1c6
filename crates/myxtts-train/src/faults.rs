//! Faults that are put in on purpose: what the doctor says of them proves it.
//!
//! Each slows down the real part of the real pipeline, inside what is measured
//! as that part. Nothing of a training sets one; [`Faults::default`] is none.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use myxtts_audio::Slowness;

/// What is to go wrong.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Reading a recording takes so much longer, one at a time: a slow disk.
    pub read: Duration,
    /// Each recording is decoded so many times more than once.
    pub decodes: u32,
    /// The rest of the host stage takes so much longer for each clip, on one
    /// thread or on several at once.
    pub clip: Duration,
    /// Handing a batch to the device takes so much longer.
    pub upload: Duration,
    /// So does each call of the DVAE.
    pub encode: Duration,
    /// In the step itself.
    pub step: StepFaults,
    /// A validation of this length after every so many steps.
    pub pause: Option<(u64, Duration)>,
}

/// What is to go wrong in a step.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepFaults {
    /// The replica of this rank takes so much longer.
    pub straggler: Option<(usize, Duration)>,
    /// All weights are read from the device after each step, so many times.
    pub reads: u32,
}

impl Faults {
    /// Those of loading, for all workers together.
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
    /// Before a replica's pass.
    pub(crate) fn delay(self, rank: usize) {
        if let Some((straggler, delay)) = self.straggler
            && straggler == rank
        {
            sleep(delay);
        }
    }
}
