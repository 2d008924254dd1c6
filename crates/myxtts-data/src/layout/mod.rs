//! Dataset folders as people have them, read as one stream of rows.
//!
//! Rows are streamed: ten million lines take no more memory than ten. What
//! cannot be read is a row too, with its place and its reason, so that
//! `kept + quarantined = total` can hold.

mod detect;
mod line;
mod table;

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use detect::OUTPUT_MARK;
pub use detect::{Layout, LayoutError, detect};
use line::{LONGEST_LINE, LineProblem, Lines};
use table::{Columns, Dialect, header};

/// A clip as the dataset names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The recording.
    pub audio: PathBuf,
    /// What is said.
    pub text: String,
    /// Who says it.
    pub speaker: Option<String>,
    /// In which language.
    pub language: Option<String>,
    /// Whether the dataset sets it apart for validation.
    pub split: Option<Split>,
    /// Where the dataset says so.
    pub place: LinePlace,
}

/// Which part of a dataset that comes in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// For training.
    Train,
    /// For validation.
    Validation,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinePlace {
    /// The file.
    pub file: PathBuf,
    /// From 1.
    pub line: u64,
}

/// A line that names no clip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Which.
    pub place: LinePlace,
    /// Why.
    pub why: String,
}

/// A row of a dataset.
pub type Row = Result<Entry, BadLine>;

/// Reads every row of a dataset, in the dataset's own order.
pub fn rows(layout: &Layout) -> io::Result<Box<dyn Iterator<Item = io::Result<Row>> + '_>> {
    match layout {
        Layout::LjSpeech { root, metadata } => Ok(Box::new(TableRows::open(
            metadata,
            root,
            Naming::LjSpeech,
            None,
        )?)),
        Layout::Tables { root, files } => {
            let mut readers = Vec::new();
            for (file, split) in files {
                readers.push(TableRows::open(file, root, Naming::Paths, *split)?);
            }
            Ok(Box::new(readers.into_iter().flatten()))
        }
        Layout::JsonLines { root, file } => Ok(Box::new(json_rows(file, root)?)),
        Layout::Pairs {
            files, unreadable, ..
        } => {
            let lost = unreadable.iter().map(|(folder, why)| {
                let place = LinePlace {
                    file: folder.clone(),
                    line: 1,
                };
                Ok(Err(BadLine {
                    place,
                    why: format!("the folder cannot be read: {why}"),
                }))
            });
            Ok(Box::new(
                files.iter().map(|audio| Ok(pair(audio))).chain(lost),
            ))
        }
    }
}

/// What the first column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// An id below `wavs/`, without its ending.
    LjSpeech,
    /// A path.
    Paths,
}

/// The rows of one delimited file.
struct TableRows {
    lines: Lines<BufReader<File>>,
    file: PathBuf,
    root: PathBuf,
    naming: Naming,
    split: Option<Split>,
    dialect: Option<Dialect>,
    columns: Option<Columns>,
    skip_header: bool,
}

const SNIFFED_LINES: usize = 20;

impl TableRows {
    fn open(file: &Path, root: &Path, naming: Naming, split: Option<Split>) -> io::Result<Self> {
        let mut sample = Vec::new();
        for line in Lines::new(BufReader::new(File::open(file)?)).take(SNIFFED_LINES) {
            if let Ok(text) = line?.text {
                sample.push(text);
            }
        }
        let dialect = Dialect::sniff(&sample.iter().map(String::as_str).collect::<Vec<_>>());
        let named = dialect
            .zip(sample.first())
            .and_then(|(dialect, first)| header(&dialect.split(first)));
        Ok(Self {
            lines: Lines::new(BufReader::new(File::open(file)?)),
            file: file.to_owned(),
            root: root.to_owned(),
            naming,
            split,
            dialect,
            columns: named,
            skip_header: named.is_some(),
        })
    }

    fn row(&self, number: u64, text: &str) -> Row {
        let place = LinePlace {
            file: self.file.clone(),
            line: number,
        };
        let bad = |why: &str| BadLine {
            place: place.clone(),
            why: why.to_owned(),
        };
        let Some(dialect) = self.dialect else {
            return Err(bad(
                "no delimiter (`|`, tab, `;` or `,`) between audio and text",
            ));
        };
        let fields = dialect.split(text);
        let columns = match (self.columns, self.naming) {
            (Some(named), _) => named,
            // id | text as written | text as read: the last is what is said.
            // Some add the speaker.
            (None, Naming::LjSpeech) => {
                let text = if fields.get(2).is_some_and(|text| !text.is_empty()) {
                    2
                } else {
                    1
                };
                Columns {
                    audio: 0,
                    text,
                    speaker: Some(3),
                    language: None,
                }
            }
            (None, Naming::Paths) => Columns {
                audio: 0,
                text: 1,
                speaker: Some(2),
                language: Some(3),
            },
        };
        let field = |index: usize| {
            fields
                .get(index)
                .map(String::as_str)
                .filter(|f| !f.is_empty())
        };
        let audio = field(columns.audio).ok_or_else(|| bad("the line names no audio file"))?;
        let audio = match self.naming {
            Naming::LjSpeech => below_wavs(&self.root, audio),
            Naming::Paths => resolve(&self.root, audio),
        };
        if columns.text >= fields.len() {
            return Err(bad("the line has no text column"));
        }
        let optional = |index: Option<usize>| index.and_then(field).map(str::to_owned);
        Ok(Entry {
            audio,
            text: fields[columns.text].clone(),
            speaker: optional(columns.speaker),
            language: optional(columns.language),
            split: self.split,
            place,
        })
    }
}

impl Iterator for TableRows {
    type Item = io::Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.lines.next()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            if std::mem::take(&mut self.skip_header) {
                continue;
            }
            match readable(line.text, line.number, &self.file) {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => return Some(Ok(self.row(line.number, &text))),
                Err(bad) => return Some(Ok(Err(bad))),
            }
        }
    }
}

fn readable(text: Result<String, LineProblem>, line: u64, file: &Path) -> Result<String, BadLine> {
    text.map_err(|problem| BadLine {
        place: LinePlace {
            file: file.to_owned(),
            line,
        },
        why: match problem {
            LineProblem::TooLong(bytes) => {
                format!("the line has {bytes} bytes, and at most {LONGEST_LINE} are read")
            }
            LineProblem::NotUtf8(column) => {
                format!("byte {column} of the line is not UTF-8; save the file as UTF-8")
            }
        },
    })
}

/// `wavs/id.wav`, or whichever recording of that name there is.
fn below_wavs(root: &Path, id: &str) -> PathBuf {
    let id = id.replace('\\', "/");
    let folder = root.join("wavs");
    let given = folder.join(&id);
    if detect::is_audio(&given) {
        return given;
    }
    let with = |ending: &str| folder.join(format!("{id}.{ending}"));
    detect::AUDIO_ENDINGS
        .into_iter()
        .map(with)
        .find(|path| path.exists())
        .unwrap_or_else(|| with("wav"))
}

/// A path of the metadata: absolute, or below the dataset's folder, with either slash.
fn resolve(root: &Path, path: &str) -> PathBuf {
    let path = path.replace('\\', "/");
    let direct = root.join(&path);
    let below = root.join("wavs").join(&path);
    if !direct.exists() && below.exists() {
        below
    } else {
        direct
    }
}

#[derive(Deserialize)]
struct JsonEntry {
    #[serde(
        alias = "audio_file",
        alias = "audio_filepath",
        alias = "path",
        alias = "file",
        alias = "wav"
    )]
    audio: String,
    #[serde(alias = "transcript", alias = "sentence")]
    text: String,
    #[serde(alias = "speaker_name")]
    speaker: Option<String>,
    #[serde(alias = "lang")]
    language: Option<String>,
    split: Option<Split>,
}

fn json_rows(file: &Path, root: &Path) -> io::Result<impl Iterator<Item = io::Result<Row>>> {
    let lines = Lines::new(BufReader::new(File::open(file)?));
    let (file, root) = (file.to_owned(), root.to_owned());
    Ok(lines.filter_map(move |line| {
        let line = match line {
            Ok(line) => line,
            Err(error) => return Some(Err(error)),
        };
        let text = match readable(line.text, line.number, &file) {
            Ok(text) if text.trim().is_empty() => return None,
            Ok(text) => text,
            Err(bad) => return Some(Ok(Err(bad))),
        };
        let place = LinePlace {
            file: file.clone(),
            line: line.number,
        };
        Some(Ok(match serde_json::from_str::<JsonEntry>(&text) {
            Ok(entry) => Ok(Entry {
                audio: resolve(&root, &entry.audio),
                text: entry.text,
                speaker: entry.speaker,
                language: entry.language,
                split: entry.split,
                place,
            }),
            Err(why) => Err(BadLine {
                place,
                why: format!("not a JSON object with audio and text: {why}"),
            }),
        }))
    }))
}

/// `x.wav` with its `x.txt`.
fn pair(audio: &Path) -> Row {
    let file = audio.with_extension("txt");
    let place = LinePlace {
        file: file.clone(),
        line: 1,
    };
    let bad = |why: String| BadLine {
        place: place.clone(),
        why,
    };
    let length = std::fs::metadata(&file)
        .map_err(|why| bad(format!("the text beside {}: {why}", audio.display())))?
        .len();
    if length > LONGEST_LINE as u64 {
        return Err(bad(format!(
            "the text has {length} bytes, and at most {LONGEST_LINE} are read"
        )));
    }
    let bytes = std::fs::read(&file).map_err(|why| bad(why.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|why| {
        bad(format!(
            "byte {} of the text is not UTF-8",
            why.utf8_error().valid_up_to() + 1
        ))
    })?;
    let text = text
        .trim_start_matches('\u{feff}')
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    Ok(Entry {
        audio: audio.to_owned(),
        text,
        speaker: None,
        language: None,
        split: None,
        place,
    })
}
