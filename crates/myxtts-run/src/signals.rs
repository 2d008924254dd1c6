//! Asked to stop: the first SIGINT or SIGTERM asks for a checkpoint and an
//! orderly end, the second leaves at once.
//!
//! Done with flags alone: a handler may not allocate, lock or write, and the
//! loop looks between two steps anyway.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C.
    Interrupt,
    /// A supervisor, a batch system, a shutdown.
    Terminate,
}

impl StopSignal {
    const ALL: [(Self, i32); 2] = [(Self::Interrupt, SIGINT), (Self::Terminate, SIGTERM)];

    /// The exit code that says so: 128 and the signal's number.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// Whether the run was asked to stop. Clones share the answer.
#[derive(Clone, Debug)]
pub struct StopRequest {
    first: Arc<AtomicUsize>,
}

impl StopRequest {
    /// Catches SIGINT and SIGTERM from now on, for the whole process.
    ///
    /// # Errors
    /// When the system does not let signals be caught.
    pub fn install() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let first = Arc::new(AtomicUsize::new(0));
        for (signal, number) in StopSignal::ALL {
            // Actions run in this order: the first signal finds `asked` unset
            // and goes past the exit.
            flag::register_conditional_shutdown(number, signal.exit_code(), Arc::clone(&asked))?;
            flag::register_usize(
                number,
                Arc::clone(&first),
                signal.exit_code().unsigned_abs() as usize,
            )?;
            flag::register(number, Arc::clone(&asked))?;
        }
        Ok(Self { first })
    }

    /// Who asked the run to stop, if anybody did.
    pub fn asked(&self) -> Option<StopSignal> {
        let code = self.first.load(Ordering::Relaxed);
        let signals = StopSignal::ALL.iter().map(|(signal, _)| *signal);
        signals
            .into_iter()
            .find(|signal| usize::try_from(signal.exit_code()) == Ok(code))
    }
}
