//! Dataset folders as people have them, read as one stream of rows.
//!
//! Rows are streamed: ten million lines take no more memory than ten. What
//! cannot be read is a row too, with its place and its reason, so that
//! `kept + quarantined = total` can hold.

mod columns;
mod detect;
mod line;
mod table;

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use columns::{Column, Columns, ColumnsError};
pub(crate) use detect::OUTPUT_MARK;
pub use detect::{Decided, Layout, LayoutError, Table, detect};
use line::{LONGEST_LINE, LineProblem, Lines};

/// A clip as the dataset names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path of the recording.
    pub audio: PathBuf,
    /// The text that is spoken.
    pub text: String,
    /// The speaker, where the dataset names one.
    pub speaker: Option<String>,
    /// The language tag, where the dataset has one.
    pub language: Option<String>,
    /// The part of the dataset it belongs to, where the dataset says so.
    pub split: Option<Split>,
    /// The line that names the clip.
    pub place: LinePlace,
}

/// A part of a dataset that comes in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Clips to train on.
    Train,
    /// Clips held out for validation.
    Validation,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinePlace {
    /// The path of the file.
    pub file: PathBuf,
    /// The line's number, counted from 1.
    pub line: u64,
}

/// A line that names no clip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The line in question.
    pub place: LinePlace,
    /// What is wrong with it.
    pub why: String,
}

/// A row of a dataset: a clip, or a line that names none.
pub type Row = Result<Entry, BadLine>;

/// Reads every row of a dataset, in the dataset's own order.
pub fn rows(layout: &Layout) -> io::Result<Box<dyn Iterator<Item = io::Result<Row>> + '_>> {
    match layout {
        Layout::Tables { root, tables } => {
            let mut readers = Vec::new();
            for table in tables {
                readers.push(TableRows::open(table, root)?);
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

/// The rows of one delimited file.
struct TableRows<'l> {
    lines: Lines<BufReader<File>>,
    table: &'l Table,
    root: &'l Path,
    skip_header: bool,
}

impl<'l> TableRows<'l> {
    fn open(table: &'l Table, root: &'l Path) -> io::Result<Self> {
        let file = File::open(&table.file).map_err(|why| {
            io::Error::new(why.kind(), format!("{}: {why}", table.file.display()))
        })?;
        Ok(Self {
            lines: Lines::new(BufReader::new(file)),
            table,
            root,
            skip_header: table.has_header,
        })
    }

    fn row(&self, number: u64, text: &str) -> Row {
        let place = LinePlace {
            file: self.table.file.clone(),
            line: number,
        };
        let bad = |why: &str| BadLine {
            place: place.clone(),
            why: why.to_owned(),
        };
        let Some(dialect) = self.table.dialect else {
            return Err(bad(
                "no delimiter (`|`, tab, `;` or `,`) between audio and text",
            ));
        };
        let fields = dialect.split(text);
        let at = |column| self.table.columns.position(column);
        let filled = |column| {
            let field = at(column).and_then(|index| fields.get(index));
            field.map(String::as_str).filter(|field| !field.is_empty())
        };
        let has_text = [Column::Text, Column::Written]
            .into_iter()
            .any(|column| at(column).is_some_and(|index| index < fields.len()));
        let audio = filled(Column::Id).ok_or_else(|| bad("the line names no audio file"))?;
        if !has_text {
            return Err(bad("the line has no text column"));
        }
        let said = filled(Column::Text).or(filled(Column::Written));
        let optional = |column| filled(column).map(str::to_owned);
        Ok(Entry {
            audio: recording(self.root, audio),
            text: said.unwrap_or_default().to_owned(),
            speaker: optional(Column::Speaker),
            language: optional(Column::Language),
            split: self.table.split,
            place,
        })
    }
}

impl Iterator for TableRows<'_> {
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
            match readable(line.text, line.number, &self.table.file) {
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
                format!("the line has {bytes} bytes, but at most {LONGEST_LINE} are read")
            }
            LineProblem::NotUtf8(column) => {
                format!("byte {column} of the line is not UTF-8; save the file as UTF-8")
            }
        },
    })
}

/// Finds the recording that metadata names: absolute, in the dataset's folder or
/// below its `wavs/`, with either slash, with its ending or without.
///
/// A backslash is an ordinary character in file names on this system, so a name is
/// tried as it stands before it is read as a path of another one.
fn recording(root: &Path, name: &str) -> PathBuf {
    let wavs = root.join("wavs");
    let slashed = name.replace('\\', "/");
    let names = match slashed == name {
        true => vec![name],
        false => vec![name, slashed.as_str()],
    };
    for name in names {
        for folder in [root, &wavs] {
            let path = folder.join(name);
            let is_there = match detect::is_audio(&path) {
                true => path.exists(),
                // A folder of that name is not a recording.
                false => path.is_file(),
            };
            if is_there {
                return path;
            }
        }
        if detect::is_audio(Path::new(name)) {
            continue;
        }
        for folder in [&wavs, root] {
            let with = |ending: &str| folder.join(format!("{name}.{ending}"));
            if let Some(path) = detect::AUDIO_ENDINGS
                .map(with)
                .into_iter()
                .find(|p| p.exists())
            {
                return path;
            }
        }
    }
    // Found nowhere: the most likely place is reported as missing.
    let is_id = !slashed.contains('/') && !detect::is_audio(Path::new(&slashed));
    match is_id && wavs.is_dir() {
        true => wavs.join(format!("{slashed}.wav")),
        false => root.join(&slashed),
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
                audio: recording(&root, &entry.audio),
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

/// Reads the row of `x.wav` with its `x.txt`.
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
            "the text has {length} bytes, but at most {LONGEST_LINE} are read"
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
