//! A file of lines whose size is bounded.
//!
//! When the next line would make `NAME.EXT` too large, the file is renamed to
//! `NAME.1.EXT`, replacing an earlier one, and a new file begins: at least the
//! newest half of what the two may hold is always there.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::FileError;
use crate::units::Bytes;

/// A file that lines are appended to, and that is rotated when it is full.
#[derive(Debug)]
pub struct RotatingFile {
    path: PathBuf,
    file: File,
    length: u64,
    most: Bytes,
}

impl RotatingFile {
    /// Opens the file at `path` to append to it; it will hold `most` at most.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: impl Into<PathBuf>, most: Bytes) -> Result<Self, FileError> {
        let path = path.into();
        let (file, length) = open(&path)?;
        Ok(Self {
            path,
            file,
            length,
            most,
        })
    }

    /// Appends `line` and a newline, in one write.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn line(&mut self, line: &str) -> Result<(), FileError> {
        let bytes = format!("{line}\n");
        let added = bytes.len() as u64;
        if self.length > 0 && self.length + added > self.most.0 {
            let old = rotated(&self.path);
            fs::rename(&self.path, &old).map_err(FileError::when("rename", &self.path))?;
            (self.file, self.length) = open(&self.path)?;
        }
        let written = self.file.write_all(bytes.as_bytes());
        written.map_err(FileError::when("write", &self.path))?;
        self.length += added;
        Ok(())
    }
}

/// Returns where the lines before those in `path` are: `devices.1.jsonl` for
/// `devices.jsonl`.
fn rotated(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}.1.{end}"))
}

fn open(path: &Path) -> Result<(File, u64), FileError> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(FileError::when("open", path))?;
    let length = file
        .metadata()
        .map_err(FileError::when("read", path))?
        .len();
    Ok((file, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_stay_and_the_size_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("devices.jsonl");
        let mut written = vec![];
        for number in 0..100_u32 {
            // Opened anew now and then, as by a resumed run.
            let mut file = RotatingFile::open(&path, Bytes(100)).unwrap();
            for part in 0..3_u32 {
                let line = format!("line {number} {part}");
                file.line(&line).unwrap();
                written.push(line);
                let both = [&path, &rotated(&path)].map(fs::read_to_string);
                let [new, old] = both.map(Result::unwrap_or_default);
                assert!(new.len() <= 100 && old.len() <= 100);
                let kept = format!("{old}{new}");
                let kept: Vec<&str> = kept.lines().collect();
                assert!(
                    written.ends_with(&kept.iter().map(ToString::to_string).collect::<Vec<_>>())
                );
            }
        }
        assert_eq!(rotated(&path), folder.path().join("devices.1.jsonl"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_line_that_is_too_long_is_written_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut file = RotatingFile::open(&path, Bytes(4)).unwrap();
        file.line("a long line").unwrap();
        file.line("b").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "b\n");
        assert_eq!(fs::read_to_string(rotated(&path)).unwrap(), "a long line\n");
    }
}
