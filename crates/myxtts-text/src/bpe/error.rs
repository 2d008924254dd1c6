//! What can be wrong with a vocabulary file, and what to do about it.

use std::path::PathBuf;

use myxtts_base::report;

/// Why a vocabulary was refused. Every message ends with the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VocabError {
    /// The file could not be read at all.
    #[error(
        "{}",
        report!(
            "cannot read the vocabulary {}: {why}", path.display();
            fix: "check the path; it is the `vocab.json` that came with the model"
        )
    )]
    Unreadable {
        /// The file asked for.
        path: PathBuf,
        /// What the operating system said.
        why: String,
    },
    /// The file is larger than any vocabulary: a wrong file, or an attack.
    #[error(
        "{}",
        report!(
            "the vocabulary has {bytes} bytes, more than the limit of {limit}";
            fix: "name the tokenizer's `vocab.json` (a few hundred kilobytes), not a model"
        )
    )]
    TooLarge {
        /// The size of the file in bytes.
        bytes: u64,
        /// The most bytes that are read.
        limit: u64,
    },
    /// The file is not JSON, or is JSON of another shape.
    #[error(
        "{}",
        report!(
            "the vocabulary is not in the tokenizer layout, line {line} column {column}: {why}";
            fix: "write it as the `tokenizers` package does: {{\"added_tokens\": [...], \"model\": \
                  {{\"type\": \"BPE\", \"vocab\": {{...}}, \"merges\": [...]}}}}"
        )
    )]
    Layout {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// What the JSON reader objected to.
        why: String,
    },
    /// A setting of the file asks for behaviour that XTTS vocabularies never use.
    #[error(
        "{}",
        report!(
            "the vocabulary sets `{key}` to {value}, which this tokenizer does not support";
            why: "an XTTS vocabulary has {expected}";
            fix: "take the `vocab.json` that came with the model"
        )
    )]
    Setting {
        /// The key, with dots.
        key: &'static str,
        /// What the file says.
        value: String,
        /// What it should say.
        expected: &'static str,
    },
    /// A special token that the model needs is not there.
    #[error(
        "{}",
        report!(
            "the vocabulary has no `{token}` among its added tokens";
            why: "the model needs [STOP], [UNK], [SPACE] and [START]";
            fix: "take the `vocab.json` that belongs to the checkpoint, or make one with \
                  `Vocabulary::train`"
        )
    )]
    MissingSpecial {
        /// The token that is missing.
        token: &'static str,
    },
    /// Two tokens have one id.
    #[error(
        "{}",
        report!(
            "tokens `{first}` and `{second}` both have id {id}";
            why: "every token needs its own row of the embedding";
            fix: "use the original file; this one was edited or merged by hand"
        )
    )]
    DuplicateId {
        /// The id of both tokens.
        id: u32,
        /// The token that had it first.
        first: String,
        /// The token that claims it too.
        second: String,
    },
    /// One token has two ids.
    #[error(
        "{}",
        report!(
            "token `{token}` is listed with id {first} and with id {second}";
            fix: "use the original file; this one was edited or merged by hand"
        )
    )]
    DuplicateToken {
        /// The token that is listed twice.
        token: String,
        /// The id it had first.
        first: u32,
        /// The id it has as well.
        second: u32,
    },
    /// An id so large that the embedding would not fit anywhere.
    #[error(
        "{}",
        report!(
            "token `{token}` has id {id}, more than the limit of {limit}";
            why: "the model keeps one embedding row for every id up to the largest";
            fix: "number the tokens without such a gap"
        )
    )]
    IdTooLarge {
        /// The token that has the id.
        token: String,
        /// The id that is too large.
        id: u64,
        /// The largest id that is allowed.
        limit: u32,
    },
    /// A merge names a token that is not in the vocabulary.
    #[error(
        "{}",
        report!(
            "merge {line} (`{left}` + `{right}`) needs the token `{missing}`, which is not in the \
             vocabulary";
            why: "the merges and the tokens come from different files";
            fix: "take both from the same one"
        )
    )]
    MergeOfUnknown {
        /// The position in `model.merges`, counted from 1.
        line: usize,
        /// The left part of the merge.
        left: String,
        /// The right part of the merge.
        right: String,
        /// The part, or the result, that is missing.
        missing: String,
    },
    /// A merge is not two tokens.
    #[error(
        "{}",
        report!(
            "merge {line} is `{text}`, not two tokens";
            fix: "write a merge as \"left right\" or [\"left\", \"right\"]"
        )
    )]
    MalformedMerge {
        /// The position in `model.merges`, counted from 1.
        line: usize,
        /// What stands there instead.
        text: String,
    },
    /// A token cannot be used: it is empty, or has white space inside.
    #[error(
        "{}",
        report!(
            "`{token}` cannot be a token: {why}";
            why: "the text is split at white space first, and the space itself is [SPACE]";
            fix: "take the `vocab.json` that came with the model"
        )
    )]
    UnusableToken {
        /// The token, with its characters escaped.
        token: String,
        /// Why it cannot be used.
        why: &'static str,
    },
    /// The target of a training or growth cannot be met.
    #[error(
        "{}",
        report!(
            "a vocabulary of {target} tokens was asked for, but {needed} are needed for the \
             special tokens and the characters alone";
            fix: "ask for at least {needed}, or lower the character coverage"
        )
    )]
    TargetTooSmall {
        /// The number of tokens asked for.
        target: usize,
        /// The number of tokens needed.
        needed: usize,
    },
    /// A vocabulary file is wrong; the path says which.
    #[error("{}: {inner}", path.display())]
    InFile {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong with it.
        inner: Box<VocabError>,
    },
}

/// Why a text could not be turned into ids.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The vocabulary has no tag for the language.
    ///
    /// The Python reference spells the tag out in letters here, and trains on
    /// the noise.
    #[error(
        "{}",
        report!(
            "the vocabulary has no language tag `[{tag}]` (it has {known})";
            fix: "add the tag to the vocabulary and let the model learn it, or choose one of these \
                  languages"
        )
    )]
    NoLanguageTag {
        /// The tag that is missing.
        tag: String,
        /// The tags that are there.
        known: String,
    },
}
