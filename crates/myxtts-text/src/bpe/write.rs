//! Writing `vocab.json` in the layout that the Python package reads.
//!
//! Merges are written as `"left right"`, which every version of the package
//! understands (pairs only from 0.20 on). Tokens come in order of id, so that
//! two vocabularies can be compared with a text diff.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::vocabulary::{TokenId, Vocabulary};

#[derive(Serialize)]
struct Document<'v> {
    version: &'static str,
    truncation: (),
    padding: (),
    added_tokens: Vec<Added<'v>>,
    normalizer: (),
    pre_tokenizer: BTreeMap<&'static str, &'static str>,
    post_processor: (),
    decoder: (),
    model: Model<'v>,
}

#[derive(Serialize)]
struct Added<'v> {
    id: TokenId,
    special: bool,
    content: &'v str,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
}

#[derive(Serialize)]
struct Model<'v> {
    r#type: &'static str,
    dropout: (),
    unk_token: &'static str,
    continuing_subword_prefix: (),
    end_of_word_suffix: (),
    fuse_unk: bool,
    vocab: InOrder<'v>,
    merges: Vec<String>,
}

struct InOrder<'v>(&'v Vocabulary);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (id, token) in self.0.entries() {
            map.serialize_entry(token, &id)?;
        }
        map.end()
    }
}

impl Vocabulary {
    /// Returns the text of a `vocab.json`.
    pub fn to_json(&self) -> String {
        let mut added: Vec<&(Box<str>, TokenId)> = self.added.iter().collect();
        added.sort_by_key(|(_, id)| *id);
        let name = |id: TokenId| self.token(id).unwrap_or_default();
        let document = Document {
            version: "1.0",
            truncation: (),
            padding: (),
            added_tokens: added
                .into_iter()
                .map(|(content, id)| Added {
                    id: *id,
                    special: true,
                    content,
                    single_word: false,
                    lstrip: false,
                    rstrip: false,
                    normalized: false,
                })
                .collect(),
            normalizer: (),
            pre_tokenizer: BTreeMap::from([("type", "Whitespace")]),
            post_processor: (),
            decoder: (),
            model: Model {
                r#type: "BPE",
                dropout: (),
                unk_token: super::vocabulary::UNK,
                continuing_subword_prefix: (),
                end_of_word_suffix: (),
                fuse_unk: false,
                vocab: InOrder(self),
                merges: self
                    .merge_list
                    .iter()
                    .map(|&(left, right, _)| format!("{} {}", name(left), name(right)))
                    .collect(),
            },
        };
        // Only a key that is not a string or a writer that fails could make
        // this an error, and there is neither.
        serde_json::to_string_pretty(&document).unwrap_or_default()
    }
}
