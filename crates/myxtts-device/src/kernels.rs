//! Kernels that a GPU launches for the first time after the warm-up.
//!
//! The engine compiles and tunes a kernel when it is first launched, which takes
//! longer than many steps. It can collect what is launched, on all devices
//! together; a kernel launched later that the warm-up did not launch was compiled
//! too late. The CPU compiles nothing.

use std::collections::HashSet;

use cubecl_runtime::launched::LaunchedKernels;

/// The engine's identifier of a kernel.
type Kernel = u128;

/// Counts late kernels. Use one at a time: the engine collects for the whole process.
#[derive(Debug, Default)]
pub struct KernelWatch {
    warm: HashSet<Kernel>,
    late: HashSet<Kernel>,
    phase: Phase,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Paused,
    WarmUp(LaunchedKernels),
    Counting(LaunchedKernels),
}

impl KernelWatch {
    /// Starts to watch; everything launched from now on belongs to the warm-up.
    pub fn warm_up() -> Self {
        Self {
            phase: Phase::WarmUp(LaunchedKernels::new()),
            ..Self::default()
        }
    }

    /// Counts from now on the kernels that the warm-up did not launch.
    pub fn count(&mut self) {
        if matches!(self.phase, Phase::Counting(_)) {
            return;
        }
        self.pause();
        self.phase = Phase::Counting(LaunchedKernels::new());
    }

    /// Ignores what is launched until the next [`count`](Self::count). Returns
    /// how many late kernels there were since the last one, or `None` if nothing
    /// was being counted.
    pub fn pause(&mut self) -> Option<usize> {
        match std::mem::take(&mut self.phase) {
            Phase::Paused => None,
            Phase::WarmUp(launched) => {
                self.warm.extend(launched.finish());
                None
            }
            Phase::Counting(launched) => {
                let known = self.late.len();
                let launched = launched.finish().into_iter();
                let late = launched.filter(|kernel| !self.warm.contains(kernel));
                self.late.extend(late);
                Some(self.late.len() - known)
            }
        }
    }

    /// Ends the counting, and returns how many kernels the warm-up launched and
    /// how many came late.
    pub fn finish(mut self) -> [usize; 2] {
        self.pause();
        [self.warm.len(), self.late.len()]
    }
}

/// Tells when a warm-up is over: when it launches no kernel that it has not
/// launched before.
#[derive(Debug)]
pub struct Settling {
    known: HashSet<Kernel>,
    launched: LaunchedKernels,
}

impl Settling {
    /// Starts to watch; a kernel is known once it was launched.
    pub fn watch() -> Self {
        Self {
            known: HashSet::new(),
            launched: LaunchedKernels::new(),
        }
    }

    /// Returns whether nothing new was launched since the last call.
    pub fn is_settled(&mut self) -> bool {
        let launched = std::mem::replace(&mut self.launched, LaunchedKernels::new());
        let before = self.known.len();
        self.known.extend(launched.finish());
        self.known.len() == before
    }
}
