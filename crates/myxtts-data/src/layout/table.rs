//! Delimited text: which character separates, and whether quotes group.

use super::columns::Columns;

/// How a metadata file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: char,
    /// Whether `"` groups; files of pipes or tabs without a header use it as a
    /// plain character.
    pub(super) quotes: bool,
}

const DELIMITERS: [char; 4] = ['|', '\t', ';', ','];

impl Dialect {
    /// Finds the first delimiter that most of the first lines have: a bad line
    /// among them must not lose the file. A comma comes last, since sentences are
    /// full of them.
    pub(super) fn sniff(sample: &[&str]) -> Option<Self> {
        let lines: Vec<&&str> = sample
            .iter()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let first = lines.first()?;
        let most_have = |delimiter: &char| {
            2 * lines
                .iter()
                .filter(|line| line.contains(*delimiter))
                .count()
                > lines.len()
        };
        let delimiter = DELIMITERS.into_iter().find(most_have)?;
        let quoted = Self {
            delimiter,
            quotes: true,
        };
        let header = Columns::of_header(&quoted.split(first)).is_some();
        Some(Self {
            delimiter,
            quotes: header || delimiter == ',' || delimiter == ';',
        })
    }

    /// Splits a line into its fields.
    pub(super) fn split(&self, line: &str) -> Vec<String> {
        if !self.quotes {
            return line
                .split(self.delimiter)
                .map(|field| field.trim().to_owned())
                .collect();
        }
        let mut fields = vec![];
        let mut field = String::new();
        let mut quoted = false;
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' if quoted && characters.peek() == Some(&'"') => {
                    field.push('"');
                    characters.next();
                }
                '"' if quoted => quoted = false,
                '"' if field.trim().is_empty() => {
                    field.clear();
                    quoted = true;
                }
                c if c == self.delimiter && !quoted => fields.push(take(&mut field)),
                c => field.push(c),
            }
        }
        fields.push(take(&mut field));
        fields
    }
}

fn take(field: &mut String) -> String {
    let taken = field.trim().to_owned();
    field.clear();
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(dialect: Dialect, line: &str) -> Vec<String> {
        dialect.split(line)
    }

    #[test]
    fn the_delimiter_is_the_one_most_lines_have() {
        let delimiter = |lines: &[&str]| Dialect::sniff(lines).map(|dialect| dialect.delimiter);
        assert_eq!(delimiter(&["a|b, c", "d|e"]), Some('|'));
        assert_eq!(delimiter(&["a\tb, c", "d\te"]), Some('\t'));
        assert_eq!(delimiter(&["a.wav,hello", "b.wav,\"one, two\""]), Some(','));
        assert_eq!(delimiter(&["a|b", "broken, line", "c|d"]), Some('|'));
        assert_eq!(delimiter(&["no delimiter here"]), None);
        assert_eq!(delimiter(&[]), None);
    }

    #[test]
    fn quotes_group_only_where_they_do() {
        let csv = Dialect {
            delimiter: ',',
            quotes: true,
        };
        assert_eq!(
            split(csv, "a.wav,\"one, \"\"two\"\"\", x"),
            ["a.wav", "one, \"two\"", "x"]
        );
        assert_eq!(split(csv, "a.wav,say \"hi\""), ["a.wav", "say \"hi\""]);
        assert_eq!(split(csv, "a.wav,\"open"), ["a.wav", "open"]);
        let pipes = Dialect {
            delimiter: '|',
            quotes: false,
        };
        assert_eq!(
            split(pipes, "LJ1|\"He said|so\""),
            ["LJ1", "\"He said", "so\""]
        );
    }
}
