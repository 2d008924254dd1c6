//! Which layout a folder has.

use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::Split;

/// Endings of files we can decode.
pub(super) const AUDIO_ENDINGS: [&str; 7] = ["wav", "flac", "mp3", "ogg", "m4a", "aac", "mp4"];

/// How a dataset folder is arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `metadata.csv` with ids, recordings in `wavs/`.
    LjSpeech {
        /// The folder.
        root: PathBuf,
        /// The metadata file.
        metadata: PathBuf,
    },
    /// One or more delimited files of paths and texts.
    Tables {
        /// What paths are relative to.
        root: PathBuf,
        /// The files, and the part each stands for.
        files: Vec<(PathBuf, Option<Split>)>,
    },
    /// One JSON object a line.
    JsonLines {
        /// What paths are relative to.
        root: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// Recordings, each with a text beside it.
    Pairs {
        /// The folder.
        root: PathBuf,
        /// The recordings, sorted.
        files: Vec<PathBuf>,
        /// Folders below it that cannot be read, and why: what is in them is
        /// missing, and a report must say so.
        unreadable: Vec<(PathBuf, String)>,
    },
}

/// A folder with this file holds results of ours and no recordings of others.
pub(crate) const OUTPUT_MARK: &str = ".myxtts";

impl Layout {
    /// The dataset's folder.
    pub fn root(&self) -> &Path {
        match self {
            Self::LjSpeech { root, .. }
            | Self::Tables { root, .. }
            | Self::JsonLines { root, .. }
            | Self::Pairs { root, .. } => root,
        }
    }

    /// Lines that name clips: about as many as there are rows, and found
    /// without reading them as such.
    pub fn lines(&self) -> std::io::Result<u64> {
        match self {
            Self::Pairs { files, .. } => Ok(files.len() as u64),
            Self::LjSpeech { metadata: file, .. } | Self::JsonLines { file, .. } => {
                super::line::count(fs::File::open(file)?)
            }
            Self::Tables { files, .. } => {
                let counts = files
                    .iter()
                    .map(|(file, _)| super::line::count(fs::File::open(file)?));
                counts.sum()
            }
        }
    }
}

/// A folder that is no dataset.
#[derive(Debug, Error)]
pub enum LayoutError {
    /// It cannot be read.
    #[error("cannot read the dataset {}: {why}\n  fix:   give the folder that holds the recordings", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// Nothing in it looks like a dataset.
    #[error(
        "no dataset in {}\n  found: {found}\n  fix:   put one of these there: metadata.csv with a \
         wavs/ folder; metadata_train.csv and metadata_eval.csv; a CSV or text file of \
         `audio|text` lines; a .jsonl manifest; or recordings with a .txt beside each", path.display()
    )]
    Nothing {
        /// The folder.
        path: PathBuf,
        /// What is there instead.
        found: String,
    },
}

/// Looks at a folder (or a metadata file) and says how to read it.
pub fn detect(path: &Path) -> Result<Layout, LayoutError> {
    let unreadable = |why| LayoutError::Unreadable {
        path: path.to_owned(),
        why,
    };
    if fs::metadata(path).map_err(unreadable)?.is_file() {
        let root = path.parent().unwrap_or(Path::new("")).to_owned();
        return Ok(of_file(root, path.to_owned()));
    }
    let root = path.to_owned();
    let named = |names: &[&str]| {
        names
            .iter()
            .map(|n| root.join(n))
            .find(|file| file.is_file())
    };
    if let Some(file) = named(&["manifest.jsonl", "metadata.jsonl"]) {
        return Ok(Layout::JsonLines { root, file });
    }
    if let Some(train) = named(&["metadata_train.csv", "metadata_train.txt"]) {
        let mut files = vec![(train, Some(Split::Train))];
        files.extend(
            named(&["metadata_eval.csv", "metadata_eval.txt", "metadata_val.csv"])
                .map(|file| (file, Some(Split::Validation))),
        );
        return Ok(Layout::Tables { root, files });
    }
    if let Some(metadata) = named(&["metadata.csv", "metadata.txt", "metadata.tsv"]) {
        return Ok(of_file(root, metadata));
    }
    let mut found = Found::default();
    found.collect(path, 0).map_err(unreadable)?;
    let Found {
        mut recordings,
        mut others,
        unreadable,
    } = found;
    recordings.sort();
    let has_text = |audio: &PathBuf| audio.with_extension("txt").is_file();
    if recordings.iter().any(has_text) {
        return Ok(Layout::Pairs {
            root,
            files: recordings,
            unreadable,
        });
    }
    others.sort();
    let ending = |file: &Path, wanted: &[&str]| {
        file.extension()
            .and_then(|e| e.to_str())
            .is_some_and(|e| wanted.contains(&e))
    };
    let lists: Vec<&PathBuf> = others
        .iter()
        .filter(|file| ending(file, &["jsonl", "csv", "tsv", "txt"]))
        .collect();
    match lists.as_slice() {
        [one] => Ok(of_file(root, (*one).clone())),
        several => Err(LayoutError::Nothing {
            path: path.to_owned(),
            found: match several.len() {
                0 => format!("{} recordings and no text for them", recordings.len()),
                n => format!("{n} text files and no way to tell which is the metadata"),
            },
        }),
    }
}

fn of_file(root: PathBuf, file: PathBuf) -> Layout {
    if file.extension().is_some_and(|ending| ending == "jsonl") {
        return Layout::JsonLines { root, file };
    }
    // With a header or full paths a `wavs` folder is only a place; the row
    // reader handles both, and an id without an ending only makes sense here.
    if root.join("wavs").is_dir() && !first_field_is_path(&file) {
        return Layout::LjSpeech {
            root,
            metadata: file,
        };
    }
    Layout::Tables {
        root,
        files: vec![(file, None)],
    }
}

/// Whether the first line starts with a path or a column name, and not with an id.
fn first_field_is_path(file: &Path) -> bool {
    use std::io::{BufRead, BufReader};
    let Ok(file) = fs::File::open(file) else {
        return false;
    };
    let mut first = Vec::new();
    // Nothing read is nothing recognised.
    let _ = std::io::Read::take(BufReader::new(file), 4096).read_until(b'\n', &mut first);
    let first = String::from_utf8_lossy(&first);
    let field = first
        .trim_start_matches('\u{feff}')
        .split(['|', '\t', ';', ','])
        .next()
        .unwrap_or("");
    let field = field.trim().trim_matches('"');
    is_audio(Path::new(field))
        || field.contains(['/', '\\'])
        || super::header(&[field.to_owned(), "text".to_owned()]).is_some()
}

/// Whether a path ends like a recording.
pub(super) fn is_audio(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| AUDIO_ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

/// Folders deeper than this are no dataset, or a link that leads back.
const DEEPEST: u32 = 8;

/// What a folder holds, at any depth.
#[derive(Default)]
struct Found {
    recordings: Vec<PathBuf>,
    /// Files at the top that are no recordings.
    others: Vec<PathBuf>,
    unreadable: Vec<(PathBuf, String)>,
}

impl Found {
    fn collect(&mut self, folder: &Path, depth: u32) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if is_audio(&path) {
                // Whatever it turns out to be, a folder or a link that loops:
                // it calls itself a recording and becomes a row.
                self.recordings.push(path);
                continue;
            }
            match fs::metadata(&path) {
                Ok(found) if found.is_dir() && path.join(OUTPUT_MARK).is_file() => {}
                Ok(found) if found.is_dir() && depth < DEEPEST => {
                    if let Err(why) = self.collect(&path, depth + 1) {
                        self.unreadable.push((path, why.to_string()));
                    }
                }
                Ok(found) if found.is_dir() => {
                    self.unreadable
                        .push((path, format!("more than {DEEPEST} folders deep")));
                }
                Ok(_) if depth == 0 => self.others.push(path),
                _ => {}
            }
        }
        Ok(())
    }
}
