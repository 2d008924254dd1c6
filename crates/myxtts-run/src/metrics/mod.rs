//! `metrics.jsonl`: one JSON object per line, one line per step.
//!
//! ```text
//! {"step":12,"wall_time":1790000000.25,"loss":3.1415927,"learning_rate":0.0001}
//! ```
//!
//! A list of numbers holds one number for each of a few things, such as replicas.
//! Numbers are the shortest text that reads back as the same bits; NaN and the
//! infinities, which JSON lacks, are the strings `"NaN"`, `"inf"` and `"-inf"`.
//! Each line is one `write`, so a crash can cut only the last line, and opening
//! the file again cuts what lies after the step that is resumed: the file of an
//! interrupted run holds what an uninterrupted one would. For that, write all
//! lines of a step before its checkpoint is saved.

mod error;
mod read;
mod record;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

pub use error::MetricsError;
pub use read::{Line, read};
pub use record::Record;

use crate::FileError;
use crate::units::Step;

/// Fields that are measured in a step, not computed by it: two runs that train
/// alike differ in these and in nothing else.
pub const MEASURED: [&str; 15] = [
    "wall_time",
    "step_s",
    "data_wait_s",
    "read_back_s",
    "syncs",
    "collective_s",
    "dispatch_s",
    "core_wait_s",
    "kernels_new",
    "replica_step_s",
    "start_s",
    "checkpoint_s",
    "validation_s",
    "samples_s",
    "close_s",
];

/// Appends records to `metrics.jsonl`.
#[derive(Debug)]
pub struct MetricsWriter {
    path: PathBuf,
    file: File,
}

/// What opening an existing file changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Lines that were cut because their steps come after the resumed one.
    pub cut: usize,
    /// Whether the last line was half-written, and was cut.
    pub half_line: bool,
}

impl MetricsWriter {
    /// Opens `path` to resume after the step `resumed`, or to start over.
    ///
    /// # Errors
    /// When the file cannot be read or written, or a line before the last is
    /// not a record.
    pub fn open(
        path: impl Into<PathBuf>,
        resumed: Option<Step>,
    ) -> Result<(Self, Repaired), MetricsError> {
        let path = path.into();
        let repaired = repair(&path, resumed)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(FileError::when("open", &path))?;
        Ok((Self { path, file }, repaired))
    }

    /// Appends `record` with the present time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, record: &Record) -> Result<(), MetricsError> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        // Milliseconds are enough for a chart and keep the lines short.
        let millis = u32::try_from(now.as_millis() % 1000).unwrap_or_default();
        self.append_at(record, now.as_secs() as f64 + f64::from(millis) / 1000.0)
    }

    /// Appends `record` with `wall_time`, in seconds since 1970.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append_at(&mut self, record: &Record, wall_time: f64) -> Result<(), MetricsError> {
        let line = record.to_line(wall_time);
        self.file
            .write_all(line.as_bytes())
            .map_err(FileError::when("write", &self.path))?;
        Ok(())
    }

    /// Waits until all lines are on the disk. Call it before a checkpoint, so
    /// that after a power cut no step before the checkpoint is missing.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn sync(&self) -> Result<(), MetricsError> {
        self.file
            .sync_data()
            .map_err(FileError::when("sync", &self.path))?;
        Ok(())
    }
}

/// Keeps only the whole lines up to the step `resumed`.
fn repair(path: &Path, resumed: Option<Step>) -> Result<Repaired, MetricsError> {
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Repaired::default()),
        other => other.map_err(FileError::when("read", path))?,
    };
    let mut repaired = Repaired::default();
    let mut kept = Vec::with_capacity(text.len());
    let mut lines = text
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
        .peekable();
    while let Some((index, bytes)) = lines.next() {
        // Without its newline a number may lack digits, even where it parses.
        let parsed = read::parse(bytes);
        if !bytes.ends_with(b"\n") || (parsed.is_err() && lines.peek().is_none()) {
            repaired.half_line = true;
            break;
        }
        let line = parsed.map_err(|reason| MetricsError::Line {
            path: path.into(),
            line: index + 1,
            reason,
        })?;
        if resumed.is_some_and(|step| line.step() <= step) {
            kept.extend_from_slice(bytes);
        } else {
            repaired.cut += 1;
        }
    }
    if repaired != Repaired::default() {
        myxtts_files::replace(path, &kept).map_err(FileError::when("rewrite", path))?;
    }
    Ok(repaired)
}
