//! How a text is read aloud: what is said in one breath, how long the pause
//! after it is, and what is not said at all.
//!
//! ```text
//! text -> without what nobody sees -> phrases -> cleaned -> known characters -> tokens
//! ```
//!
//! Training reads clean transcripts; what people ask to have spoken comes from
//! web pages and terminals. What the vocabulary does not have would be noise to
//! the model:
//!
//! - punctuation that it does not have becomes the nearest that it has;
//! - other symbols it does not have (emoji, arrows) are left out, with a notice;
//! - numbers too large to have words are read digit by digit, with a notice;
//! - a part without a single known letter (`***`) is not spoken, because a model
//!   babbles when it has nothing to say. A text of such parts alone is refused.
//!
//! A letter that the vocabulary does not have stays: it becomes `[UNK]`, as in
//! training, and there is a notice.

use std::collections::BTreeSet;

use myxtts_audio::units::Seconds;
use myxtts_text::{
    Break, CleanOptions, Cleaned, Coverage, Gap, Language, Limit, Vocabulary, clean_with, pieces,
    without_invisible,
};

use crate::error::InferError;

/// A text as it is read aloud.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// What is said, in order.
    pub phrases: Vec<Phrase>,
    /// What a listener should know: what was left out, or what the model does not know.
    pub notices: Vec<String>,
}

/// What is said in one breath.
#[derive(Clone, Debug, PartialEq)]
pub struct Phrase {
    /// The tokens, with the language tag.
    pub tokens: Vec<u32>,
    /// The silence after it, unless it is the last.
    pub pause: Seconds,
}

/// Returns the pause that a listener expects after a breath.
fn pause(end: Break) -> Seconds {
    Seconds(match end {
        Break::Paragraph => 0.6,
        Break::Sentence => 0.25,
        Break::Clause => 0.12,
        // The text was split where nobody would pause.
        Break::Word => 0.05,
    })
}

/// The number of characters of a text that a message shows.
const SHOWN: usize = 40;
/// The number of characters that a message lists.
const LISTED: usize = 20;

/// Reads a text for a model that takes at most `limit` tokens at a time.
pub(crate) fn read(
    text: &str,
    language: &Language,
    vocabulary: &Vocabulary,
    limit: Limit,
) -> Result<Reading, InferError> {
    let seen = without_invisible(text);
    if seen.trim().is_empty() {
        return Err(InferError::NoText);
    }
    let mut notices = vec![];
    let reader = Reader {
        language,
        vocabulary,
    };
    let text = reader.long_numbers(seen.into_owned(), &mut notices);
    let advised = language.advised_characters();
    let pieces = pieces(&text, language, limit, |piece| {
        let tokens = 1 + vocabulary.encode_raw(&reader.said(piece)).len();
        match piece.chars().nth(advised) {
            Some(_) => tokens.max(limit.0 + 1),
            None => tokens,
        }
    })
    .map_err(InferError::TooLong)?;
    let mut phrases: Vec<Phrase> = vec![];
    let mut silent = vec![];
    for piece in pieces {
        let said = reader.said(&piece.text);
        match (reader.is_speakable(&said), phrases.last_mut()) {
            (true, _) => phrases.push(Phrase {
                tokens: vocabulary.encode(&said, language)?,
                pause: pause(piece.end),
            }),
            // Nothing is said here, and the longer pause stays.
            (false, last) => {
                if let Some(last) = last {
                    last.pause = Seconds(last.pause.0.max(pause(piece.end).0));
                }
                silent.push(piece.text);
            }
        }
    }
    if phrases.is_empty() {
        return Err(unspeakable(&text));
    }
    if let [first, rest @ ..] = &silent[..] {
        let more = match rest.len() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        notices.push(format!(
            "not spoken, because there is no letter in it that the model knows: `{}`{more}",
            shown(first)
        ));
    }
    reader.notice(&text, &mut notices);
    Ok(Reading { phrases, notices })
}

struct Reader<'a> {
    language: &'a Language,
    vocabulary: &'a Vocabulary,
}

impl Reader<'_> {
    /// Returns a piece of text as the model reads it.
    fn said(&self, piece: &str) -> String {
        self.known(&cleaned(piece, self.language).text, &mut BTreeSet::new())
    }

    /// Returns a cleaned text without the symbols that the vocabulary does not have; those that
    /// nothing stands in for are added to `left_out`.
    fn known(&self, cleaned: &str, left_out: &mut BTreeSet<char>) -> String {
        let has = |text: &str| text.chars().all(|c| self.vocabulary.covers(c));
        let mut known = String::with_capacity(cleaned.len());
        for c in cleaned.chars() {
            if c.is_alphanumeric() || self.vocabulary.covers(c) {
                known.push(c);
            } else if let Some(nearest) = nearest(c).filter(|nearest| has(nearest)) {
                known.push_str(nearest);
            } else if !is_joiner(c) {
                left_out.insert(c);
                known.push(' ');
            }
        }
        known
    }

    /// Writes numbers that are too large for words digit by digit, if the language has words for
    /// digits.
    fn long_numbers(&self, text: String, notices: &mut Vec<String>) -> String {
        let mut numbers: BTreeSet<String> = BTreeSet::new();
        for gap in cleaned(&text, self.language).unsupported {
            let is_number = gap.what == Gap::NumberWords && !gap.text.is_empty();
            if is_number && gap.text.bytes().all(|b| b.is_ascii_digit()) {
                numbers.insert(gap.text);
            }
        }
        let has_digits = cleaned("1", self.language).unsupported.is_empty();
        if numbers.is_empty() || !has_digits {
            return text;
        }
        let mut read = String::with_capacity(text.len() * 2);
        let mut rest = text.as_str();
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|c: char| !c.is_ascii_digit());
            let (number, after) = from.split_at(end.unwrap_or(from.len()));
            read.push_str(before);
            match numbers.contains(number) {
                true => number.chars().for_each(|digit| read.extend([' ', digit])),
                false => read.push_str(number),
            }
            rest = after;
        }
        read.push_str(rest);
        if let Some(first) = numbers.first() {
            notices.push(format!(
                "read digit by digit, because there are no words for a number this large: `{}`",
                shown(first)
            ));
        }
        read
    }

    /// Returns whether a cleaned text has a letter that the model knows.
    fn is_speakable(&self, cleaned: &str) -> bool {
        let mut letters = cleaned.chars().filter(|c| c.is_alphanumeric());
        letters.any(|c| self.vocabulary.covers(c))
    }

    /// Adds notices of what cleaning could not do, what is left out, and letters that the model
    /// never learned.
    fn notice(&self, text: &str, notices: &mut Vec<String>) {
        let cleaned = cleaned(text, self.language);
        notices.extend(cleaned.unsupported.iter().map(ToString::to_string));
        let mut left_out = BTreeSet::new();
        let known = self.known(&cleaned.text, &mut left_out);
        if !left_out.is_empty() {
            notices.push(format!(
                "left out, because the model has no sound for them: {}",
                listed(&left_out)
            ));
        }
        let mut coverage = Coverage::new(self.vocabulary);
        coverage.add(&1, &known);
        let outside: BTreeSet<char> = coverage
            .uncovered()
            .iter()
            .map(|one| one.character)
            .collect();
        if !outside.is_empty() {
            notices.push(format!(
                "the model never learned {}: it does not know what they sound like",
                listed(&outside)
            ));
        }
    }
}

/// Returns a text cleaned as in training.
fn cleaned(text: &str, language: &Language) -> Cleaned {
    clean_with(text, language, &CleanOptions::default())
}

/// Returns whether a character joins or changes those around it and has no place of its own:
/// joiners, variation selectors, skin tones, vowel signs and accents.
fn is_joiner(c: char) -> bool {
    matches!(
        c,
        '\u{0300}'..='\u{036F}'
            | '\u{064B}'..='\u{065F}'
            | '\u{0670}'
            | '\u{06D6}'..='\u{06ED}'
            | '\u{093C}'..='\u{094D}'
            | '\u{200B}'..='\u{200D}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{1F3FB}'..='\u{1F3FF}'
    )
}

/// Returns the punctuation that sounds nearest to this.
fn nearest(c: char) -> Option<&'static str> {
    Some(match c {
        '‘' | '’' | 'ʼ' | '′' | '`' => "'",
        '"' | '“' | '”' | '„' | '«' | '»' | '‹' | '›' | '″' => "",
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => "-",
        ';' | ':' | '(' | ')' | '[' | ']' => ",",
        '…' => "...",
        '!' | '?' => ".",
        _ => return None,
    })
}

fn unspeakable(text: &str) -> InferError {
    InferError::Unspeakable {
        text: shown(text.trim()),
        why: match text.chars().any(char::is_alphanumeric) {
            true => "the model knows none of its letters",
            false => "it has neither letters nor digits",
        },
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn listed(characters: &BTreeSet<char>) -> String {
    let first: Vec<String> = characters
        .iter()
        .take(LISTED)
        .map(|c| format!("`{c}`"))
        .collect();
    match characters.len().saturating_sub(LISTED) {
        0 => first.join(" "),
        more => format!("{} and {more} more", first.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use myxtts_text::Training;

    use super::*;

    fn vocabulary() -> Vocabulary {
        let training = Training {
            languages: vec!["en".parse().unwrap(), "fa".parse().unwrap()],
            tokens: 120,
            min_count: 1,
            ..Training::default()
        };
        let texts = ["the quick brown fox jumps over the lazy dogs' back - why? yes, it is. ok!"];
        Vocabulary::train(texts, &training).unwrap()
    }

    fn try_read(text: &str) -> Result<Reading, InferError> {
        read(text, &"en".parse().unwrap(), &vocabulary(), Limit(30))
    }

    /// What is said, decoded, with its pauses, and the notices.
    fn told(text: &str) -> String {
        let vocabulary = vocabulary();
        let reading = try_read(text).unwrap();
        let phrases = reading.phrases.iter().map(|phrase| {
            let text = vocabulary.decode(&phrase.tokens);
            format!("{text:?} then {}", phrase.pause)
        });
        let notices = reading
            .notices
            .iter()
            .map(|notice| format!("notice: {notice}"));
        phrases.chain(notices).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_is_said_and_what_is_not() {
        let texts = [
            "Yes, it is.",
            "Yes — it’s “ok”…",
            "Yes.\n\n***\n\nIt is 😀 ok ➡ 👩\u{200D}🚀!",
            "\u{202E}Yes\u{202C}\0it\u{7} is",
            "It is ñ.",
            "The fox is quick, the dogs are lazy, the back is brown, and it is ok.",
            "It is 7, and 1000000000000000000000000000000 and 9999999999999999999999999999999999999999999.",
        ];
        insta::assert_snapshot!(texts.map(told).join("\n\n"));
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        let texts = [
            "",
            " \n ",
            "\u{200F}\0",
            "...",
            "?!",
            "😀 👍",
            "你好",
            "— « »",
        ];
        let said = texts.map(|text| format!("{text:?}: {}", try_read(text).unwrap_err()));
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn a_long_text_takes_time_in_proportion() {
        let text = "the quick brown fox 😀 jumps over 12 lazy dogs. ".repeat(2_600);
        let reading = try_read(&text).unwrap();
        assert!(reading.phrases.len() > 1_000);
    }
}
