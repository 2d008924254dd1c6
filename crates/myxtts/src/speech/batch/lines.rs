//! The lines of a file: texts, or JSON objects.
//!
//! A line of a `.jsonl` file is an object. All fields but `text` are optional, and a flag sets
//! what a line does not:
//!
//! | field | holds |
//! |---|---|
//! | `text` | what to say |
//! | `id` | a name; the recording is `ID.wav` |
//! | `out` | the recording, below the folder |
//! | `speaker`, `voice`, `speaker_wav` | as the flags of these names; one of them at most |
//! | `language`, `vocoder`, `speed`, `seed`, `greedy`, `beams`, `length_penalty`, `temperature`, `top_k`, `top_p`, `repetition_penalty` | as the flags |

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};

use myxtts_base::{Report, report};
use myxtts_infer::{SamplingDefaults, Vocoder};
use myxtts_text::Language;
use serde::Deserialize;

use super::report::Failed;
use crate::error::Error;
use crate::speech::{BEAMS, Chosen, LENGTH_PENALTIES, LONGEST_TEXT, SPEEDS, unreadable};

/// The largest file of lines, in bytes: a thousand hours of speech.
const LARGEST_FILE: u64 = 64 << 20;
/// The longest name of a recording, in bytes: file systems take 255 with the extension.
const LONGEST_NAME: usize = 200;

/// A line, or why it cannot be spoken.
pub type Parsed = Result<Line, Failed>;

/// A text that becomes a recording.
#[derive(Clone, Debug)]
pub struct Line {
    /// The number of the line, from 1.
    pub(super) number: usize,
    pub(super) id: Option<String>,
    pub(super) text: String,
    /// The path below the folder, with slashes on every system.
    pub(super) file: String,
    /// The voice, if the line names one.
    pub(super) voice: Option<Wish>,
    /// The other options of the line.
    pub(super) chosen: Chosen,
}

/// The voice that a line asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wish {
    Speaker(String),
    Voice(PathBuf),
    Recordings(Vec<PathBuf>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    text: String,
    id: Option<Id>,
    out: Option<String>,
    speaker: Option<String>,
    voice: Option<PathBuf>,
    speaker_wav: Option<OneOrMore>,
    language: Option<String>,
    vocoder: Option<Vocoder>,
    speed: Option<f64>,
    seed: Option<u64>,
    #[serde(default)]
    greedy: bool,
    beams: Option<usize>,
    length_penalty: Option<f32>,
    temperature: Option<f32>,
    top_k: Option<u32>,
    top_p: Option<f32>,
    repetition_penalty: Option<f32>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(u64),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(PathBuf),
    More(Vec<PathBuf>),
}

/// Reads the lines of a file; blank ones do not count.
///
/// # Errors
/// When the file cannot be read, or has no lines. A line that cannot be spoken is in its place.
pub fn read_lines(path: &Path) -> Result<Vec<Parsed>, Error> {
    let place = path.display().to_string();
    let unread = |why: std::io::Error| unreadable(&place, &why);
    let mut bytes = vec![];
    let file = File::open(path).map_err(unread)?;
    file.take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(unread)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(Error::Refused(report!(
            "the file of lines is larger than {LARGEST_FILE} bytes";
            at: "{place}";
            fix: "split it into several files"
        )));
    }
    let is_json = path.extension().is_some_and(|kind| kind == "jsonl");
    let lines = parse(&bytes, is_json);
    match lines.is_empty() {
        true => Err(Error::Refused(report!(
            "there is nothing to say: the file has no lines";
            at: "{place}";
            fix: "write one text per line"
        ))),
        false => Ok(lines),
    }
}

fn parse(bytes: &[u8], is_json: bool) -> Vec<Parsed> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    lines
        .map(|(number, line)| {
            let failed = |why: Report| Failed {
                line: number,
                why: why.to_string(),
            };
            if line.len() as u64 > LONGEST_TEXT {
                return Err(failed(report!("it is longer than {LONGEST_TEXT} bytes")));
            }
            let text = std::str::from_utf8(line)
                .map_err(|why| failed(report!("it is not UTF-8: {why}")))?;
            let line = match is_json {
                true => object(number, text),
                false => Ok(plain(number, text.trim().to_owned())),
            };
            let line = line.map_err(failed)?;
            // If two lines name the same file, the second would replace the first.
            match taken.insert(line.file.to_lowercase(), number) {
                None => Ok(line),
                Some(first) => {
                    taken.insert(line.file.to_lowercase(), first);
                    Err(failed(report!(
                        "its recording {} is that of line {first}",
                        line.file
                    )))
                }
            }
        })
        .collect()
}

fn plain(number: usize, text: String) -> Line {
    Line {
        number,
        id: None,
        text,
        file: format!("{number:06}.wav"),
        voice: None,
        chosen: Chosen::default(),
    }
}

fn object(number: usize, text: &str) -> Result<Line, Report> {
    let fields = fields(text)?;
    let language = fields.language.as_deref().map(str::parse::<Language>);
    let speed = within("speed", fields.speed, SPEEDS)?;
    let beams = within("beams", fields.beams, BEAMS)?;
    let voice = wish(fields.speaker, fields.voice, fields.speaker_wav)?;
    let id = fields.id.map(|id| match id {
        Id::Text(text) => text,
        Id::Number(number) => number.to_string(),
    });
    let mut line = plain(number, fields.text);
    line.file = match (fields.out, &id) {
        (Some(out), _) => path_below(&out)?,
        (None, Some(id)) => name_of(id)?,
        (None, None) => line.file,
    };
    line.id = id;
    line.voice = voice;
    line.chosen = Chosen {
        language: language
            .transpose()
            .map_err(|why| Report::new(why.to_string()))?,
        vocoder: fields.vocoder,
        speed,
        seed: fields.seed,
        greedy: fields.greedy,
        beams,
        length_penalty: within("length_penalty", fields.length_penalty, LENGTH_PENALTIES)?,
        temperature: within(
            "temperature",
            fields.temperature,
            SamplingDefaults::TEMPERATURES,
        )?,
        top_k: fields.top_k,
        top_p: within("top_p", fields.top_p, SamplingDefaults::SHARES)?,
        repetition_penalty: within(
            "repetition_penalty",
            fields.repetition_penalty,
            SamplingDefaults::PENALTIES,
        )?,
    };
    Ok(line)
}

fn fields(text: &str) -> Result<Fields, Report> {
    // A list of as many values would be taken for the fields in order.
    if !text.trim_start().starts_with('{') {
        return Err("it is not an object: it does not begin with `{`".into());
    }
    serde_json::from_str(text).map_err(|why| {
        // The parser counts lines of its own, of which there is only one.
        let why = why.to_string().replace("at line 1 column", "at column");
        report!("it is not an object with these fields: {why}")
    })
}

/// Checks that a number, if the line has it, is within `range`.
fn within<T: PartialOrd + Display>(
    name: &str,
    value: Option<T>,
    range: RangeInclusive<T>,
) -> Result<Option<T>, Report> {
    match value {
        Some(value) if !range.contains(&value) => Err(report!(
            "its `{name}` is {value}, but {} to {} is needed",
            range.start(),
            range.end()
        )),
        value => Ok(value),
    }
}

/// Returns the voice that the line asks for, in one way at most.
fn wish(
    speaker: Option<String>,
    voice: Option<PathBuf>,
    recordings: Option<OneOrMore>,
) -> Result<Option<Wish>, Report> {
    Ok(match (speaker, voice, recordings) {
        (None, None, None) => None,
        (Some(speaker), None, None) => Some(Wish::Speaker(speaker)),
        (None, Some(file), None) => Some(Wish::Voice(file)),
        (None, None, Some(OneOrMore::One(path))) => Some(Wish::Recordings(vec![path])),
        (None, None, Some(OneOrMore::More(paths))) => Some(Wish::Recordings(paths)),
        _ => return Err("it has more than one of `speaker`, `voice` and `speaker_wav`".into()),
    })
}

/// Returns the file name of the recording with this id.
fn name_of(id: &str) -> Result<String, Report> {
    let is_name = !id.is_empty()
        && id.len() <= LONGEST_NAME
        && !id.starts_with('.')
        && !id
            .chars()
            .any(|c| c.is_control() || r#"/\:*?"<>|"#.contains(c));
    match is_name {
        true => Ok(format!("{id}.wav")),
        false => Err(report!("its `id` {id:?} cannot be the name of a file")),
    }
}

/// Checks that a recording is below the folder.
fn path_below(out: &str) -> Result<String, Report> {
    let path = Path::new(out);
    let names: Option<Vec<&str>> = path
        .components()
        .map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let is_wav = path
        .extension()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("wav"));
    match names {
        Some(names) if is_wav && !out.contains(['\\', '\0']) && out.len() <= 4 * LONGEST_NAME => {
            Ok(names.join("/"))
        }
        _ => Err(report!(
            "its `out` {out:?} is not a WAV file below --out-dir"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &[u8], is_json: bool) -> String {
        let lines = parse(text, is_json).into_iter().map(|line| match line {
            Ok(line) => format!("{}: {} <- {:?}", line.number, line.file, line.text),
            Err(Failed { line, why }) => format!("{line}: error: {why}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn texts_are_numbered_by_their_lines() {
        insta::assert_snapshot!(told(
            b"\xef\xbb\xbfHello.\r\n\n  \nThere\xff\n Yes. ",
            false
        ));
    }

    #[test]
    fn objects_and_what_is_wrong_with_them() {
        let lines = [
            r#"{"text": "Hello."}"#,
            r#"{"text": "Hello.", "id": "a1"}"#,
            r#"{"text": "Hello.", "id": 7, "speed": 0.5, "seed": 3, "language": "fa"}"#,
            r#"{"text": "Hello.", "out": "b/c.wav", "speaker_wav": ["x.wav", "y.wav"]}"#,
            r#"{"text": "Hello.", "id": "A1"}"#,
            r#"{"text": "Hello.""#,
            r#"["text"]"#,
            r#"{"id": "none"}"#,
            r#"{"text": 3}"#,
            r#"{"text": "Hello.", "colour": "red"}"#,
            r#"{"text": "Hello.", "id": "../up"}"#,
            r#"{"text": "Hello.", "id": ""}"#,
            r#"{"text": "Hello.", "out": "/tmp/a.wav"}"#,
            r#"{"text": "Hello.", "out": "../a.wav"}"#,
            r#"{"text": "Hello.", "out": "a.mp3"}"#,
            r#"{"text": "Hello.", "speaker": "anna", "voice": "a.voice"}"#,
            r#"{"text": "Hello.", "temperature": 0}"#,
            r#"{"text": "Hello.", "speed": 9}"#,
            r#"{"text": "Hello.", "language": "english"}"#,
            r#"{"text": "Hello.", "vocoder": "wavenet"}"#,
        ];
        insta::assert_snapshot!(told(lines.join("\n").as_bytes(), true));
    }
}
