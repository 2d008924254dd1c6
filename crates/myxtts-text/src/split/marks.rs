//! Where a reader of a text may pause: its marks.

use super::Break;
use super::boundary::{Level, ends};
use crate::Language;

/// A mark inside a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The byte after the mark, and after what closes it.
    pub end: usize,
    /// What it ends: a sentence or a clause.
    pub kind: Break,
}

/// Returns the marks of a text at which sentences and clauses end, in order. Before,
/// between and after them there is something to say: a mark without words of its own
/// belongs to the one before it, and the one that ends the text is left out.
pub fn marks(text: &str, language: &Language) -> Vec<Mark> {
    let of = |level, kind| {
        let ends = ends(text, level, language).into_iter();
        ends.map(move |end| Mark { end, kind })
    };
    let mut all: Vec<Mark> = of(Level::Sentence, Break::Sentence).collect();
    all.extend(of(Level::Clause, Break::Clause));
    // The greater break first, which stands for both where they end together.
    all.sort_by_key(|mark| (mark.end, mark.kind));
    all.dedup_by_key(|mark| mark.end);
    let says = |part: &str| part.chars().any(char::is_alphanumeric);
    let mut marks: Vec<Mark> = vec![];
    for mark in all {
        if !says(&text[mark.end..]) {
            break;
        }
        let begin = marks.last().map_or(0, |last| last.end);
        match (says(&text[begin..mark.end]), marks.last_mut()) {
            (true, _) => marks.push(mark),
            (false, Some(last)) => {
                last.end = mark.end;
                last.kind = last.kind.min(mark.kind);
            }
            (false, None) => {}
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts between marks, and what ends each but the last.
    fn parts(text: &str, language: &str) -> Vec<(String, Option<Break>)> {
        let marks = marks(text, &language.parse().unwrap());
        let ends = marks.iter().map(|mark| (mark.end, Some(mark.kind)));
        let mut begin = 0;
        ends.chain([(text.len(), None)])
            .map(|(end, kind)| {
                let part = text[begin..end].trim().to_owned();
                begin = end;
                (part, kind)
            })
            .collect()
    }

    #[test]
    fn sentences_and_clauses_end_at_their_marks() {
        use Break::{Clause, Sentence};
        let read = parts("Mr. Fox, who ran 1,234 miles... slept! Why?", "en");
        let read: Vec<_> = read.iter().map(|(text, end)| (&text[..], *end)).collect();
        assert_eq!(
            read,
            [
                ("Mr. Fox,", Some(Clause)),
                ("who ran 1,234 miles...", Some(Sentence)),
                ("slept!", Some(Sentence)),
                ("Why?", None),
            ]
        );
        let read = parts("سلام؟ بله، خوبم۔ «شما؟»", "fa");
        let kinds: Vec<_> = read.iter().map(|(_, end)| *end).collect();
        assert_eq!(kinds, [Some(Sentence), Some(Clause), Some(Sentence), None]);
        assert_eq!(read[3].0, "«شما؟»");
    }

    #[test]
    fn marks_without_words_belong_to_the_one_before() {
        let texts = |text| -> Vec<String> {
            let parts = parts(text, "en").into_iter();
            parts.map(|(text, _)| text).collect()
        };
        assert_eq!(texts("One, - ; ! Two. ... "), ["One, - ; !", "Two. ..."]);
        assert_eq!(texts("... One. Two"), ["... One.", "Two"]);
        for whole in ["no mark at all", "one.", "", "...", ", , ,"] {
            assert!(marks(whole, &"en".parse().unwrap()).is_empty(), "`{whole}`");
        }
    }
}
