//! What the columns of a table hold.
//!
//! A person says it (`--columns`), the first line names them, or the values
//! tell: a transcript is sentences, a speaker is a short name, LJSpeech's third
//! column is its second column again. A position alone tells nothing:
//! `id|text|speaker` and LJSpeech's `id|text|text` look alike, and taking one
//! for the other trains every clip on the speaker's name. Where values do not
//! tell, there is no guess.

use std::collections::HashSet;
use std::fmt;

use myxtts_base::report;
use serde::{Deserialize, Serialize};

/// What one column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Column {
    /// The recording: a path, or a name below `wavs/`.
    Id,
    /// The text that is spoken.
    Text,
    /// The text before it was normalised; used where `text` is empty.
    Written,
    /// The name of the speaker.
    Speaker,
    /// The tag of the language.
    Language,
    /// A column that is not used.
    #[serde(rename = "-")]
    Unused,
}

impl Column {
    /// Every column with its name.
    const NAMES: [(Self, &'static str); 6] = [
        (Self::Id, "id"),
        (Self::Text, "text"),
        (Self::Written, "written"),
        (Self::Speaker, "speaker"),
        (Self::Language, "language"),
        (Self::Unused, "-"),
    ];
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(column, _)| column == self);
        f.write_str(name.map_or("-", |(_, name)| name))
    }
}

/// Names that a header may give a column, the surest first.
const HEADER_NAMES: [(Column, &[&str]); 5] = [
    (
        Column::Id,
        &[
            "audio_file",
            "audio",
            "audio_path",
            "audio_filepath",
            "path",
            "file",
            "file_name",
            "filename",
            "file_path",
            "filepath",
            "wav",
            "wav_path",
            "wav_filename",
            "id",
            "clip",
            "clip_id",
            "audio_id",
            "utterance_id",
            "utt_id",
        ],
    ),
    (
        Column::Text,
        &["normalized_text", "normalised_text", "text_normalized"],
    ),
    (
        Column::Text,
        &["text", "transcript", "transcription", "sentence"],
    ),
    (
        Column::Speaker,
        &["speaker_name", "speaker", "speaker_id", "client_id"],
    ),
    (Column::Language, &["language", "lang", "locale"]),
];

/// The columns of a table, from the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Columns(Vec<Column>);

/// Why columns that a person named cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// A word is not the name of a column.
    #[error(
        "{}",
        report!(
            "`{name}` is not the name of a column";
            fix: "give --columns the names id, text, speaker, language, written (the text before it \
                  was normalised) and `-` for a column that is not used, in the order of the table"
        )
    )]
    Unknown {
        /// The word that was given.
        name: String,
    },
    /// A column is missing, or is named more than once.
    #[error(
        "{}",
        report!(
            "--columns {given} names `{column}` {times} times";
            fix: "name it once; `id` and `text` must be there, `-` stands for a column that is not \
                  used"
        )
    )]
    Times {
        /// The columns as they were given.
        given: String,
        /// The column in question.
        column: Column,
        /// How often it was named.
        times: usize,
    },
}

impl Columns {
    /// Reads the names that a person gave.
    pub fn named<T: AsRef<str>>(names: &[T]) -> Result<Self, ColumnsError> {
        let column = |name: &T| {
            let name = name.as_ref().trim().to_lowercase();
            let own = Column::NAMES.iter().find(|(_, own)| *own == name);
            let header = HEADER_NAMES
                .iter()
                .find(|(_, names)| names.contains(&name.as_str()));
            own.map(|(column, _)| *column)
                .or(header.map(|(column, _)| *column))
                .ok_or(ColumnsError::Unknown { name })
        };
        let columns = Self(names.iter().map(column).collect::<Result<_, _>>()?);
        for (column, _) in Column::NAMES {
            let times = columns.0.iter().filter(|found| **found == column).count();
            let is_needed = matches!(column, Column::Id | Column::Text);
            if times > 1 && column != Column::Unused || is_needed && times == 0 {
                return Err(ColumnsError::Times {
                    given: columns.to_string(),
                    column,
                    times,
                });
            }
        }
        Ok(columns)
    }

    /// Returns the columns that a first line names, or `None` if it is not a header.
    pub(super) fn of_header(fields: &[String]) -> Option<Self> {
        let mut columns = vec![Column::Unused; fields.len()];
        let fields: Vec<String> = fields.iter().map(|field| field.to_lowercase()).collect();
        for (column, names) in HEADER_NAMES {
            let mut found = names
                .iter()
                .filter_map(|name| fields.iter().position(|field| field == name));
            let Some(at) = found.next() else { continue };
            // A second transcript is the first one, before it was normalised.
            let column = match column {
                Column::Text if columns.contains(&Column::Text) => Column::Written,
                column => column,
            };
            columns[at] = column;
        }
        let has = |column| columns.contains(&column);
        (has(Column::Id) && has(Column::Text)).then_some(Self(columns))
    }

    /// Returns the position of a column, if the table has it.
    pub(super) fn position(&self, column: Column) -> Option<usize> {
        self.0.iter().position(|found| *found == column)
    }

    /// Returns the number of columns.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(Column::to_string).collect();
        f.write_str(&names.join(","))
    }
}

/// Decides by the values of the first lines. `names_recording` says whether a value
/// is the name of a recording. The error says what is unclear.
pub(super) fn by_content(
    rows: &[Vec<String>],
    names_recording: impl Fn(&str) -> bool,
) -> Result<Columns, String> {
    let width = usual_width(rows);
    if width < 2 {
        return Ok(Columns(vec![Column::Id, Column::Text]));
    }
    let rows: Vec<&Vec<String>> = rows.iter().filter(|row| row.len() >= 2).collect();
    let values = |at: usize| {
        let values = rows.iter().filter_map(move |row| row.get(at));
        values.map(String::as_str).filter(|value| !value.is_empty())
    };
    let recordings = |at: usize| {
        let tried: Vec<&str> = values(at).take(RECORDINGS_TRIED).collect();
        let named = tried.iter().filter(|value| names_recording(value)).count();
        2 * named > tried.len()
    };
    // Where all recordings are missing, the first column is taken and every clip is
    // reported.
    let id = (0..width).find(|at| recordings(*at)).unwrap_or_default();
    let mut columns = vec![Column::Unused; width];
    columns[id] = Column::Id;
    let mut kinds: Vec<Kind> = (0..width)
        .map(|at| Kind::of(&values(at).collect::<Vec<_>>()))
        .collect();
    kinds[id] = Kind::Nothing;
    // A column that repeats the name in the path is the clip's name again.
    for at in (0..width).filter(|at| *at != id) {
        let same = |row: &&&Vec<String>| {
            let stem = |path: &str| {
                let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
                name.split('.').next().unwrap_or(name).to_owned()
            };
            row.get(id)
                .zip(row.get(at))
                .is_some_and(|(path, value)| !value.is_empty() && stem(path) == stem(value))
        };
        if 2 * rows.iter().filter(same).count() > rows.len() {
            kinds[at] = Kind::Nothing;
        }
    }
    // The transcript, once or twice.
    let mut copies = (0..width).flat_map(|a| (a + 1..width).map(move |b| (a, b)));
    let copy = copies.find(|(a, b)| {
        let said = |at: &usize| matches!(kinds[*at], Kind::Sentences | Kind::Label);
        said(a) && said(b) && are_copies(&rows, *a, *b)
    });
    let text = match copy {
        Some((written, text)) => {
            columns[written] = Column::Written;
            (kinds[written], kinds[text]) = (Kind::Nothing, Kind::Sentences);
            text
        }
        None => {
            let with = |kind: Kind| {
                (0..width)
                    .filter(|at| kinds[*at] == kind)
                    .collect::<Vec<_>>()
            };
            let filled = (0..width).filter(|at| kinds[*at] != Kind::Nothing);
            match (
                with(Kind::Sentences)[..].as_ref(),
                filled.collect::<Vec<_>>()[..].as_ref(),
            ) {
                ([text], _) | ([], [text]) => *text,
                ([], []) => return Ok(Columns(vec![Column::Id, Column::Text])),
                ([], labels) => {
                    return Err(format!(
                        "{} hold short values, and any of them may be the spoken text",
                        listed(labels)
                    ));
                }
                (several, _) => {
                    return Err(format!(
                        "{} hold sentences, and the sentences differ",
                        listed(several)
                    ));
                }
            }
        }
    };
    columns[text] = Column::Text;
    kinds[text] = Kind::Nothing;
    let left = |kind: Kind| {
        (0..width)
            .filter(|at| kinds[*at] == kind)
            .collect::<Vec<_>>()
    };
    match left(Kind::Sentences)[..].as_ref() {
        [] => {}
        more => {
            let mut all = more.to_vec();
            all.push(text);
            all.sort_unstable();
            return Err(format!(
                "{} hold sentences, and the sentences differ",
                listed(&all)
            ));
        }
    }
    if let [language] = left(Kind::Tag)[..] {
        columns[language] = Column::Language;
    }
    match left(Kind::Label)[..].as_ref() {
        [] => {}
        [speaker] => columns[*speaker] = Column::Speaker,
        several => {
            return Err(format!(
                "{} hold short names, and any of them may name the speaker",
                listed(several)
            ));
        }
    }
    Ok(Columns(columns))
}

/// The number of files looked for in each column.
const RECORDINGS_TRIED: usize = 50;

/// Lists columns, as in `columns 2 and 3`.
fn listed(columns: &[usize]) -> String {
    let numbers: Vec<String> = columns.iter().map(|at| (at + 1).to_string()).collect();
    match numbers.split_last() {
        Some((last, [])) => format!("column {last}"),
        Some((last, rest)) => format!("columns {} and {last}", rest.join(", ")),
        None => "no columns".to_owned(),
    }
}

/// Returns the number of fields that most lines have.
fn usual_width(rows: &[Vec<String>]) -> usize {
    let widths: Vec<usize> = rows.iter().map(Vec::len).collect();
    let times = |width: usize| widths.iter().filter(|found| **found == width).count();
    let distinct: HashSet<usize> = widths.iter().copied().filter(|width| *width >= 2).collect();
    let usual = distinct
        .into_iter()
        .max_by_key(|width| (times(*width), *width));
    usual.unwrap_or(0)
}

/// What the values of a column look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// No value, or none of use.
    Nothing,
    /// Sentences, as people say them.
    Sentences,
    /// Up to three words that do not end like a sentence.
    Label,
    /// The tags of languages.
    Tag,
}

/// The most words that a name has.
const LONGEST_NAME_WORDS: usize = 3;
const LONGEST_NAME_CHARACTERS: usize = 40;

impl Kind {
    fn of(values: &[&str]) -> Self {
        if values.is_empty() || are_numbers(values) {
            return Self::Nothing;
        }
        if values
            .iter()
            .all(|value| LANGUAGES.contains(&base(value).as_str()))
        {
            return Self::Tag;
        }
        let is_long = |value: &&&str| {
            words(value).len() > LONGEST_NAME_WORDS
                || value.chars().count() > LONGEST_NAME_CHARACTERS
        };
        let is_closed =
            |value: &&&str| value.ends_with(['.', '?', '!', '؟', '۔', '。', '？', '！', '।']);
        let share = |times: usize| times as f64 / values.len() as f64;
        let long = share(values.iter().filter(is_long).count());
        let closed = share(values.iter().filter(is_closed).count());
        match long > 0.05 || closed > 0.2 {
            true => Self::Sentences,
            false => Self::Label,
        }
    }
}

/// Returns whether the values are lengths in seconds and the like: numbers with a
/// point, or a different one on nearly every line. Whole numbers that repeat are
/// names of speakers.
fn are_numbers(values: &[&str]) -> bool {
    let all = values.iter().all(|value| value.parse::<f64>().is_ok());
    let distinct: HashSet<&&str> = values.iter().collect();
    let vary = values.len() >= 10 && 2 * distinct.len() > values.len();
    all && (vary || values.iter().any(|value| value.contains('.')))
}

/// Languages that a short column may name; a column of others needs `--columns`.
const LANGUAGES: [&str; 24] = [
    "ar", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hu", "it", "ja", "ko",
    "nl", "pl", "pt", "ru", "sv", "tr", "uk", "zh",
];

/// Returns the language of a tag: `pt` of `pt-BR`.
fn base(tag: &str) -> String {
    let base = tag.split(['-', '_']).next().unwrap_or_default();
    base.to_lowercase()
}

/// Returns whether one column repeats the other: LJSpeech's third is its second
/// with numbers and abbreviations written out, so most words are the same.
fn are_copies(rows: &[&Vec<String>], a: usize, b: usize) -> bool {
    let mut both = 0;
    let mut same = 0;
    for row in rows {
        let (Some(a), Some(b)) = (row.get(a), row.get(b)) else {
            continue;
        };
        let (a, b) = (words(a), words(b));
        if a.is_empty() || b.is_empty() {
            continue;
        }
        both += 1;
        let mut left = b.clone();
        let shared = a.iter().filter(|word| {
            let at = left.iter().position(|other| other == *word);
            at.map(|at| left.swap_remove(at)).is_some()
        });
        let shared = shared.count();
        same += usize::from(2 * shared >= a.len().max(b.len()));
    }
    both > 0 && 2 * same > both
}

/// Splits a text into words without marks, or into characters where a script has no spaces.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in text.chars() {
        let is_alone = matches!(u32::from(c), 0x0E00..=0x0EFF | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x9FFF);
        let is_mark = matches!(u32::from(c), 0x0300..=0x036F | 0x064B..=0x065F | 0x0670);
        if is_alone {
            words.push(c.to_string());
            words.push(String::new());
        } else if is_mark || c == '\u{200c}' {
            // Vowel signs and joiners come and go between two spellings.
        } else if c.is_alphanumeric() {
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        } else {
            words.push(String::new());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(lines: &[&str]) -> String {
        let rows: Vec<Vec<String>> = lines
            .iter()
            .map(|line| line.split('|').map(str::to_owned).collect())
            .collect();
        let recording = |value: &str| value.ends_with(".wav");
        match by_content(&rows, recording) {
            Ok(columns) => columns.to_string(),
            Err(why) => format!("? {why}"),
        }
    }

    #[test]
    fn a_speaker_is_no_transcript_whatever_its_place() {
        assert_eq!(
            decide(&["a|He came home at last.|ann", "b|Nobody answered him.|bob"]),
            "id,text,speaker"
        );
        assert_eq!(
            decide(&["a|ann|He came home at last.", "b|bob|Nobody answered him."]),
            "id,speaker,text"
        );
        assert_eq!(
            decide(&[
                "a.wav|3|He came home at last.",
                "b.wav|3|Nobody answered him."
            ]),
            "id,speaker,text"
        );
        assert_eq!(
            decide(&[
                "a|توتون در آفتاب بهتر عمل می‌آید.|spk001",
                "b|زمین از برف پوشیده بود.|spk001"
            ]),
            "id,text,speaker"
        );
        assert_eq!(
            decide(&["He came home at last.|x/a.wav", "Nobody answered.|x/b.wav"]),
            "text,id"
        );
    }

    #[test]
    fn a_transcript_given_twice_is_read_as_it_is_said() {
        assert_eq!(
            decide(&[
                "a|It cost $2 then|It cost two dollars then",
                "b|He came home|He came home"
            ]),
            "id,written,text"
        );
        assert_eq!(
            decide(&["a|seven|seven|jackson", "b|one|one|theo"]),
            "id,written,text,speaker"
        );
        assert_eq!(
            decide(&["a|He came home at last.||ann", "b|Nobody did.||ann"]),
            "id,text,-,speaker"
        );
        assert_eq!(decide(&["a|كَتَبَ الوَلَد|كتب الولد"]), "id,written,text");
    }

    #[test]
    fn other_columns_are_known_by_what_they_hold() {
        assert_eq!(
            decide(&[
                "a.wav|He came home at last.|ann|en",
                "b.wav|Er kam nach Hause.|bob|de-DE"
            ]),
            "id,text,speaker,language"
        );
        assert_eq!(decide(&["a.wav|2.53|He came home at last."]), "id,-,text");
        assert_eq!(
            decide(&["x1|x1.wav|He came home at last.", "x2|x2.wav|He did."]),
            "-,id,text"
        );
        assert_eq!(decide(&["a|seven", "b|one"]), "id,text");
        assert_eq!(
            decide(&["a|他昨天回家了吗|王芳", "b|没有人回答他的问题|李明"]),
            "id,text,speaker"
        );
        assert_eq!(decide(&[]), "id,text");
    }

    #[test]
    fn what_may_be_read_in_two_ways_is_not_guessed() {
        insta::assert_snapshot!(
            [
                decide(&["a|seven|jackson", "b|one|theo"]),
                decide(&["a|He came home at last.|hi keIm hoUm @t laest", "b|Nobody answered him.|noUbQdi A:ns@d hIm naU"]),
                decide(&["a|He came home at last.|ann|female"]),
            ]
            .join("\n"), @r"
        ? columns 2 and 3 hold short values, and any of them may be the spoken text
        ? columns 2 and 3 hold sentences, and the sentences differ
        ? columns 3 and 4 hold short names, and any of them may name the speaker
        ");
    }

    #[test]
    fn a_header_needs_a_recording_and_a_text() {
        let header = |line: &str| {
            let fields: Vec<String> = line.split('|').map(str::to_owned).collect();
            Columns::of_header(&fields).map(|columns| columns.to_string())
        };
        let of = |line: &str| header(line).unwrap();
        assert_eq!(of("audio_file|text|speaker_name"), "id,text,speaker");
        assert_eq!(of("Sentence|Path|Locale"), "text,id,language");
        assert_eq!(of("id|text|speaker"), "id,text,speaker");
        assert_eq!(of("id|text|normalized_text"), "id,written,text");
        assert_eq!(of("id|path|duration|sentence"), "-,id,-,text");
        assert_eq!(header("wavs/a.wav|hello"), None);
    }

    #[test]
    fn named_columns_are_checked() {
        let named = |text: &str| {
            let names: Vec<&str> = text.split(',').collect();
            Columns::named(&names).map_or_else(|why| why.to_string(), |found| found.to_string())
        };
        assert_eq!(named("audio,-,text,speaker"), "id,-,text,speaker");
        insta::assert_snapshot!([named("id,words"), named("id,speaker"), named("id,text,text")].join("\n\n"), @r"
        `words` is not the name of a column
          fix:   give --columns the names id, text, speaker, language, written (the text before it was normalised) and `-` for a column that is not used, in the order of the table

        --columns id,speaker names `text` 0 times
          fix:   name it once; `id` and `text` must be there, `-` stands for a column that is not used

        --columns id,text,text names `text` 2 times
          fix:   name it once; `id` and `text` must be there, `-` stands for a column that is not used
        ");
    }
}
