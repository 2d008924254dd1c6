//! Kernels as they are launched: how often each is, and how long it takes.
//!
//! The engine tells of every launch, on all devices together. Times come from
//! the device's own timestamps; reading one waits for its kernel, so a launch
//! that is timed is a launch that nothing overlaps, and the steps around it are
//! slower than others. The CPU launches nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cubecl_runtime::config::{TypeNameFormatLevel, type_name_format};
use cubecl_runtime::logging::{LaunchObservation, LaunchObserver, TimingMethod, TimingRequest};

/// What one kernel did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelUse {
    /// Its name, without what it is parametrised with.
    pub kernel: String,
    /// Launches.
    pub launches: u64,
    /// Of these, timed by the device itself.
    pub timed: u64,
    /// What those took together.
    pub time: Duration,
}

/// Looks at launches. One at a time: the engine tells one observer.
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
    /// Counts from [`begin`](Self::begin) on; with `is_timed`, times, too.
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

    /// What was launched so far was the warm-up.
    pub fn begin(&self) {
        self.counts.is_counting.store(true, Ordering::Relaxed);
    }

    /// What is launched from now on comes after the measurement.
    pub fn end(&self) {
        self.counts.is_counting.store(false, Ordering::Relaxed);
    }

    /// Every kernel, that with the most time or launches first.
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
        // A clock of the host would count the way to the device, too.
        if self.is_counting.load(Ordering::Relaxed) && method == TimingMethod::Device {
            let mut kernels = self.locked();
            let sums = kernels.entry(kernel).or_default();
            sums.timed += 1;
            sums.time += duration;
        }
    }
}
