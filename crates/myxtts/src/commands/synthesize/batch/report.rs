//! The result of each line.

use std::fmt;
use std::path::{Path, PathBuf};

use myxtts_audio::units::Seconds;
use serde::Serialize;

/// A line that could not be spoken.
#[derive(Clone, Debug, Serialize)]
pub(in super::super) struct Failed {
    /// The number of the line, from 1.
    pub(super) line: usize,
    pub(super) why: String,
}

#[derive(Serialize)]
pub(super) struct Report {
    out_dir: PathBuf,
    manifest: PathBuf,
    pub(super) lines: usize,
    pub(super) spoken: usize,
    /// The number of recordings that already existed.
    pub(super) skipped: usize,
    pub(super) failed: Vec<Failed>,
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
