//! The XTTS vocabulary: text to token ids and back.
//!
//! It is written here and not taken from the `tokenizers` crate because the part of
//! it that XTTS uses is small (added tokens, one pre-tokenizer, plain BPE), and
//! because a vocabulary has to *grow*: a Persian voice adds `[fa]`, characters
//! and merges to a published vocabulary while every old id keeps its embedding
//! row. The Python package reads what is written here and gives the same ids
//! (`tests/it/python_tokenizers.rs`).
//!
//! Invariants, checked when a file is parsed:
//! - ids and tokens are one to one, and small enough to be rows of a matrix;
//! - `[STOP]`, `[UNK]`, `[SPACE]` and `[START]` exist; no id is ever assumed;
//! - every merge joins two known tokens into a known one.

mod encode;
mod error;
mod grow;
mod learn;
mod merge;
mod read;
mod train;
mod vocabulary;
pub(crate) mod words;
mod write;

pub use error::{EncodeError, VocabError};
pub use grow::{Grown, Growth};
pub use train::Training;
pub use vocabulary::{TokenId, Vocabulary};
