//! What is wrong with a configuration, where, and what to write instead.

use std::fmt;

use myxtts_base::Report;

/// The longest quoted line, in characters; a longer one is cut around the column.
const QUOTED_WIDTH: usize = 100;

/// Where a problem is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A position in a file.
    File {
        /// The path of the file as the user gave it.
        name: String,
        /// The line, from 1.
        line: u64,
        /// The column in characters, from 1.
        column: u64,
        /// How many characters are at fault, at least one.
        width: usize,
        /// The text of the line at fault.
        text: String,
    },
    /// A source without lines, such as `environment MYXTTS_DATA_BATCH_SIZE` or
    /// `flag --lr`.
    Named(String),
}

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in one sentence.
    pub what: String,
    /// The place of the fault.
    pub place: Place,
    /// What to do about it, if there is something to say.
    pub fix: Option<String>,
}

impl Problem {
    /// Makes a problem of an error that was found in a value, now that its place is known.
    pub fn of(error: &impl fmt::Display, place: Place) -> Self {
        let mut report = Report::of(error);
        let fix = report.take_fix();
        let what = report.to_string();
        Self { what, place, fix }
    }

    /// Returns the words of the problem with the line that it quotes.
    fn report(&self) -> Report {
        let report = Report::new(format!("{}\n{}", self.what, self.place));
        match &self.fix {
            Some(fix) => report.fix(fix),
            None => report,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report().fmt(f)
    }
}

impl fmt::Display for Place {
    /// Points at the place, and quotes the line with the characters at fault marked.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "  --> {name}"),
            Self::File {
                name,
                line,
                column,
                width,
                text,
            } => {
                let (quote, offset) = quote(text, *column);
                let number = line.to_string();
                let gutter = " ".repeat(number.len());
                let marks =
                    "^".repeat((*width).clamp(1, QUOTED_WIDTH.saturating_sub(offset).max(1)));
                write!(f, "  --> {name}:{line}:{column}")?;
                write!(f, "\n {gutter} |")?;
                write!(f, "\n {number} | {quote}")?;
                write!(f, "\n {gutter} | {}{marks}", " ".repeat(offset))
            }
        }
    }
}

/// Returns the part of `text` around `column`, with tabs and control characters
/// made visible as one character each, and the offset of the column in it.
fn quote(text: &str, column: u64) -> (String, usize) {
    let column = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
    let start = if column > QUOTED_WIDTH {
        column - QUOTED_WIDTH / 2
    } else {
        0
    };
    let visible: String = text
        .chars()
        .skip(start)
        .take(QUOTED_WIDTH)
        .map(|c| match c {
            '\t' => '→',
            c if c.is_control() => '·',
            c => c,
        })
        .collect();
    let offset = (column - start).min(visible.chars().count());
    (visible.trim_end().to_owned(), offset)
}

/// Everything that is wrong: a user who fixes one line at a time deserves to see
/// all of them at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}
