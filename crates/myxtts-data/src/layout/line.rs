//! Lines of a text file, however long, in whatever encoding.
//!
//! Metadata comes from spreadsheets, scripts and other people. A line that
//! cannot be read is an item like any other, so that it is counted and named and
//! the rest is still read.

use std::io::{self, BufRead};

/// The longest line that is read, in bytes. Longer ones hold no sentence to train on.
pub(super) const LONGEST_LINE: usize = 64 << 10;

/// A line and its number, counted from 1.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: Result<String, LineProblem>,
}

/// Why a line cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineProblem {
    /// The line is over [`LONGEST_LINE`]; holds its length in bytes.
    TooLong(usize),
    /// The line is not UTF-8; holds the column, in bytes from 1, of the first bad byte.
    NotUtf8(usize),
}

/// Iterates over lines with memory bounded by [`LONGEST_LINE`].
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, number: 0 }
    }

    /// Reads up to a line break, keeping at most `LONGEST_LINE` bytes.
    /// Returns how many there were, or `None` at the end.
    fn fill(&mut self, kept: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let mut total = 0;
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() {
                return Ok((total > 0).then_some(total));
            }
            let (used, done) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (available.len(), false),
            };
            let room = (LONGEST_LINE + 2).saturating_sub(kept.len());
            kept.extend_from_slice(&available[..used.min(room)]);
            total += used;
            self.reader.consume(used);
            if done {
                return Ok(Some(total));
            }
        }
    }
}

/// Counts the lines of a file.
pub(super) fn count(mut reader: impl io::Read) -> io::Result<u64> {
    let mut block = vec![0; 1 << 16];
    let (mut lines, mut last) = (0, b'\n');
    loop {
        let read = match reader.read(&mut block) {
            Ok(0) => return Ok(lines + u64::from(last != b'\n')),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let block = &block[..read];
        lines += block.iter().filter(|byte| **byte == b'\n').count() as u64;
        last = block.last().copied().unwrap_or(last);
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut bytes = Vec::new();
        let total = match self.fill(&mut bytes) {
            Ok(Some(total)) => total,
            Ok(None) => return None,
            Err(error) => return Some(Err(error)),
        };
        self.number += 1;
        let text = if total > LONGEST_LINE + 2 {
            Err(LineProblem::TooLong(total))
        } else {
            let bytes = if self.number == 1 {
                bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes)
            } else {
                &bytes
            };
            match std::str::from_utf8(bytes) {
                Ok(text) => Ok(text.trim_end_matches(['\n', '\r']).to_owned()),
                Err(error) => Err(LineProblem::NotUtf8(error.valid_up_to() + 1)),
            }
        };
        Some(Ok(Line {
            number: self.number,
            text,
        }))
    }
}
