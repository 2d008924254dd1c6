//! The one shape of an error: what happened, and below it, each on a line of its own, where, what
//! was asked, what was found, why, and the fix.
//!
//! Whoever reports an error fills in the parts; how they are laid out is decided here alone.

use std::error::Error;
use std::fmt;

/// The column at which the text of a part begins: the widest label, its colon and a space.
const TEXT_COLUMN: usize = 9;

/// The parts that may stand below the first line of a [`Report`], in the order they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Where,
    Asked,
    Found,
    Why,
    Fix,
}

impl Part {
    const ALL: [Self; 5] = [Self::Where, Self::Asked, Self::Found, Self::Why, Self::Fix];

    fn label(self) -> &'static str {
        match self {
            Self::Where => "where",
            Self::Asked => "asked",
            Self::Found => "found",
            Self::Why => "why",
            Self::Fix => "fix",
        }
    }

    /// Returns what stands before the text of the part: its label, as wide as the column.
    fn margin(self) -> String {
        let label = format!("  {}:", self.label());
        format!("{label:<TEXT_COLUMN$}")
    }

    /// Returns the part that a line begins, and the text behind its label.
    fn begun_by(line: &str) -> Option<(Self, &str)> {
        let (margin, text) = line.split_at_checked(TEXT_COLUMN)?;
        let part = Self::ALL.into_iter().find(|part| part.margin() == margin)?;
        Some((part, text))
    }
}

/// An error as a person reads it. The macro [`report!`](crate::report) writes one in place.
///
/// ```
/// use myxtts_base::report;
///
/// let rows = 3;
/// let report = report!("the metadata has no column `text`"; found: "{rows} rows"; fix: "name it with --columns");
/// assert_eq!(
///     report.to_string(),
///     "the metadata has no column `text`\n  found: 3 rows\n  fix:   name it with --columns",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    what: String,
    parts: Vec<(Part, String)>,
}

impl Report {
    /// Begins a report with one sentence that says what happened.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            parts: Vec::new(),
        }
    }

    /// Takes an error apart into what happened and its parts, so that whoever knows more, such as
    /// the place, can add to them. It reads the words that were laid out here.
    ///
    /// ```
    /// use myxtts_base::{Report, report};
    ///
    /// let inner = report!("the recording is silent"; fix: "record it again");
    /// assert_eq!(
    ///     Report::of(&inner).at("voice.wav").to_string(),
    ///     "the recording is silent\n  where: voice.wav\n  fix:   record it again",
    /// );
    /// ```
    pub fn of(error: &impl fmt::Display) -> Self {
        let mut what: Vec<&str> = Vec::new();
        let mut parts: Vec<(Part, String)> = Vec::new();
        let words = error.to_string();
        let indent = " ".repeat(TEXT_COLUMN);
        for line in words.lines() {
            match (Part::begun_by(line), parts.last_mut()) {
                (Some((part, text)), _) => parts.push((part, text.to_owned())),
                (None, Some((_, text))) if line.starts_with(&indent) => {
                    text.push('\n');
                    text.push_str(&line[TEXT_COLUMN..]);
                }
                (None, _) => what.push(line),
            }
        }
        let report = Self::new(what.join("\n"));
        let with = |report: Self, (part, text)| report.with(part, text);
        parts.into_iter().fold(report, with)
    }

    /// Removes the fix and returns it, for whoever shows it by itself.
    pub fn take_fix(&mut self) -> Option<String> {
        let is_fix = |(part, _): &mut (Part, String)| *part == Part::Fix;
        let fixes: Vec<String> = self
            .parts
            .extract_if(.., is_fix)
            .map(|(_, text)| text)
            .collect();
        (!fixes.is_empty()).then(|| fixes.join("\n"))
    }

    /// Names the file, line, key or device at fault.
    pub fn at(self, text: impl Into<String>) -> Self {
        self.with(Part::Where, text)
    }

    /// Repeats what the user asked for.
    pub fn asked(self, text: impl Into<String>) -> Self {
        self.with(Part::Asked, text)
    }

    /// Says what was there instead.
    pub fn found(self, text: impl Into<String>) -> Self {
        self.with(Part::Found, text)
    }

    /// Gives the reason.
    pub fn why(self, text: impl Into<String>) -> Self {
        self.with(Part::Why, text)
    }

    /// Says what to do about it.
    pub fn fix(self, text: impl Into<String>) -> Self {
        self.with(Part::Fix, text)
    }

    /// Adds a part behind those that are shown before it.
    fn with(mut self, part: Part, text: impl Into<String>) -> Self {
        let place = self.parts.partition_point(|(other, _)| *other <= part);
        self.parts.insert(place, (part, text.into()));
        self
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for (part, text) in &self.parts {
            let first = part.margin();
            for (number, line) in text.lines().enumerate() {
                let margin = if number == 0 { &*first } else { "" };
                write!(f, "\n{margin:<TEXT_COLUMN$}{line}")?;
            }
        }
        Ok(())
    }
}

impl Error for Report {}

impl From<String> for Report {
    fn from(what: String) -> Self {
        Self::new(what)
    }
}

impl From<&str> for Report {
    fn from(what: &str) -> Self {
        Self::new(what)
    }
}

/// Writes a [`Report`]: what happened, then parts by name (`at`, `asked`, `found`, `why`, `fix`),
/// each a format string with its arguments.
#[macro_export]
macro_rules! report {
    ($what:literal $(, $value:expr)* $(; $part:ident: $text:literal $(, $of_text:expr)*)* $(;)?) => {
        $crate::Report::new(::std::format!($what $(, $value)*))
            $(.$part(::std::format!($text $(, $of_text)*)))*
    };
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn parts_stand_in_one_order_and_one_column() {
        let report = Report::new("GPU 3 is not there")
            .fix("take an id from `myxtts devices`")
            .found("GPU 0\nGPU 1")
            .at("flag --model-gpu")
            .why("ids begin at 0")
            .asked("model GPU 3");
        assert_eq!(
            report.to_string(),
            "GPU 3 is not there\n  \
               where: flag --model-gpu\n  \
               asked: model GPU 3\n  \
               found: GPU 0\n         GPU 1\n  \
               why:   ids begin at 0\n  \
               fix:   take an id from `myxtts devices`"
        );
    }

    #[test]
    fn an_error_comes_apart_into_what_it_was_made_of() {
        let inner = Report::new("the file is gone")
            .at("a.wav")
            .fix("put it back");
        let report = Report::new("two clips cannot be read:\n- a\n- b")
            .fix("prepare again")
            .found(inner.to_string())
            .why("the disk was unplugged");
        assert_eq!(Report::of(&report), report);
        assert_eq!(Report::of(&"it failed"), Report::new("it failed"));

        let mut report = report;
        assert_eq!(report.take_fix().as_deref(), Some("prepare again"));
        assert_eq!(report.take_fix(), None);
        assert_eq!(Report::of(&report), report);
    }

    #[test]
    fn a_sentence_alone_is_a_report() {
        let named = "it";
        assert_eq!(
            crate::report!("{named} failed, {} times", 2).to_string(),
            "it failed, 2 times"
        );
        assert_eq!(Report::from("it failed").to_string(), "it failed");
    }
}
