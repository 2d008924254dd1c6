//! Stopping on request: the first SIGINT, SIGTERM or SIGHUP asks for a checkpoint
//! and an orderly end, the second exits at once.
//!
//! This is done with flags alone, because a signal handler may not allocate, lock
//! or write. Whatever waits looks at them several times a second.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The longest that a wait may go without checking for a request to stop.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The signal that asked the run to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT: Ctrl-C in the terminal.
    Interrupt,
    /// SIGTERM: a supervisor, a batch system, a shutdown.
    Terminate,
    /// SIGHUP: the terminal is gone, as after a lost connection.
    Hangup,
}

impl StopSignal {
    const ALL: &'static [(Self, i32)] = &[
        (Self::Interrupt, SIGINT),
        (Self::Terminate, SIGTERM),
        #[cfg(unix)]
        (Self::Hangup, SIGHUP),
    ];

    /// Returns the exit code for the signal: 128 plus its number.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::Hangup => 129,
        }
    }

    /// Returns the signal's usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Hangup => "SIGHUP",
        }
    }

    fn code(self) -> usize {
        self.exit_code().unsigned_abs() as usize
    }
}

/// Whether the run was asked to stop. Clones share the answer.
#[derive(Clone, Debug, Default)]
pub struct StopRequest {
    first: Arc<AtomicUsize>,
}

impl StopRequest {
    /// Makes a request that no signal reaches; only [`ask`](Self::ask) sets it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Catches SIGINT, SIGTERM and SIGHUP from now on, for the whole process.
    ///
    /// A SIGHUP that was already ignored stays ignored: whoever started the
    /// program with `nohup` wants it to outlive the terminal.
    ///
    /// # Errors
    /// When the system does not allow the signals to be caught.
    pub fn install() -> io::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let request = Self::new();
        for (signal, number) in StopSignal::ALL.iter().copied() {
            if signal == StopSignal::Hangup && is_ignored(number) {
                continue;
            }
            // Actions run in this order: the first signal finds `asked` unset and
            // gets past the exit.
            flag::register_conditional_shutdown(number, signal.exit_code(), Arc::clone(&asked))?;
            flag::register_usize(number, Arc::clone(&request.first), signal.code())?;
            flag::register(number, Arc::clone(&asked))?;
        }
        Ok(request)
    }

    /// Asks the run to stop, as the signal would.
    pub fn ask(&self, signal: StopSignal) {
        self.first.store(signal.code(), Ordering::Relaxed);
    }

    /// Returns the signal that asked the run to stop, if any did.
    pub fn asked(&self) -> Option<StopSignal> {
        let code = self.first.load(Ordering::Relaxed);
        let mut signals = StopSignal::ALL.iter().map(|(signal, _)| *signal);
        signals.find(|signal| signal.code() == code)
    }

    /// Returns whether the run was asked to stop.
    pub fn is_asked(&self) -> bool {
        self.asked().is_some()
    }
}

/// Returns whether this process was started with the signal ignored. Linux says
/// so; elsewhere it takes `unsafe` code to ask, and the signal is caught.
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_by(&status, number)
}

fn ignored_by(status: &str, number: i32) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = u32::try_from(number).ok().and_then(|n| n.checked_sub(1));
    bit.and_then(|bit| mask?.checked_shr(bit))
        .is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read_bit_by_bit() {
        let status = "Name:\tmyxtts\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n";
        assert!(ignored_by(status, 1) && ignored_by(status, 13));
        assert!(!ignored_by(status, 2) && !ignored_by(status, 15));
        assert!(!ignored_by("", 1) && !ignored_by(status, 0) && !ignored_by(status, 99));
    }

    #[test]
    fn a_request_without_signals_is_asked_by_hand() {
        let request = StopRequest::new();
        let same = request.clone();
        assert_eq!(request.asked(), None);
        same.ask(StopSignal::Hangup);
        assert_eq!(request.asked(), Some(StopSignal::Hangup));
    }
}
