//! More tokens for an existing vocabulary.
//!
//! It is for a published model and a language or alphabet it has never seen.
//! Every old token keeps its id, so every old row of the embedding keeps its
//! meaning; new rows go at the end, holes stay holes. Old merges keep their
//! ranks and come first, so a word is cut as before and then joined further
//! where a new merge applies.

use super::error::VocabError;
use super::learn::Counts;
use super::vocabulary::{TokenId, Vocabulary};
use crate::Language;

/// What to add to a vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// The most new tokens from merges; tags and characters come on top. Zero adds
    /// tags and characters only.
    pub merged_tokens: usize,
    /// The languages that get a tag, if they have none.
    pub languages: Vec<Language>,
    /// The share of all character occurrences of the texts that must be covered, 0 to 1.
    pub character_coverage: f64,
    /// The number of times a pair must occur to become a token.
    pub min_count: u64,
}

impl Default for Growth {
    fn default() -> Self {
        Self {
            merged_tokens: 0,
            languages: Vec::new(),
            character_coverage: 1.0,
            min_count: 2,
        }
    }
}

/// A grown vocabulary, and what a model has to do about it: keep the first
/// `old_text_tokens` rows of its text embedding and head, and add rows up to
/// `new_text_tokens`.
#[derive(Debug)]
pub struct Grown {
    /// The grown vocabulary itself.
    pub vocabulary: Vocabulary,
    /// The number of rows before.
    pub old_text_tokens: usize,
    /// The number of rows after.
    pub new_text_tokens: usize,
    /// The new ids with their tokens, in order: tags, characters, merges.
    pub added: Vec<(TokenId, String)>,
    /// The number of merges that were appended.
    pub added_merges: usize,
    /// The new tokens that stand for several others, with those that stood there before.
    pub pieces: Vec<(TokenId, Vec<TokenId>)>,
}

impl Vocabulary {
    /// Grows a vocabulary by tags, by the characters of `texts` (cleaned), and by
    /// merges learned from them.
    ///
    /// # Errors
    /// Fails if the result would break an invariant (too many tokens).
    pub fn grow<T: AsRef<str>>(
        &self,
        texts: impl IntoIterator<Item = T>,
        growth: &Growth,
    ) -> Result<Grown, VocabError> {
        let counts = Counts::of(texts);
        let old_text_tokens = self.text_tokens();
        let mut next = TokenId::try_from(old_text_tokens).unwrap_or(TokenId::MAX);
        let mut entries: Vec<(String, TokenId)> = self
            .entries()
            .map(|(id, token)| (token.to_owned(), id))
            .collect();
        let mut added: Vec<(String, TokenId)> = self
            .added
            .iter()
            .map(|(token, id)| (token.to_string(), *id))
            .collect();

        for language in &growth.languages {
            let tag = format!("[{}]", language.tag());
            if added.iter().any(|(token, _)| *token == tag) {
                continue;
            }
            // A tag that was an ordinary token keeps its row.
            let id = self.id(&tag).unwrap_or(next);
            if id == next {
                entries.push((tag.clone(), id));
                next += 1;
            }
            added.push((tag, id));
        }
        for c in counts.alphabet(growth.character_coverage) {
            if !self.covers(c) {
                entries.push((c.to_string(), next));
                next += 1;
            }
        }

        let widened = Self::build(entries, &self.merge_names(), added)?;
        let (vocabulary, added_merges) =
            widened.with_merges(&counts, growth.merged_tokens, growth.min_count)?;
        let pieces = vocabulary.entries();
        let pieces = pieces.filter(|(id, _)| *id as usize >= widened.text_tokens());
        Ok(Grown {
            pieces: pieces
                .map(|(id, token)| (id, widened.encode_word(token)))
                .collect(),
            old_text_tokens,
            new_text_tokens: vocabulary.text_tokens(),
            added: vocabulary
                .entries()
                .filter(|(id, _)| *id as usize >= old_text_tokens)
                .map(|(id, token)| (id, token.to_owned()))
                .collect(),
            added_merges,
            vocabulary,
        })
    }
}
