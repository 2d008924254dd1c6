//! Text to tokens.
//!
//! ```text
//! transcript --clean--> text the model reads --Vocabulary::encode--> ids
//! ```
//!
//! - [`clean`] writes numbers, symbols and spellings out, per language, and
//!   reports what it could not do.
//! - [`Vocabulary`] is the XTTS `vocab.json`: encode, decode, train, grow.
//! - [`split`] cuts a long text into pieces that fit the model, in tokens;
//!   [`pieces`] also says what each ends with, for a pause.
//! - [`without_invisible`] removes what nobody sees and nobody says.
//! - [`Script`] and [`Guesser`] say which letters a text has, and which language
//!   they point to.
//! - [`Coverage`] finds the characters a vocabulary does not have, and where.
//!
//! Nothing in here panics, whatever the text or the file; no id is ever
//! assumed; nothing is dropped in silence.

mod bpe;
mod clean;
mod coverage;
mod invisible;
mod language;
mod script;
mod split;

pub use bpe::{EncodeError, Grown, Growth, TokenId, Training, VocabError, Vocabulary};
pub use clean::{
    CleanOptions, Cleaned, Diacritics, Gap, PersianOptions, Punctuation, Unsupported, clean,
    clean_with,
};
pub use coverage::{Coverage, Uncovered};
pub use invisible::without_invisible;
pub use language::{Language, LanguageError};
pub use script::{Guess, Guesser, Script};
pub use split::{Break, Limit, Mark, Piece, SplitError, marks, pieces, split};
