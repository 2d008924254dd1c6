//! Kernels that a GPU meets for the first time after a warm-up.
//!
//! The engine compiles a kernel when it is first launched, and tunes it, which
//! takes longer than many steps. It can collect what is launched, on all
//! devices together; a kernel launched later that no launch of the warm-up
//! knew is one that was compiled too late. The CPU compiles nothing.

use std::collections::HashSet;

use cubecl_runtime::launched::LaunchedKernels;

/// What the engine names a kernel by.
type Kernel = u128;

/// Counts them. One at a time: the engine collects for the whole process.
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
    /// From now on everything launched belongs to the warm-up.
    pub fn warm_up() -> Self {
        Self {
            phase: Phase::WarmUp(LaunchedKernels::new()),
            ..Self::default()
        }
    }

    /// From now on a kernel that the warm-up did not launch is counted.
    pub fn count(&mut self) {
        if matches!(self.phase, Phase::Counting(_)) {
            return;
        }
        self.pause();
        self.phase = Phase::Counting(LaunchedKernels::new());
    }

    /// What is launched until [`count`](Self::count) is of no interest. Kernels
    /// that came late since then, if it was counted.
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

    /// How many kernels the warm-up launched, and how many came late. Ends
    /// the counting.
    pub fn finish(mut self) -> [usize; 2] {
        self.pause();
        [self.warm.len(), self.late.len()]
    }
}

/// Tells a warm-up when it is over: when it launches no kernel any more that it
/// did not launch before.
#[derive(Debug)]
pub struct Settling {
    known: HashSet<Kernel>,
    launched: LaunchedKernels,
}

impl Settling {
    /// From now on a kernel is known once it was launched.
    pub fn watch() -> Self {
        Self {
            known: HashSet::new(),
            launched: LaunchedKernels::new(),
        }
    }

    /// Whether nothing new was launched since this was last asked.
    pub fn is_settled(&mut self) -> bool {
        let launched = std::mem::replace(&mut self.launched, LaunchedKernels::new());
        let before = self.known.len();
        self.known.extend(launched.finish());
        self.known.len() == before
    }
}
