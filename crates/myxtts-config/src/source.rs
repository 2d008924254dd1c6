//! The text of a configuration file, read under limits.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::problem::{Place, Problem};

/// The largest configuration file, in bytes: far above any that a person writes,
/// and far below what would hurt the machine.
const LARGEST_FILE: u64 = 1 << 20;

/// The name and text of a configuration file.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
}

impl Source {
    /// Reads a file, and refuses what cannot be a configuration before it is held
    /// in memory.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let name = path.display().to_string();
        let refuse = |what: String, fix: &str| Problem {
            what,
            place: Place::Named(name.clone()),
            fix: Some(fix.to_owned()),
        };
        let cannot_read = |why: std::io::Error| {
            refuse(
                format!("cannot read the configuration file: {why}"),
                "give the path of a YAML file; `myxtts config new` writes one to start from",
            )
        };
        let file = File::open(path).map_err(cannot_read)?;
        let metadata = file.metadata().map_err(cannot_read)?;
        if metadata.is_dir() {
            return Err(refuse(
                "the configuration path is a folder".to_owned(),
                "give the YAML file inside it",
            ));
        }
        let mut bytes = Vec::new();
        // `take` and not the reported size alone, because a pipe reports none.
        file.take(LARGEST_FILE + 1)
            .read_to_end(&mut bytes)
            .map_err(cannot_read)?;
        if bytes.len() as u64 > LARGEST_FILE {
            let size = metadata.len().max(bytes.len() as u64);
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(256)]).into_owned();
            return Err(Problem {
                what: format!(
                    "the file has {size} bytes, but a configuration file may have at most {LARGEST_FILE}"
                ),
                place: place_in(&name, &text, 1, 1, 1),
                fix: Some("is this the dataset's metadata? that goes in `data.train_data`".into()),
            });
        }
        Self::from_bytes(&name, &bytes)
    }

    /// Takes bytes that are already in memory, under the same limits.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, Problem> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(error) => {
                let lossy = String::from_utf8_lossy(bytes);
                let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let line = good.matches('\n').count() as u64 + 1;
                let column = good.rsplit('\n').next().map_or(0, |l| l.chars().count()) as u64 + 1;
                return Err(Problem {
                    what: "the file is not UTF-8 text".to_owned(),
                    place: place_in(name, &lossy, line, column, 1),
                    fix: Some("save it as UTF-8".to_owned()),
                });
            }
        };
        let source = Self {
            name: name.to_owned(),
            text,
        };
        let blank = |line: &str| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#')
        };
        if source.text.lines().all(blank) {
            return Err(source.problem(
                1,
                1,
                1,
                "the file is empty".to_owned(),
                Some(
                    "write at least one of the sections `data`, `model`, `training`, \
                     or leave `--config` out"
                        .to_owned(),
                ),
            ));
        }
        Ok(source)
    }

    /// Returns the path of the file as the user gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn problem(
        &self,
        line: u64,
        column: u64,
        width: usize,
        what: String,
        fix: Option<String>,
    ) -> Problem {
        Problem {
            what,
            place: place_in(&self.name, &self.text, line, column, width),
            fix,
        }
    }
}

fn place_in(name: &str, text: &str, line: u64, column: u64, width: usize) -> Place {
    let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    Place::File {
        name: name.to_owned(),
        line,
        column,
        width,
        text: text.lines().nth(index).unwrap_or_default().to_owned(),
    }
}
