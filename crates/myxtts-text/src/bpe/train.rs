//! A new vocabulary from a corpus.
//!
//! Layout of the ids: `[STOP]` `[UNK]` `[SPACE]` `[START]`, the language tags,
//! the characters in code point order, then the merges as they were learned.

use super::error::VocabError;
use super::learn::{Counts, Learner};
use super::vocabulary::{SPACE, START, STOP, TokenId, UNK, Vocabulary};
use crate::Language;

/// How to train a vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// The number of tokens to stop at, everything counted.
    pub tokens: usize,
    /// The languages that get a tag.
    pub languages: Vec<Language>,
    /// The share of all character occurrences that must be covered, 0 to 1. What is
    /// not covered becomes `[UNK]`.
    pub character_coverage: f64,
    /// The number of times a pair must occur to become a token.
    pub min_count: u64,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            tokens: 4096,
            languages: Vec::new(),
            character_coverage: 1.0,
            min_count: 2,
        }
    }
}

impl Vocabulary {
    /// Trains a vocabulary on cleaned texts.
    ///
    /// It ends before `tokens` is reached when no pair occurs `min_count` times.
    ///
    /// # Errors
    /// Fails if the special tokens and characters alone are more than `tokens`.
    pub fn train<T: AsRef<str>>(
        texts: impl IntoIterator<Item = T>,
        training: &Training,
    ) -> Result<Self, VocabError> {
        let counts = Counts::of(texts);
        let mut added: Vec<String> = [STOP, UNK, SPACE, START].map(String::from).to_vec();
        for language in &training.languages {
            let tag = format!("[{}]", language.tag());
            if !added.contains(&tag) {
                added.push(tag);
            }
        }
        let alphabet = counts.alphabet(training.character_coverage);
        let needed = added.len() + alphabet.len();
        if needed > training.tokens {
            return Err(VocabError::TargetTooSmall {
                target: training.tokens,
                needed,
            });
        }
        let added: Vec<(String, TokenId)> = added.into_iter().zip(0..).collect();
        let entries = added
            .iter()
            .map(|(token, _)| token.clone())
            .chain(alphabet.into_iter().map(String::from))
            .zip(0..)
            .collect();
        let seed = Self::build(entries, &[], added)?;
        Ok(seed
            .with_merges(&counts, training.tokens - needed, training.min_count)?
            .0)
    }

    /// Returns this vocabulary with up to `wanted` more tokens, learned from words
    /// as this vocabulary already cuts them, and the number of new merges. New
    /// merges come after the old ones and new ids after the largest.
    pub(super) fn with_merges(
        &self,
        counts: &Counts,
        wanted: usize,
        min_count: u64,
    ) -> Result<(Self, usize), VocabError> {
        let mut words: Vec<(&str, u64)> = counts.words.iter().map(|(w, n)| (&**w, *n)).collect();
        words.sort_unstable();
        let words = words
            .into_iter()
            .map(|(word, n)| (self.encode_word(word), n))
            .collect();
        let mut learner = Learner::new(words, self.specials.unk);

        let mut tokens: Vec<Option<String>> = self
            .tokens
            .iter()
            .map(|token| token.as_deref().map(str::to_owned))
            .collect();
        let mut ids: std::collections::HashMap<String, TokenId> = self
            .ids
            .iter()
            .map(|(token, id)| (token.to_string(), *id))
            .collect();
        let mut merges: Vec<(String, String)> = self.merge_names();
        let (before, mut new_tokens) = (merges.len(), 0);
        while new_tokens < wanted
            && let Some((left, right)) = learner.best(min_count)
        {
            let name = |id: TokenId| tokens[id as usize].clone().unwrap_or_default();
            let (left_name, right_name) = (name(left), name(right));
            let joined = format!("{left_name}{right_name}");
            // Two ways to one string share its token, and cost no new row.
            let result = match ids.get(&joined) {
                Some(&id) => id,
                None => {
                    let id = TokenId::try_from(tokens.len()).unwrap_or(TokenId::MAX);
                    tokens.push(Some(joined.clone()));
                    ids.insert(joined, id);
                    new_tokens += 1;
                    id
                }
            };
            merges.push((left_name, right_name));
            learner.merge((left, right), result);
        }
        let learned = merges.len() - before;
        let entries = tokens
            .into_iter()
            .zip(0..)
            .filter_map(|(t, id)| Some((t?, id)))
            .collect();
        let added = self
            .added
            .iter()
            .map(|(token, id)| (token.to_string(), *id))
            .collect();
        Ok((Self::build(entries, &merges, added)?, learned))
    }

    pub(super) fn merge_names(&self) -> Vec<(String, String)> {
        let name = |id: TokenId| self.token(id).unwrap_or_default().to_owned();
        self.merge_list
            .iter()
            .map(|&(left, right, _)| (name(left), name(right)))
            .collect()
    }
}
