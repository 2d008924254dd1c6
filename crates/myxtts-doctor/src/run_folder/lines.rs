//! JSON lines, one at a time, of a file that may still be written.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::de::DeserializeOwned;

/// The longest line that is read, in bytes; a longer one is not ours.
const LONGEST: u64 = 1 << 20;

/// What was wrong with the lines of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    /// The number of lines that are not what they should be.
    pub(super) bad: u64,
    /// Why the first of them could not be read.
    pub(super) first_bad: String,
}

impl Lines {
    fn found_bad(&mut self, why: impl FnOnce() -> String) {
        if self.bad == 0 {
            self.first_bad = why();
        }
        self.bad += 1;
    }
}

/// Calls `take` with each line of the newest `most` bytes. A last line without
/// its newline is still being written, and is left out; so is the first where
/// the file is longer, since it is cut.
pub(super) fn each<T: DeserializeOwned>(
    path: &Path,
    most: u64,
    mut take: impl FnMut(T),
) -> io::Result<Lines> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let skips = length > most;
    if skips {
        file.seek(SeekFrom::Start(length - most))?;
    }
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut lines = Lines::default();
    let mut line = Vec::new();
    let mut is_cut = skips;
    loop {
        line.clear();
        reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            if line.len() as u64 == LONGEST {
                // The rest of the line follows, and is not a line either.
                if !std::mem::replace(&mut is_cut, true) {
                    lines.found_bad(|| format!("a line of more than {LONGEST} bytes"));
                }
                continue;
            }
            return Ok(lines);
        }
        if std::mem::take(&mut is_cut) || line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(value) => take(value),
            Err(why) => lines.found_bad(|| why.to_string()),
        }
    }
}

/// Reads the newest `most` bytes.
pub(super) fn tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
