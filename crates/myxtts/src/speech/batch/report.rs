//! The result of each line.

use std::fmt;
use std::path::{Path, PathBuf};

use myxtts_audio::units::Seconds;
use myxtts_base::{Report as Problem, report};
use serde::Serialize;

/// A line that could not be spoken.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// The number of the line, from 1.
    pub line: usize,
    /// Why it could not be spoken.
    pub why: String,
}

/// What came of the lines, so far or at the end.
#[derive(Serialize)]
pub struct Report {
    out_dir: PathBuf,
    manifest: PathBuf,
    /// The number of lines.
    pub lines: usize,
    /// The number of recordings that were made.
    pub spoken: usize,
    /// The number of recordings that already existed.
    pub skipped: usize,
    /// The lines that could not be spoken.
    pub failed: Vec<Failed>,
    /// Seconds of speech that were made.
    pub(super) seconds: f64,
    pub(super) took_s: f64,
    checkpoint: PathBuf,
    device: String,
}

impl Report {
    pub(super) fn new(folder: &Path, lines: usize, checkpoint: PathBuf, device: String) -> Self {
        Self {
            out_dir: folder.to_owned(),
            manifest: folder.join("manifest.jsonl"),
            lines,
            spoken: 0,
            skipped: 0,
            failed: vec![],
            seconds: 0.0,
            took_s: 0.0,
            checkpoint,
            device,
        }
    }

    /// Returns what went wrong, in a sentence: the report says with which lines.
    pub fn problem(&self) -> Option<Problem> {
        match self.failed.len() {
            0 => None,
            count => Some(report!(
                "{count} of {} lines could not be spoken",
                self.lines
            )),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = Seconds(self.seconds);
        writeln!(
            f,
            "{}: {} of {} lines spoken, {length} of speech",
            self.out_dir.display(),
            self.spoken,
            self.lines
        )?;
        if self.skipped > 0 {
            writeln!(
                f,
                "  skipped:    {}, which were there already",
                self.skipped
            )?;
        }
        writeln!(f, "  manifest:   {}", self.manifest.display())?;
        writeln!(f, "  checkpoint: {}", self.checkpoint.display())?;
        writeln!(f, "  device:     {}", self.device)?;
        writeln!(f, "  took:       {}", Seconds(self.took_s))?;
        for Failed { line, why } in &self.failed {
            let why = why.replace('\n', "\n    ");
            writeln!(f, "  line {line}: {why}")?;
        }
        Ok(())
    }
}
