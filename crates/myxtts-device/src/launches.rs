//! Counting kernel launches, and timing them.
//!
//! The engine reports every launch, on all devices together. Times come from the
//! device's own timestamps. Reading one waits for its kernel, so nothing overlaps
//! a timed launch, and timed steps are slower than others. The CPU launches nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cubecl_runtime::config::{TypeNameFormatLevel, type_name_format};
use cubecl_runtime::logging::{LaunchObservation, LaunchObserver, TimingMethod, TimingRequest};

/// How often one kernel was launched, and how long it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelUse {
    /// The kernel's name, without its parameters.
    pub kernel: String,
    /// How often it was launched.
    pub launches: u64,
    /// How many of the launches the device itself timed.
    pub timed: u64,
    /// Time that those took together.
    pub time: Duration,
}

/// Observes launches. Use one at a time: the engine has one observer.
pub struct Launches {
    counts: Arc<Counts>,
    _observation: LaunchObservation,
}

impl fmt::Debug for Launches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launches").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Counts {
    is_timed: bool,
    is_counting: AtomicBool,
    kernels: Mutex<BTreeMap<&'static str, Sums>>,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    launches: u64,
    timed: u64,
    time: Duration,
}

impl Launches {
    /// Prepares to count from [`begin`](Self::begin) on, and with `is_timed` also
    /// to time.
    pub fn watch(is_timed: bool) -> Self {
        let counts = Arc::new(Counts {
            is_timed,
            ..Counts::default()
        });
        let observer: Arc<dyn LaunchObserver> = Arc::<Counts>::clone(&counts);
        Self {
            counts,
            _observation: LaunchObservation::new(observer),
        }
    }

    /// Starts counting; what was launched before was the warm-up.
    pub fn begin(&self) {
        self.counts.is_counting.store(true, Ordering::Relaxed);
    }

    /// Stops counting; what is launched from now on comes after the measurement.
    pub fn end(&self) {
        self.counts.is_counting.store(false, Ordering::Relaxed);
    }

    /// Returns every kernel, the one with the most time or launches first.
    pub fn finish(self) -> Vec<KernelUse> {
        self.end();
        let kernels = self.counts.locked();
        // Kernels of one name differ in types and sizes; people know the name.
        let mut named: BTreeMap<String, Sums> = BTreeMap::new();
        for (kernel, sums) in kernels.iter() {
            let name = type_name_format(kernel, TypeNameFormatLevel::Short);
            let all = named.entry(name).or_default();
            all.launches += sums.launches;
            all.timed += sums.timed;
            all.time += sums.time;
        }
        drop(kernels);
        let kernels = named.into_iter().map(|(kernel, sums)| KernelUse {
            kernel,
            launches: sums.launches,
            timed: sums.timed,
            time: sums.time,
        });
        let mut kernels: Vec<KernelUse> = kernels.collect();
        kernels.sort_by_key(|kernel| std::cmp::Reverse((kernel.time, kernel.launches)));
        kernels
    }
}

impl Counts {
    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, Sums>> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LaunchObserver for Counts {
    fn launched(&self, kernel: &'static str) {
        if self.is_counting.load(Ordering::Relaxed) {
            self.locked().entry(kernel).or_default().launches += 1;
        }
    }

    fn timing(&self) -> TimingRequest {
        match self.is_timed {
            true => TimingRequest::Resolved,
            false => TimingRequest::None,
        }
    }

    fn timed(&self, kernel: &'static str, duration: Duration, method: TimingMethod) {
        // A clock of the host would also count the way to the device.
        if self.is_counting.load(Ordering::Relaxed) && method == TimingMethod::Device {
            let mut kernels = self.locked();
            let sums = kernels.entry(kernel).or_default();
            sums.timed += 1;
            sums.time += duration;
        }
    }
}
