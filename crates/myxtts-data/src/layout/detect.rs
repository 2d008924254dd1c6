//! Which layout a folder has.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use myxtts_base::report;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::columns::{Columns, ColumnsError, by_content};
use super::line::Lines;
use super::table::Dialect;
use super::{Split, recording};

/// The endings of files that can be decoded.
pub(super) const AUDIO_ENDINGS: [&str; 7] = ["wav", "flac", "mp3", "ogg", "m4a", "aac", "mp4"];

/// How a dataset folder is arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One or more delimited files of recordings and texts.
    Tables {
        /// The folder that paths are relative to.
        root: PathBuf,
        /// The delimited files, in order.
        tables: Vec<Table>,
    },
    /// One JSON object a line.
    JsonLines {
        /// The folder that paths are relative to.
        root: PathBuf,
        /// The file with the objects.
        file: PathBuf,
    },
    /// Recordings, each with a text beside it.
    Pairs {
        /// The folder that holds them.
        root: PathBuf,
        /// The recordings, in sorted order.
        files: Vec<PathBuf>,
        /// Folders below it that cannot be read, and why: what is in them is
        /// missing, and a report must say so.
        unreadable: Vec<(PathBuf, String)>,
    },
}

/// A delimited file, and how it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The path of the file.
    pub file: PathBuf,
    /// The part of the dataset that it holds, where its name says so.
    pub split: Option<Split>,
    /// What its columns hold.
    pub columns: Columns,
    /// How that was decided.
    pub decided: Decided,
    pub(super) dialect: Option<Dialect>,
    pub(super) has_header: bool,
}

/// How it was decided what the columns hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decided {
    /// By the flag `--columns`.
    Given,
    /// By the first line.
    Header,
    /// By the values they hold.
    Content,
}

/// The number of lines used to find the delimiter.
const DIALECT_LINES: usize = 20;
/// The number of lines used to tell the columns.
const CONTENT_LINES: usize = 1000;

impl Table {
    fn open(
        file: &Path,
        root: &Path,
        split: Option<Split>,
        given: Option<&Columns>,
    ) -> Result<Self, LayoutError> {
        let sample = first_lines(file).map_err(|why| LayoutError::Unreadable {
            path: file.to_owned(),
            why,
        })?;
        let start: Vec<&str> = sample
            .iter()
            .map(String::as_str)
            .take(DIALECT_LINES)
            .collect();
        let dialect = Dialect::sniff(&start);
        let rows: Vec<Vec<String>> = match dialect {
            Some(dialect) => sample.iter().map(|line| dialect.split(line)).collect(),
            None => vec![],
        };
        let header = rows.first().and_then(|first| Columns::of_header(first));
        let has_header = header.is_some();
        let (columns, decided) = match (given, header) {
            (Some(given), _) => {
                let found = rows.iter().map(Vec::len).max().unwrap_or(given.len());
                if found < given.len() {
                    return Err(LayoutError::TooManyColumns {
                        path: file.to_owned(),
                        given: given.clone(),
                        found,
                        line: sample.first().cloned().unwrap_or_default(),
                    });
                }
                (given.clone(), Decided::Given)
            }
            (None, Some(header)) => (header, Decided::Header),
            (None, None) => {
                let is_recording =
                    |name: &str| is_audio(Path::new(name)) || recording(root, name).is_file();
                let columns = by_content(&rows, is_recording);
                let columns = columns.map_err(|why| LayoutError::Ambiguous {
                    path: file.to_owned(),
                    why,
                    line: sample.first().cloned().unwrap_or_default(),
                })?;
                (columns, Decided::Content)
            }
        };
        Ok(Self {
            file: file.to_owned(),
            split,
            columns,
            decided,
            dialect,
            has_header,
        })
    }
}

/// Returns the first lines that are text and not empty.
fn first_lines(file: &Path) -> io::Result<Vec<String>> {
    let mut sample = Vec::new();
    for line in Lines::new(BufReader::new(File::open(file)?)).take(CONTENT_LINES) {
        match line?.text {
            Ok(text) if !text.trim().is_empty() => sample.push(text),
            _ => {}
        }
    }
    Ok(sample)
}

/// The file that marks a folder as results of ours, not recordings of a dataset.
pub(crate) const OUTPUT_MARK: &str = ".myxtts";

impl Layout {
    /// Returns the dataset's folder.
    pub(crate) fn root(&self) -> &Path {
        match self {
            Self::Tables { root, .. } | Self::JsonLines { root, .. } | Self::Pairs { root, .. } => {
                root
            }
        }
    }

    /// Counts the lines that name clips: about as many as there are rows, and found
    /// without parsing them.
    pub fn lines(&self) -> io::Result<u64> {
        match self {
            Self::Pairs { files, .. } => Ok(files.len() as u64),
            Self::JsonLines { file, .. } => super::line::count(File::open(file)?),
            Self::Tables { tables, .. } => {
                let counts = tables
                    .iter()
                    .map(|table| super::line::count(File::open(&table.file)?));
                counts.sum()
            }
        }
    }
}

/// Why a folder is not a dataset.
#[derive(Debug, Error)]
pub enum LayoutError {
    /// The dataset cannot be read.
    #[error(
        "{}",
        report!(
            "cannot read the dataset {}: {why}", path.display();
            fix: "give the folder that holds the recordings, and that this user may read"
        )
    )]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// The error of the operating system.
        why: io::Error,
    },
    /// Nothing in the folder looks like a dataset.
    #[error(
        "{}",
        report!(
            "no dataset in {}", path.display();
            found: "{found}";
            fix: "put one of these there: metadata.csv with a wavs/ folder; metadata_train.csv and \
                  metadata_eval.csv; a CSV or text file of `audio|text` lines; a .jsonl manifest; \
                  or recordings with a .txt beside each"
        )
    )]
    Nothing {
        /// The folder that was searched.
        path: PathBuf,
        /// What it holds instead.
        found: String,
    },
    /// The values of a table do not tell what its columns hold.
    #[error(
        "{}",
        report!(
            "what do the columns of {} hold? {why}", path.display();
            found: "{line}";
            fix: "name the columns in order, for example --columns id,text,speaker; the names are \
                  id, text, speaker, language, written, and - for a column that is not used"
        )
    )]
    Ambiguous {
        /// The path of the table.
        path: PathBuf,
        /// What is unclear about it.
        why: String,
        /// The first line of the table.
        line: String,
    },
    /// More columns were named than the table has.
    #[error(
        "{}",
        report!(
            "--columns {given} names {} columns, but the lines of {} have {found}",
            given.len(), path.display();
            found: "{line}";
            fix: "name exactly the columns that the lines have"
        )
    )]
    TooManyColumns {
        /// The path of the table.
        path: PathBuf,
        /// The columns that were named.
        given: Columns,
        /// The number of columns found.
        found: usize,
        /// The first line of the table.
        line: String,
    },
    /// Columns were named for a dataset that has no tables.
    #[error(
        "{}",
        report!(
            "--columns is for tables, but {} is {what}", path.display();
            fix: "leave --columns out"
        )
    )]
    NoColumns {
        /// The path of the dataset.
        path: PathBuf,
        /// The kind of dataset it is.
        what: &'static str,
    },
    /// Columns were named wrongly.
    #[error(transparent)]
    Columns(#[from] ColumnsError),
}

/// Looks at a folder or a metadata file and decides how to read it. `columns` are
/// those of its tables, where a person names them.
pub fn detect(path: &Path, columns: Option<&Columns>) -> Result<Layout, LayoutError> {
    let layout = layout_of(path, columns)?;
    let what = match (&layout, columns) {
        (Layout::JsonLines { .. }, Some(_)) => "a .jsonl file, which names its own fields",
        (Layout::Pairs { .. }, Some(_)) => "a folder of recordings with a .txt beside each",
        _ => return Ok(layout),
    };
    let path = path.to_owned();
    Err(LayoutError::NoColumns { path, what })
}

fn layout_of(path: &Path, columns: Option<&Columns>) -> Result<Layout, LayoutError> {
    let unreadable = |why| LayoutError::Unreadable {
        path: path.to_owned(),
        why,
    };
    if fs::metadata(path).map_err(unreadable)?.is_file() {
        let root = path.parent().unwrap_or(Path::new("")).to_owned();
        return of_file(root, path.to_owned(), columns);
    }
    match by_name(path, columns)? {
        Some(layout) => Ok(layout),
        None => by_contents(path, columns),
    }
}

/// Reads a metadata file as its ending says.
fn of_file(root: PathBuf, file: PathBuf, columns: Option<&Columns>) -> Result<Layout, LayoutError> {
    match file.extension() {
        Some(ending) if ending == "jsonl" => Ok(Layout::JsonLines { root, file }),
        _ => {
            let table = Table::open(&file, &root, None, columns)?;
            let tables = vec![table];
            Ok(Layout::Tables { root, tables })
        }
    }
}

/// Looks for metadata files by their usual names.
fn by_name(path: &Path, columns: Option<&Columns>) -> Result<Option<Layout>, LayoutError> {
    let root = path.to_owned();
    let named = |names: &[&str]| {
        names
            .iter()
            .map(|n| root.join(n))
            .find(|file| file.is_file())
    };
    if let Some(file) = named(&["manifest.jsonl", "metadata.jsonl"]) {
        return Ok(Some(Layout::JsonLines { root, file }));
    }
    if let Some(train) = named(&["metadata_train.csv", "metadata_train.txt"]) {
        let mut tables = vec![Table::open(&train, &root, Some(Split::Train), columns)?];
        if let Some(file) = named(&["metadata_eval.csv", "metadata_eval.txt", "metadata_val.csv"]) {
            tables.push(Table::open(&file, &root, Some(Split::Validation), columns)?);
        }
        return Ok(Some(Layout::Tables { root, tables }));
    }
    match named(&["metadata.csv", "metadata.txt", "metadata.tsv"]) {
        Some(metadata) => of_file(root, metadata, columns).map(Some),
        None => Ok(None),
    }
}

/// Looks at everything in a folder: recordings with a text beside them, or the
/// one file that may be the metadata.
fn by_contents(path: &Path, columns: Option<&Columns>) -> Result<Layout, LayoutError> {
    let root = path.to_owned();
    let unreadable = |why| LayoutError::Unreadable {
        path: path.to_owned(),
        why,
    };
    let mut found = Found::default();
    found.collect(path, 0).map_err(unreadable)?;
    let Found {
        mut recordings,
        mut others,
        unreadable,
        ..
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
        [one] => of_file(root, (*one).clone(), columns),
        several => Err(LayoutError::Nothing {
            path: path.to_owned(),
            found: match several.len() {
                0 => format!("{} recordings and no text for them", recordings.len()),
                n => format!("{n} text files and no way to tell which is the metadata"),
            },
        }),
    }
}

/// Returns whether a path ends like a recording.
pub(super) fn is_audio(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| AUDIO_ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

/// The deepest level of folders that is searched.
const DEEPEST: u32 = 8;

/// What a folder holds, at any depth.
#[derive(Default)]
struct Found {
    recordings: Vec<PathBuf>,
    /// Files at the top that are not recordings.
    others: Vec<PathBuf>,
    unreadable: Vec<(PathBuf, String)>,
    /// Folders already visited, by their true paths, so that a link that leads
    /// back, or a second one to the same place, ends here.
    seen: HashSet<PathBuf>,
}

impl Found {
    fn collect(&mut self, folder: &Path, depth: u32) -> io::Result<()> {
        if !self.seen.insert(fs::canonicalize(folder)?) {
            return Ok(());
        }
        let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
        let mut paths: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
        // Links last and all in one order, so that a folder that is reached in
        // two ways is always named in the same one.
        paths.sort_by_cached_key(|path| (path.is_symlink(), path.clone()));
        for path in paths {
            if is_audio(&path) {
                // Whatever it turns out to be, even a folder or a link that loops,
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
