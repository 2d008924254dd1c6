//! A progress line for long jobs on a terminal. If stderr is not a terminal nothing is shown: a
//! log wants results, not frames of an animation.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line is drawn: often enough to look alive, rarely enough to cost nothing.
const EVERY: Duration = Duration::from_millis(200);
const WIDTH: u64 = 24;

/// A progress bar that is redrawn in place.
pub(crate) struct ProgressBar {
    is_shown: bool,
    started: Instant,
    drawn: Option<Instant>,
}

impl ProgressBar {
    pub(crate) fn new() -> Self {
        Self::begun(Duration::ZERO)
    }

    /// Makes the bar of work that began `elapsed` ago.
    pub(crate) fn begun(elapsed: Duration) -> Self {
        let now = Instant::now();
        Self {
            is_shown: io::stderr().is_terminal(),
            started: now.checked_sub(elapsed).unwrap_or(now),
            drawn: None,
        }
    }

    /// Shows `done` of about `total`, and a few words.
    pub(crate) fn show(&mut self, done: u64, total: u64, words: &str) {
        let now = Instant::now();
        let is_due = self.drawn.is_none_or(|drawn| now - drawn >= EVERY);
        if self.is_shown && is_due {
            self.drawn = Some(now);
            let line = line(done, total, words, now - self.started);
            self.draw(&line);
        }
    }

    /// Removes the line from the terminal.
    pub(crate) fn clear(&mut self) {
        if self.drawn.take().is_some() {
            self.draw("");
        }
    }

    fn draw(&self, line: &str) {
        let mut stderr = io::stderr().lock();
        // A closed stderr has nobody to tell.
        let _ = write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush());
    }
}

fn line(done: u64, total: u64, words: &str, elapsed: Duration) -> String {
    // The total is a guess, and a bar past its end would be a lie.
    let total = total.max(done).max(1);
    let filled = usize::try_from(done * WIDTH / total).unwrap_or(0);
    let width = usize::try_from(WIDTH).unwrap_or(0);
    let bar = "#".repeat(filled) + &"-".repeat(width.saturating_sub(filled));
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    let left = (total - done) as f64 / rate.max(0.001);
    format!("[{bar}] {done} of about {total}, {rate:.0} a second, {left:.0} s left{words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let ten = Duration::from_secs(10);
        insta::assert_snapshot!(
            [line(0, 0, "", ten), line(50, 200, ", 3 quarantined", ten), line(9, 8, "", ten)].join("\n"),
            @r"
        [------------------------] 0 of about 1, 0 a second, 1000 s left
        [######------------------] 50 of about 200, 5 a second, 30 s left, 3 quarantined
        [########################] 9 of about 9, 1 a second, 0 s left
        "
        );
    }
}
