//! Reading `vocab.json`.
//!
//! The layout is the one of HuggingFace's `tokenizers`. Maps are read entry by
//! entry: a JSON object with a key twice would otherwise lose one in silence.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::error::VocabError;
use super::vocabulary::{LARGEST_ID, TokenId, Vocabulary};

/// The largest file that is read, in bytes; published vocabularies are under 1 MB.
const LARGEST_FILE: u64 = 64 << 20;

#[derive(Deserialize)]
struct Document {
    added_tokens: Vec<Added>,
    model: Model,
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
}

#[derive(Deserialize)]
struct Added {
    id: u64,
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default, rename = "type")]
    kind: Value,
    #[serde(default)]
    dropout: Value,
    #[serde(default)]
    unk_token: Value,
    #[serde(default)]
    continuing_subword_prefix: Value,
    #[serde(default)]
    end_of_word_suffix: Value,
    #[serde(default)]
    fuse_unk: Value,
    #[serde(default)]
    byte_fallback: Value,
    #[serde(default)]
    ignore_merges: Value,
    vocab: Entries,
    merges: Vec<Value>,
}

/// An object `{token: id}` with every entry kept.
struct Entries(Vec<(String, u64)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Entries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of token: id")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

impl Vocabulary {
    /// Reads a `vocab.json`.
    ///
    /// # Errors
    /// Fails if the file cannot be read or breaks an invariant; the error names the file.
    pub fn read(path: &Path) -> Result<Self, VocabError> {
        let unreadable = |error: std::io::Error| VocabError::Unreadable {
            path: path.to_owned(),
            why: error.to_string(),
        };
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        // One byte over the limit is enough to know, whatever size the file claims.
        file.take(LARGEST_FILE + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        let inner = if bytes.len() as u64 > LARGEST_FILE {
            VocabError::TooLarge {
                bytes: size,
                limit: LARGEST_FILE,
            }
        } else {
            match Self::from_json(&bytes) {
                Ok(vocabulary) => return Ok(vocabulary),
                Err(inner) => inner,
            }
        };
        Err(VocabError::InFile {
            path: path.to_owned(),
            inner: Box::new(inner),
        })
    }

    /// Parses the text of a `vocab.json`.
    ///
    /// # Errors
    /// Fails if it is not in the layout, or breaks an invariant: ids and tokens one
    /// to one, the special tokens present, merges of known tokens only.
    pub fn from_json(bytes: &[u8]) -> Result<Self, VocabError> {
        if bytes.len() as u64 > LARGEST_FILE {
            return Err(VocabError::TooLarge {
                bytes: bytes.len() as u64,
                limit: LARGEST_FILE,
            });
        }
        let layout = |error: serde_json::Error| VocabError::Layout {
            line: error.line(),
            column: error.column(),
            why: reason(&error),
        };
        let document: Document = serde_json::from_slice(bytes).map_err(layout)?;
        document.check_settings()?;

        let merges = document
            .model
            .merges
            .iter()
            .enumerate()
            .map(|(at, merge)| pair(at + 1, merge))
            .collect::<Result<Vec<_>, _>>()?;
        let entries = document
            .model
            .vocab
            .0
            .into_iter()
            .map(|(token, id)| checked(token, id))
            .collect::<Result<Vec<_>, _>>()?;
        let added = document
            .added_tokens
            .into_iter()
            .map(|added| checked(added.content, added.id))
            .collect::<Result<Vec<_>, _>>()?;
        Self::build(entries, &merges, added)
    }
}

fn checked(token: String, id: u64) -> Result<(String, TokenId), VocabError> {
    match TokenId::try_from(id) {
        Ok(small) => Ok((token, small)),
        Err(_) => Err(VocabError::IdTooLarge {
            token,
            id,
            limit: LARGEST_ID,
        }),
    }
}

/// Returns the message of a JSON error without its position, which is shown apart.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Reads a merge: `"left right"`, or `["left", "right"]` in newer files.
fn pair(line: usize, merge: &Value) -> Result<(String, String), VocabError> {
    let parts: Vec<&str> = match merge {
        Value::String(text) => text.split(' ').collect(),
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    match parts[..] {
        [left, right] if !left.is_empty() && !right.is_empty() => {
            Ok((left.to_owned(), right.to_owned()))
        }
        _ => Err(VocabError::MalformedMerge {
            line,
            text: merge.to_string(),
        }),
    }
}

impl Document {
    /// Refuses what would make our ids differ from the Python package's.
    fn check_settings(&self) -> Result<(), VocabError> {
        let Self {
            normalizer,
            pre_tokenizer,
            post_processor,
            ..
        } = self;
        let splits_at_spaces = pre_tokenizer["type"] == "Whitespace";
        let whitespace = "{\"type\": \"Whitespace\"} there";
        need("normalizer", normalizer, normalizer.is_null(), "null there")?;
        need("pre_tokenizer", pre_tokenizer, splits_at_spaces, whitespace)?;
        let is_off = post_processor.is_null();
        need("post_processor", post_processor, is_off, "null there")?;
        self.model.check_settings()?;
        for added in &self.added_tokens {
            if added.single_word || added.lstrip || added.rstrip {
                return Err(VocabError::Setting {
                    key: "added_tokens.single_word / lstrip / rstrip",
                    value: format!("true for `{}`", added.content),
                    expected: "false there",
                });
            }
        }
        Ok(())
    }
}

impl Model {
    fn check_settings(&self) -> Result<(), VocabError> {
        let off = |value: &Value| matches!(value, Value::Null | Value::Bool(false));
        let blank = |value: &Value| value.is_null() || value.as_str() == Some("");
        let is_bpe = self.kind.is_null() || self.kind == "BPE";
        need("model.type", &self.kind, is_bpe, "\"BPE\" there")?;
        let is_certain = self.dropout.is_null() || self.dropout.as_f64() == Some(0.0);
        need("model.dropout", &self.dropout, is_certain, "null there")?;
        let is_usual = self.unk_token == "[UNK]";
        need(
            "model.unk_token",
            &self.unk_token,
            is_usual,
            "\"[UNK]\" there",
        )?;
        for (key, value) in [
            (
                "model.continuing_subword_prefix",
                &self.continuing_subword_prefix,
            ),
            ("model.end_of_word_suffix", &self.end_of_word_suffix),
        ] {
            need(key, value, blank(value), "null there")?;
        }
        need(
            "model.fuse_unk",
            &self.fuse_unk,
            off(&self.fuse_unk),
            "false there",
        )?;
        for (key, value) in [
            ("model.byte_fallback", &self.byte_fallback),
            ("model.ignore_merges", &self.ignore_merges),
        ] {
            need(key, value, off(value), "false there, or nothing")?;
        }
        Ok(())
    }
}

/// Returns an error for a setting that is not as it has to be.
fn need(
    key: &'static str,
    value: &Value,
    is_fine: bool,
    expected: &'static str,
) -> Result<(), VocabError> {
    match is_fine {
        true => Ok(()),
        false => Err(VocabError::Setting {
            key,
            value: value.to_string(),
            expected,
        }),
    }
}
