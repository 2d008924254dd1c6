//! `manifest.jsonl`: what is in the folder, one object per line.
//!
//! A line is added the moment its recording has its name, and the file is sorted into the order
//! of the lines at the end. A line that a crash cut short is ignored. Only the holder of the
//! lock writes.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use myxtts_base::report;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::speech::Similar;

const NAME: &str = "manifest.jsonl";
/// The bytes before the samples of a recording.
const WAV_HEADER: u64 = 44;

/// A recording, and what it holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) line: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) text: String,
    /// The path below the folder.
    pub(super) file: String,
    pub(super) seconds: f64,
    pub(super) samples: usize,
    pub(super) sample_rate: u32,
    pub(super) codes: usize,
    pub(super) pieces: usize,
    pub(super) ended: Ended,
    /// The seed; `None` if nothing was sampled at random.
    pub(super) seed: Option<u64>,
    pub(super) voice: String,
    pub(super) language: String,
    pub(super) vocoder: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) similarity: Option<Similar>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notices: Vec<String>,
    /// A hash of everything that decides how the recording sounds.
    pub(super) settings: String,
}

/// How a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ended {
    /// The model ended every piece with a stop code.
    ByItself,
    /// At least one piece was cut at the maximum length.
    AtTheLimit,
}

/// The manifest of a folder, open for adding.
pub(super) struct Manifest {
    folder: PathBuf,
    entries: BTreeMap<String, Entry>,
    file: File,
}

impl Manifest {
    pub(super) fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(NAME);
        let unopened = |why: &dyn std::fmt::Display| {
            Error::Failed(report!(
                "the manifest cannot be used: {why}";
                at: "{}", path.display();
                fix: "name another folder after --out-dir, or one that may be written to"
            ))
        };
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).open(&path);
        let mut file = file.map_err(|why| unopened(&why))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(unopened(&"another process is writing to it"));
            }
            Err(TryLockError::Error(why)) => return Err(unopened(&why)),
        }
        let bytes = fs::read(&path).map_err(|why| unopened(&why))?;
        if !bytes.is_empty() && bytes.last() != Some(&b'\n') {
            // What is added next must not be joined to a line that was cut short.
            file.write_all(b"\n").map_err(|why| unopened(&why))?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            entries: read(&bytes),
            file,
        })
    }

    /// Returns whether a recording exists as it would be made now.
    pub(super) fn has(&self, file: &str, settings: &str) -> bool {
        let Some(entry) = self.entries.get(file) else {
            return false;
        };
        let length = fs::metadata(self.folder.join(file)).map(|found| found.len());
        entry.settings == settings && length.ok() == Some(WAV_HEADER + 2 * entry.samples as u64)
    }

    pub(super) fn add(&mut self, entry: Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.entries.insert(entry.file.clone(), entry);
        Ok(())
    }

    /// Writes one line per recording, in the order of the lines.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut entries: Vec<&Entry> = self.entries.values().collect();
        entries.sort_by(|one, other| (one.line, &one.file).cmp(&(other.line, &other.file)));
        let mut bytes = vec![];
        for entry in entries {
            serde_json::to_writer(&mut bytes, entry)?;
            bytes.push(b'\n');
        }
        myxtts_files::replace(&self.folder.join(NAME), &bytes)
    }
}

/// Returns the last entry of each file.
fn read(bytes: &[u8]) -> BTreeMap<String, Entry> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Entry>(line).ok())
        .map(|entry| (entry.file.clone(), entry))
        .collect()
}
