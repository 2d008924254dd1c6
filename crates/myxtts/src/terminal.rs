//! Shows a preparation and a training on stderr: messages, and how far it is.
//!
//! On a terminal the progress of a training is one line that is drawn over itself, and elsewhere a
//! line now and then. A preparation has a bar on a terminal, and nothing elsewhere.

use std::io::{self, IsTerminal, Stderr, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use myxtts::{Numbers, Observer, Preparing, Progress, Style};

use crate::progress::ProgressBar;

/// The columns of a terminal that a line of progress may use.
const COLUMNS: usize = 120;

/// Shows what it observes on stderr.
pub(crate) struct Terminal {
    shown: Mutex<Shown>,
}

/// What stands on the terminal without its line break.
struct Shown {
    bar: Option<ProgressBar>,
    progress: Progress<Stderr>,
}

impl Terminal {
    /// Makes an observer that shows a line of progress every so many steps where stderr is not a
    /// terminal.
    pub(crate) fn new(every: u64) -> Self {
        let style = match io::stderr().is_terminal() {
            true => Style::Terminal { columns: COLUMNS },
            false => Style::Quiet {
                every: every.max(1),
            },
        };
        let shown = Shown {
            bar: None,
            progress: Progress::new(io::stderr(), style),
        };
        Self {
            shown: Mutex::new(shown),
        }
    }

    /// Locks what is shown. A thread that panicked while it drew has left half a line at worst.
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A closed stderr has nobody to tell, so failures to write to it are ignored.
impl Observer for Terminal {
    fn line(&self, message: &str) {
        let mut shown = self.shown();
        if let Some(bar) = &mut shown.bar {
            bar.clear();
        }
        let _ = shown.progress.clear();
        let _ = writeln!(io::stderr().lock(), "{message}");
    }

    fn preparing(&self, preparing: &Preparing) {
        let words = format!(", {} quarantined", preparing.quarantined);
        let mut shown = self.shown();
        let begun = || ProgressBar::begun(preparing.elapsed);
        let bar = shown.bar.get_or_insert_with(begun);
        bar.show(preparing.done, preparing.about, &words);
    }

    fn progress(&self, numbers: &Numbers) {
        let _ = self.shown().progress.update(numbers, Instant::now());
    }

    fn progress_ended(&self) {
        let mut shown = self.shown();
        if let Some(mut bar) = shown.bar.take() {
            bar.clear();
        }
        let _ = shown.progress.finish();
    }
}
