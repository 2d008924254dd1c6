//! Text to ids and back.
//!
//! Encoding is: put the language tag in front, write every space as
//! `[SPACE]`, split out the added tokens (longest match), cut the rest into
//! [words](super::words), apply the merges to each. `[START]` and `[STOP]` are
//! not added here; the model does that.

use std::collections::HashMap;
use std::sync::RwLock;

use super::error::EncodeError;
use super::merge;
use super::vocabulary::{SPACE, STOP, TokenId, UNK, Vocabulary};
use super::words::words;
use crate::Language;

/// The most words that are cached. A corpus has few distinct words; past this many
/// the cache is left as it is, since the frequent words came first.
const CACHED_WORDS: usize = 1 << 16;
/// The longest word that is cached, in bytes.
const CACHED_BYTES: usize = 64;

/// Words already merged. A thread that would have to wait for the cache merges the
/// word itself.
#[derive(Debug, Default)]
pub(super) struct WordCache(RwLock<HashMap<Box<str>, Box<[TokenId]>>>);

impl WordCache {
    /// Appends the ids of `word` and returns `true`, if they are known.
    fn get(&self, word: &str, out: &mut Vec<TokenId>) -> bool {
        let Ok(known) = self.0.try_read() else {
            return false;
        };
        let Some(ids) = known.get(word) else {
            return false;
        };
        out.extend_from_slice(ids);
        true
    }

    fn put(&self, word: &str, ids: &[TokenId]) {
        if word.len() > CACHED_BYTES {
            return;
        }
        if let Ok(mut known) = self.0.try_write()
            && known.len() < CACHED_WORDS
        {
            known.insert(word.into(), ids.into());
        }
    }
}

impl Vocabulary {
    /// Returns the ids of a cleaned text, its language tag first.
    ///
    /// # Errors
    /// Fails if the vocabulary has no tag for the language.
    pub fn encode(&self, cleaned: &str, language: &Language) -> Result<Vec<TokenId>, EncodeError> {
        let tag = language.tag();
        let token = format!("[{tag}]");
        if !self.added.iter().any(|(added, _)| **added == token) {
            return Err(EncodeError::NoLanguageTag {
                tag: tag.to_owned(),
                known: self.languages().join(", "),
            });
        }
        Ok(self.encode_raw(&(token + cleaned)))
    }

    /// Returns the ids of a string that may hold added tokens such as `[en]`,
    /// spelled out; spaces become `[SPACE]`.
    pub fn encode_raw(&self, text: &str) -> Vec<TokenId> {
        let text = text.replace(' ', SPACE);
        let mut ids = Vec::with_capacity(text.len() / 2);
        let mut rest = text.as_str();
        while let Some((before, id, after)) = self.first_added(rest) {
            self.encode_plain(before, &mut ids);
            ids.push(id);
            rest = after;
        }
        self.encode_plain(rest, &mut ids);
        ids
    }

    /// Finds the leftmost, then longest, added token of `text`, with what is before
    /// and after it.
    fn first_added<'t>(&self, text: &'t str) -> Option<(&'t str, TokenId, &'t str)> {
        text.match_indices(&*self.added_starts).find_map(|(at, _)| {
            let (before, from) = text.split_at(at);
            self.added.iter().find_map(|(token, id)| {
                let after = from.strip_prefix(&**token)?;
                Some((before, *id, after))
            })
        })
    }

    /// Appends the ids of a text without added tokens.
    fn encode_plain(&self, text: &str, out: &mut Vec<TokenId>) {
        for word in words(text) {
            if self.cache.get(word, out) {
                continue;
            }
            let ids = self.encode_word(word);
            out.extend_from_slice(&ids);
            self.cache.put(word, &ids);
        }
    }

    pub(super) fn encode_word(&self, word: &str) -> Vec<TokenId> {
        let unk = self.specials.unk;
        let mut ids: Vec<TokenId> = word
            .chars()
            .map(|c| self.characters.get(&c).copied().unwrap_or(unk))
            .collect();
        merge::apply(&self.merges, &mut ids);
        ids
    }

    /// Returns the text of ids: tokens joined, `[SPACE]` as a space, without
    /// `[STOP]`, `[UNK]` and ids that have no token. Language tags stay visible.
    pub fn decode(&self, ids: &[TokenId]) -> String {
        ids.iter()
            .filter_map(|&id| self.token(id))
            .map(|token| match token {
                SPACE => " ",
                STOP | UNK => "",
                token => token,
            })
            .collect()
    }
}
