//! The vocabulary as a table: tokens, ids, merges.

use std::collections::HashMap;

use super::encode::WordCache;
use super::error::VocabError;
use super::merge::{Merge, Merges};

/// The id of a token, which is its row in the text embedding.
pub type TokenId = u32;

/// The largest id that is allowed: the embedding has a row for each.
pub(super) const LARGEST_ID: TokenId = 1 << 20;

/// The special tokens of every XTTS vocabulary.
pub(super) const STOP: &str = "[STOP]";
pub(super) const UNK: &str = "[UNK]";
pub(super) const SPACE: &str = "[SPACE]";
pub(super) const START: &str = "[START]";

/// An XTTS vocabulary.
///
/// It is cheap to share between threads: encoding takes `&self`.
#[derive(Debug)]
pub struct Vocabulary {
    /// The tokens by id; holes are `None`.
    pub(super) tokens: Vec<Option<Box<str>>>,
    pub(super) ids: HashMap<Box<str>, TokenId>,
    pub(super) characters: HashMap<char, TokenId>,
    /// The merges in rank order, as listed in the file (a later duplicate wins).
    pub(super) merge_list: Vec<(TokenId, TokenId, TokenId)>,
    pub(super) merges: Merges,
    /// The added tokens, longest first: the longest that matches is taken.
    pub(super) added: Vec<(Box<str>, TokenId)>,
    /// The first characters of the added tokens, each once: `[`, usually alone.
    pub(super) added_starts: Box<[char]>,
    pub(super) specials: Specials,
    pub(super) cache: WordCache,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Specials {
    pub(super) stop: TokenId,
    pub(super) unk: TokenId,
    pub(super) start: TokenId,
}

impl Specials {
    /// Finds the special tokens, which have to be among the added ones.
    fn among(added: &[(String, TokenId)]) -> Result<Self, VocabError> {
        let special = |token: &'static str| {
            added
                .iter()
                .find(|(text, _)| text == token)
                .map(|(_, id)| *id)
                .ok_or(VocabError::MissingSpecial { token })
        };
        // Encoding writes it into the text, where it is found like any other.
        special(SPACE)?;
        Ok(Self {
            stop: special(STOP)?,
            unk: special(UNK)?,
            start: special(START)?,
        })
    }
}

impl Vocabulary {
    /// Checks and indexes a vocabulary: the only way to make one.
    ///
    /// `merges` are pairs of tokens; `added` are the tokens that are matched
    /// whole, before anything else.
    pub(super) fn build(
        entries: Vec<(String, TokenId)>,
        merges: &[(String, String)],
        added: Vec<(String, TokenId)>,
    ) -> Result<Self, VocabError> {
        let mut table = Table::default();
        for (token, id) in entries.into_iter().chain(added.iter().cloned()) {
            table.insert(token, id)?;
        }
        let Table { tokens, ids } = table;

        let specials = Specials::among(&added)?;
        let merge_list = merges_by_id(merges, &ids)?;
        let added = longest_first(added);
        Ok(Self {
            merges: rank(&merge_list),
            characters: characters_of(&ids),
            added_starts: first_characters(&added),
            tokens,
            ids,
            merge_list,
            added,
            specials,
            cache: WordCache::default(),
        })
    }

    /// Returns the number of rows of the text embedding: the largest id plus one.
    /// (Published vocabularies have holes, so it is not the number of tokens.)
    pub fn text_tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the id of a token, if there is such a token.
    pub fn id(&self, token: &str) -> Option<TokenId> {
        self.ids.get(token).copied()
    }

    /// Returns the token of an id, or `None` for a hole.
    pub fn token(&self, id: TokenId) -> Option<&str> {
        self.tokens.get(usize::try_from(id).ok()?)?.as_deref()
    }

    /// Returns the id of `[START]`, which the model puts before the text.
    pub fn start(&self) -> TokenId {
        self.specials.start
    }

    /// Returns the id of `[STOP]`, which the model puts after the text.
    pub fn stop(&self) -> TokenId {
        self.specials.stop
    }

    /// Returns the id of `[UNK]`, which stands for a character outside the vocabulary.
    pub fn unknown(&self) -> TokenId {
        self.specials.unk
    }

    /// Returns whether a character has a token of its own (white space has `[SPACE]`).
    pub fn covers(&self, c: char) -> bool {
        c.is_whitespace() || self.characters.contains_key(&c)
    }

    /// Returns the language tags, such as `en` and `zh-cn`, in order of id.
    pub fn languages(&self) -> Vec<&str> {
        let mut tags: Vec<(TokenId, &str)> = self
            .added
            .iter()
            .filter_map(|(token, id)| {
                let tag = token.strip_prefix('[')?.strip_suffix(']')?;
                tag.starts_with(|c: char| c.is_ascii_lowercase())
                    .then_some((*id, tag))
            })
            .collect();
        tags.sort_unstable();
        tags.into_iter().map(|(_, tag)| tag).collect()
    }

    /// Yields every token with its id, in order of id.
    pub fn entries(&self) -> impl Iterator<Item = (TokenId, &str)> {
        (0..)
            .zip(&self.tokens)
            .filter_map(|(id, token)| Some((id, token.as_deref()?)))
    }
}

/// Returns the tokens that are one character.
fn characters_of(ids: &HashMap<Box<str>, TokenId>) -> HashMap<char, TokenId> {
    ids.iter()
        .filter_map(|(token, id)| {
            let mut chars = token.chars();
            let first = chars.next()?;
            chars.next().is_none().then_some((first, *id))
        })
        .collect()
}

/// Looks up the ids of each merge: of its two tokens and of the one that they make.
fn merges_by_id(
    merges: &[(String, String)],
    ids: &HashMap<Box<str>, TokenId>,
) -> Result<Vec<(TokenId, TokenId, TokenId)>, VocabError> {
    let mut list = Vec::with_capacity(merges.len());
    for (at, (left, right)) in merges.iter().enumerate() {
        let joined = format!("{left}{right}");
        let find = |token: &str| {
            ids.get(token)
                .copied()
                .ok_or_else(|| VocabError::MergeOfUnknown {
                    line: at + 1,
                    left: left.clone(),
                    right: right.clone(),
                    missing: token.to_owned(),
                })
        };
        list.push((find(left)?, find(right)?, find(&joined)?));
    }
    Ok(list)
}

/// Sorts the added tokens, the longest first, and drops those that are there twice.
fn longest_first(added: Vec<(String, TokenId)>) -> Vec<(Box<str>, TokenId)> {
    let mut added: Vec<(Box<str>, TokenId)> = added
        .into_iter()
        .map(|(token, id)| (token.into_boxed_str(), id))
        .collect();
    added.sort_by(|a, b| (b.0.len(), a.1).cmp(&(a.0.len(), b.1)));
    added.dedup();
    added
}

/// Returns the characters that tokens begin with, each once.
fn first_characters(tokens: &[(Box<str>, TokenId)]) -> Box<[char]> {
    let mut starts: Vec<char> = tokens
        .iter()
        .filter_map(|(token, _)| token.chars().next())
        .collect();
    starts.sort_unstable();
    starts.dedup();
    starts.into_boxed_slice()
}

/// Indexes merges by their pairs. A pair listed twice takes its *last* rank, as the
/// Python package reads it; published vocabularies are several lists in a row.
pub(super) fn rank(list: &[(TokenId, TokenId, TokenId)]) -> Merges {
    (0..)
        .zip(list)
        .map(|(rank, &(left, right, result))| ((left, right), Merge { rank, result }))
        .collect()
}

/// Tokens and ids while they are being collected.
#[derive(Default)]
struct Table {
    tokens: Vec<Option<Box<str>>>,
    ids: HashMap<Box<str>, TokenId>,
}

impl Table {
    fn insert(&mut self, token: String, id: TokenId) -> Result<(), VocabError> {
        let unusable = |why| VocabError::UnusableToken {
            token: token.escape_debug().to_string(),
            why,
        };
        if token.is_empty() {
            return Err(unusable("it is empty"));
        }
        if token.contains(char::is_whitespace) {
            return Err(unusable("it contains white space"));
        }
        if id > LARGEST_ID {
            return Err(VocabError::IdTooLarge {
                token,
                id: u64::from(id),
                limit: LARGEST_ID,
            });
        }
        if let Some(&first) = self.ids.get(token.as_str()) {
            return if first == id {
                Ok(())
            } else {
                Err(VocabError::DuplicateToken {
                    token,
                    first,
                    second: id,
                })
            };
        }
        let at = id as usize;
        if self.tokens.len() <= at {
            self.tokens.resize(at + 1, None);
        }
        if let Some(first) = &self.tokens[at] {
            return Err(VocabError::DuplicateId {
                id,
                first: first.to_string(),
                second: token,
            });
        }
        self.tokens[at] = Some(token.as_str().into());
        self.ids.insert(token.into_boxed_str(), id);
        Ok(())
    }
}
