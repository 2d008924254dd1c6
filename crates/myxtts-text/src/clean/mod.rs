//! Cleaning: the text as the model reads it.
//!
//! For the languages of the released model, cleaning follows the Python
//! reference to the letter, faults included: its voices were trained on that
//! text, and a fine-tune that spells numbers otherwise would have to unlearn
//! it. Persian is not among those languages, so its rules ([`fa`]) are our own.
//!
//! Unicode comes first: the text is composed (NFC), because a decomposed "é" is
//! two characters of which the vocabulary knows one. The reference does not do
//! this; on text that is composed already, which is nearly all, there is no
//! difference. Four languages are left as they are:
//! - `ar`: NFC moves a vowel sign before a shadda, and the published vocabulary
//!   has its merges in the typed order;
//! - `hi`: NFC *decomposes* क़ and its like (they are composition exclusions);
//! - `ja`, `zh`: NFC replaces compatibility ideographs, and nothing is gained.
//!
//! What cannot be done is reported: [`Cleaned::unsupported`] lists each piece of
//! text that was left as it is, and why. Nothing is guessed or dropped.

pub(crate) mod fa;
mod numbers;
mod pattern;
mod reference;
mod symbols;
mod words;

use std::fmt;

use myxtts_base::report;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::Language;
pub use fa::{Diacritics, PersianOptions, Punctuation};

/// A cleaned text, and what cleaning could not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    /// The text as the model should read it.
    pub text: String,
    /// The pieces that were left as written.
    pub unsupported: Vec<Unsupported>,
}

/// A piece of text that was left as written, because no rule of ours covers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The language whose rules fell short.
    pub language: Language,
    /// The rules that are missing.
    pub what: Gap,
    /// The piece, after lower-casing.
    pub text: String,
}

/// What is missing for a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Gap {
    /// The words of a cardinal, a decimal or an amount of money.
    NumberWords,
    /// The words of an ordinal.
    OrdinalWords,
    /// The dictionary that turns the script into Latin letters.
    Romanisation,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NumberWords => "number words",
            Self::OrdinalWords => "ordinal words",
            Self::Romanisation => "romanisation",
        })
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            language,
            what,
            text,
        } = self;
        let fix = match what {
            Gap::NumberWords | Gap::OrdinalWords => {
                "write the number out in the transcript, as it is spoken"
            }
            Gap::Romanisation => {
                "write the transcript in Latin letters (pinyin, romaji, romaja), or train a \
                 vocabulary on the script itself"
            }
        };
        let report = report!(
            "no {what} for `{language}`: `{text}` was left as written";
            fix: "{fix}"
        );
        report.fmt(f)
    }
}

/// Choices a person may make about cleaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanOptions {
    /// Choices about Persian spelling.
    pub persian: PersianOptions,
}

/// Cleans a text with the default choices.
pub fn clean(text: &str, language: &Language) -> Cleaned {
    clean_with(text, language, &CleanOptions::default())
}

/// Cleans a text with the given choices.
pub fn clean_with(text: &str, language: &Language, options: &CleanOptions) -> Cleaned {
    let composed = matches!(language.base(), "ar" | "hi" | "ja" | "zh") || is_nfc(text);
    let text = if composed {
        text.to_owned()
    } else {
        text.nfc().collect()
    };
    let mut gaps = Gaps {
        language,
        found: Vec::new(),
    };
    let text = match language.base() {
        "fa" => fa::clean(&text, &options.persian, &mut gaps),
        _ => reference::clean(&text, &mut gaps),
    };
    Cleaned {
        text,
        unsupported: gaps.found,
    }
}

/// Collects what cleaning could not do.
pub(crate) struct Gaps<'l> {
    language: &'l Language,
    found: Vec<Unsupported>,
}

impl Gaps<'_> {
    fn report(&mut self, what: Gap, text: &str) {
        self.found.push(Unsupported {
            language: self.language.clone(),
            what,
            text: text.to_owned(),
        });
    }
}
