//! Persian.
//!
//! Persian is typed in many ways that look alike: with Arabic or Persian ي/ی
//! and ك/ک, with a half-space (ZWNJ), a space or nothing before a suffix, with
//! three sets of digits. A voice learns from a few hours of speech, so each
//! word should have *one* spelling; that is what this module is for. The order is:
//! letters, numbers, punctuation, joining, lower case for Latin words, spaces.
//!
//! Decisions:
//! - «ی» and «ک» are the Persian letters; all forms of ه are ه; an ezafe after
//!   ه is written «ه‌ی» (from ۀ, هٔ, ه ی), because it is heard; ة is ه; آ أ ؤ ئ
//!   stay (they sound different), إ and ٱ are ا.
//! - Vowel signs go, by default: most text has none, and a word with them would
//!   be another word to the model. `Diacritics::Keep` for vowelled corpora.
//! - Numbers are spoken: ۲٫۵ «دو ممیز پنج دهم», ۵٪ «پنج درصد», $۵ «پنج دلار»,
//!   ۵م «پنجم», ۵مین «پنجمین», ‎-۵ «منفی پنج». In dates, times and anything with
//!   `/` or `:` the parts are spoken and the mark stays, because how it is read
//!   depends on what it is (۲/۵ is a half-written decimal, a fraction or a
//!   score). A number with a leading zero and at least three digits, or with
//!   more than eighteen, is read digit by digit: it names something.
//! - «،؛؟» become `,;?`, which every XTTS vocabulary has and which the model has
//!   heard in sixteen languages; quotation marks go, as the reference removes
//!   `"`; `[]{}` become `()`, so no text can spell a control token.
//! - Latin words stay, in lower case.

mod joining;
mod letters;
mod numbers;
mod punctuation;

use unicode_normalization::UnicodeNormalization;

use super::Gaps;
use super::pattern::collapse_spaces;

/// The zero-width non-joiner, «نیم‌فاصله».
const ZWNJ: char = '\u{200C}';

/// What to do with vowel signs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diacritics {
    /// The vowel signs are removed.
    #[default]
    Strip,
    /// The vowel signs are kept, for a corpus that is vowelled throughout.
    Keep,
}

/// Which punctuation the vocabulary has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Punctuation {
    /// `, ; ?`, shared with the other languages.
    #[default]
    Latin,
    /// `، ؛ ؟`, for a vocabulary trained on Persian alone.
    Persian,
}

/// Choices about Persian spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersianOptions {
    /// What to do with vowel signs.
    pub diacritics: Diacritics,
    /// Which marks of punctuation to write.
    pub punctuation: Punctuation,
    /// Whether «می روم» becomes «می‌روم» (also نمی). «می» alone can be an old
    /// word for wine; a corpus of classical poetry may want this off.
    pub join_prefixes: bool,
    /// Whether «کتاب ها» becomes «کتاب‌ها» (also های, هایی, هایش..., تر, ترین
    /// and «خانه ی»). «تر» alone can also mean "wet".
    pub join_suffixes: bool,
}

impl Default for PersianOptions {
    fn default() -> Self {
        Self {
            diacritics: Diacritics::default(),
            punctuation: Punctuation::default(),
            join_prefixes: true,
            join_suffixes: true,
        }
    }
}

pub(super) fn clean(text: &str, options: &PersianOptions, gaps: &mut Gaps<'_>) -> String {
    let text = letters::unify(text, options.diacritics);
    let text = numbers::expand(&text, gaps);
    let text = punctuation::unify(&text, options.punctuation);
    let text = collapse_spaces(&joining::tidy(&text));
    let text = joining::join(&text, options);
    // What was removed may have kept two marks apart.
    text.to_lowercase().nfc().collect()
}

/// Returns whether a character is a letter of the Arabic script.
fn is_letter(c: char) -> bool {
    matches!(c, '\u{0620}'..='\u{064A}' | '\u{066E}'..='\u{06D3}' | '\u{06D5}' | '\u{06FA}'..='\u{06FC}')
}

/// Returns whether a character is a vowel sign or another mark of the Arabic script.
fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{0610}'..='\u{061A}' | '\u{064B}'..='\u{065F}' | '\u{0670}' | '\u{06D6}'..='\u{06DC}'
            | '\u{06DF}'..='\u{06E4}' | '\u{06E7}' | '\u{06E8}' | '\u{06EA}'..='\u{06ED}'
    )
}
