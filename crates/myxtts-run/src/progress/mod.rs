//! How the run is doing, in one line.
//!
//! On a terminal the line is drawn over itself a few times a second. Elsewhere a
//! line is written now and then, and kept. Both show only what was measured;
//! whoever leaves something unmeasured says why, once.

mod format;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use format::terminal_line;
pub use format::{Left, Numbers, StageNumbers, quiet_line};

use crate::units::Step;

/// The shortest time between two drawings: faster than this nobody can read.
const REDRAW: Duration = Duration::from_millis(100);
/// The longest time between two lines: a log that is silent for longer looks dead.
const SILENCE: Duration = Duration::from_secs(30);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// One line drawn over itself, cut to the terminal's width.
    Terminal {
        /// Width of the terminal, in columns.
        columns: usize,
    },
    /// A line every few steps, and at least every 30 seconds.
    Quiet {
        /// Steps between two lines.
        every: u64,
    },
}

/// Shows the progress of a run on `W`.
#[derive(Debug)]
pub struct Progress<W> {
    out: W,
    style: Style,
    shown: Option<(Instant, Step)>,
    /// Whether a line stands on the terminal without its newline.
    open: bool,
}

impl<W: Write> Progress<W> {
    /// Makes a display that writes to `out`.
    pub fn new(out: W, style: Style) -> Self {
        Self {
            out,
            style,
            shown: None,
            open: false,
        }
    }

    /// Shows `numbers`, unless the last time was too recent.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn update(&mut self, numbers: &Numbers, now: Instant) -> io::Result<()> {
        let ends_stage = numbers.stage.is_some_and(|stage| stage.step == stage.total);
        let last = ends_stage || numbers.total == Some(numbers.step);
        if !last
            && self
                .shown
                .is_some_and(|shown| self.too_soon(shown, numbers.step, now))
        {
            return Ok(());
        }
        self.shown = Some((now, numbers.step));
        match self.style {
            Style::Terminal { columns } => {
                self.open = true;
                // Erases the rest of an older, longer line.
                write!(self.out, "\r{}\x1b[K", terminal_line(numbers, columns))?;
            }
            Style::Quiet { .. } => writeln!(self.out, "{}", quiet_line(numbers))?,
        }
        self.out.flush()
    }

    /// Erases the line being drawn, to make room for other lines.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn clear(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.open) {
            write!(self.out, "\r\x1b[K")?;
            self.out.flush()?;
        }
        Ok(())
    }

    /// Leaves the last line on the terminal and ends it with a newline.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.open) {
            writeln!(self.out)?;
        }
        self.out.flush()
    }

    fn too_soon(&self, (then, step): (Instant, Step), next: Step, now: Instant) -> bool {
        let passed = now.saturating_duration_since(then);
        match self.style {
            Style::Terminal { .. } => passed < REDRAW,
            // Lines fall on multiples of `every`, so that those of two runs compare.
            Style::Quiet { every } => {
                passed < SILENCE && step.0 / every.max(1) == next.0 / every.max(1)
            }
        }
    }
}
