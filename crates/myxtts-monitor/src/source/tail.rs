//! A file that grows, read line by line as it does.
//!
//! Whoever writes it may rename it and begin another, cut it short, replace
//! it, or be in the middle of a line. A line is given out when its newline is
//! there; a file that is not the one that was read before is read from its
//! beginning, and the caller is told. Memory is bounded: one call gives out at
//! most [`CHUNK`] bytes, a file that is there already is begun at its last
//! [`FIRST`], and a line that never ends is dropped.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The most bytes of one call.
const CHUNK: usize = 1 << 20;
/// How many bytes at the end of a file that is already there are read.
const FIRST: u64 = 2 << 20;
/// The longest line that is waited for, in bytes.
const LINE: usize = 1 << 18;
/// The number of bytes before the place where reading resumes, by which the file is
/// recognised.
const ANCHOR: usize = 64;

/// Follows a file as it grows.
#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    followed: Option<Followed>,
}

/// What was appended since the last call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Appended {
    /// Whole lines, without their newlines.
    pub(crate) lines: Vec<String>,
    /// Whether the lines are from another file than before, or from the same one
    /// read from its beginning.
    pub(crate) restarted: bool,
    /// Whether there is more to read at once.
    pub(crate) more: bool,
}

#[derive(Debug)]
struct Followed {
    file: File,
    identity: Option<(u64, u64)>,
    offset: u64,
    /// The last bytes before `offset`.
    anchor: Vec<u8>,
    /// A line whose newline is not there yet.
    begun: Vec<u8>,
    /// Whether the rest of the current line is dropped.
    skipping: bool,
}

impl Tail {
    /// Follows the file at `path`, which need not be there yet.
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            followed: None,
        }
    }

    /// Reads what was appended since the last call.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub(crate) fn read(&mut self) -> io::Result<Appended> {
        let mut appended = Appended::default();
        if let Some(followed) = &mut self.followed {
            if followed.is_rewritten()? {
                self.followed = None;
            } else {
                let end = followed.take(&mut appended.lines)?;
                // The old file is read to its end first: its last lines count.
                if !end || self.is_current() {
                    appended.more = !end;
                    return Ok(appended);
                }
                self.followed = None;
            }
        }
        let Some(mut followed) = Followed::open(&self.path)? else {
            return Ok(appended);
        };
        appended.restarted = true;
        appended.more = !followed.take(&mut appended.lines)?;
        self.followed = Some(followed);
        Ok(appended)
    }

    /// Returns whether the path still leads to the file that is open. A path that
    /// leads nowhere counts as doing so until it leads elsewhere: between a rename
    /// and the new file there is nothing better to read.
    fn is_current(&self) -> bool {
        let Some(followed) = &self.followed else {
            return false;
        };
        match fs::metadata(&self.path) {
            Ok(there) => identity(&there) == followed.identity,
            Err(_) => true,
        }
    }
}

impl Followed {
    /// Opens the file; `None` while there is none.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            // Opening a pipe would wait for its writer.
            Ok(there) if there.is_file() => {}
            Ok(_) => return Err(io::Error::other("it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let metadata = file.metadata()?;
        let offset = metadata.len().saturating_sub(FIRST);
        file.seek(SeekFrom::Start(offset))?;
        Ok(Some(Self {
            identity: identity(&metadata),
            file,
            offset,
            anchor: Vec::new(),
            begun: Vec::new(),
            // The offset is in the middle of a line, unless by chance.
            skipping: offset > 0,
        }))
    }

    /// Returns whether the file no longer holds what was read: it was cut short, or
    /// cut and written again.
    fn is_rewritten(&mut self) -> io::Result<bool> {
        if self.file.metadata()?.len() < self.offset {
            return Ok(true);
        }
        let known = self.anchor.len() as u64;
        self.file
            .seek(SeekFrom::Start(self.offset.saturating_sub(known)))?;
        let mut there = Vec::with_capacity(ANCHOR);
        (&self.file).take(known).read_to_end(&mut there)?;
        Ok(there != self.anchor)
    }

    /// Resumes reading at `offset`, and returns whether that was all there is.
    fn take(&mut self, lines: &mut Vec<String>) -> io::Result<bool> {
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        (&self.file).take(CHUNK as u64).read_to_end(&mut bytes)?;
        self.offset += bytes.len() as u64;
        self.anchor.extend_from_slice(last(&bytes, ANCHOR));
        let old = self.anchor.len().saturating_sub(ANCHOR);
        self.anchor.drain(..old);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                if !std::mem::take(&mut self.skipping) {
                    let text = String::from_utf8_lossy(&line);
                    lines.push(text.trim_end_matches(['\n', '\r']).to_owned());
                }
            } else if self.skipping || self.begun.len() > LINE {
                self.begun.clear();
                self.skipping = true;
            }
        }
        Ok(bytes.len() < CHUNK)
    }
}

fn last(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[bytes.len().saturating_sub(most)..]
}

/// Returns the file's number on its disk, which a rename keeps. Elsewhere than on
/// Unix a replaced file is noticed by its length and its content alone.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_metadata: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn append(path: &Path, text: &str) {
        let file = File::options().create(true).append(true).open(path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn lines(tail: &mut Tail) -> Vec<String> {
        tail.read().unwrap().lines
    }

    #[test]
    fn a_line_counts_when_its_end_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut tail = Tail::new(&path);
        assert_eq!(tail.read().unwrap(), Appended::default());
        append(&path, "one\ntw");
        assert_eq!(lines(&mut tail), ["one"]);
        assert!(lines(&mut tail).is_empty());
        append(&path, "o\nthree\n");
        assert_eq!(lines(&mut tail), ["two", "three"]);
    }

    #[test]
    fn a_rotated_file_is_read_to_its_end_and_then_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, old) = (folder.path().join("log"), folder.path().join("log.1"));
        let mut tail = Tail::new(&path);
        append(&path, "one\n");
        assert!(tail.read().unwrap().restarted);
        append(&path, "two\n");
        fs::rename(&path, &old).unwrap();
        let between = tail.read().unwrap();
        assert_eq!(between.lines, ["two"]);
        assert!(!between.restarted);
        append(&old, "late\n");
        append(&path, "new\n");
        let after = tail.read().unwrap();
        assert_eq!(after.lines, ["late", "new"]);
        assert!(after.restarted);
        append(&path, "newer\n");
        assert_eq!(lines(&mut tail), ["newer"]);
    }

    #[test]
    fn a_file_that_was_cut_or_written_again_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut tail = Tail::new(&path);
        append(&path, "one\ntwo\n");
        assert_eq!(lines(&mut tail), ["one", "two"]);
        fs::write(&path, "").unwrap();
        assert!(tail.read().unwrap().lines.is_empty());
        append(&path, "1\n");
        assert_eq!(lines(&mut tail), ["1"]);
        // As long as before and longer: only its content tells.
        fs::write(&path, "a\nb\nc\n").unwrap();
        let again = tail.read().unwrap();
        assert_eq!((again.lines.len(), again.restarted), (3, true));
        myxtts_files::replace(&path, b"a\n").unwrap();
        let replaced = tail.read().unwrap();
        assert_eq!(
            (replaced.lines, replaced.restarted),
            (vec!["a".into()], true)
        );
    }

    #[test]
    fn memory_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let line = format!("{}\n", "x".repeat(99));
        append(&path, &line.repeat(60_000));
        let mut tail = Tail::new(&path);
        let first = tail.read().unwrap();
        assert!(first.more && first.lines.len() <= CHUNK / 100);
        assert!(first.lines.iter().all(|line| line.len() == 99));
        let mut read = first.lines.len();
        while let Appended {
            more: true, lines, ..
        } = tail.read().unwrap()
        {
            read += lines.len();
        }
        assert!(read <= 21_000, "{read} lines of the end");
        // A line without an end is dropped, what follows it is not.
        for _ in 0..5 {
            append(&path, &"y".repeat(LINE));
            assert!(lines(&mut tail).is_empty());
            assert!(tail.followed.as_ref().unwrap().begun.len() <= LINE);
        }
        append(&path, "\nafter\n");
        assert_eq!(lines(&mut tail), ["after"]);
    }

    #[test]
    fn what_is_not_a_file_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Tail::new(folder.path()).read().is_err());
    }
}
