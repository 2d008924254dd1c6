//! The parts of the GPT that are not trained, given by the start of their names.

use burn::tensor::Device;
use myxtts_base::report;

use super::Gpt;
use super::config::{GptConfig, Vocabulary};
use crate::conditioning::PerceiverConfig;
use crate::init::Init;
use crate::params::names;

/// The most names in a fix: more would be a list to search.
const MOST_OFFERED: usize = 3;

/// The reasons for which parts cannot be frozen.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FreezeError {
    /// An empty name, with which every name begins.
    #[error(
        "{}",
        report!(
            "an empty name would freeze the whole GPT, and nothing would be trained";
            fix: "name some of its parts: {}", listed(parts, "and")
        )
    )]
    Empty {
        /// The parts that the GPT has.
        parts: Vec<String>,
    },
    /// A name with which no part begins.
    #[error(
        "{}",
        report!(
            "no part of the GPT has a name that begins with `{name}`";
            fix: "name {}", listed(near, "or")
        )
    )]
    Unknown {
        /// The name that was given.
        name: String,
        /// Names that are similar, or all parts.
        near: Vec<String>,
    },
    /// The names together cover the whole GPT.
    #[error(
        "{}",
        report!(
            "the names freeze the whole GPT, and nothing would be trained";
            fix: "leave one of them out"
        )
    )]
    Everything,
}

fn listed(names: &[String], joined_by: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [first @ .., last] if !first.is_empty() => {
            format!("{} {joined_by} {last}", first.join(", "))
        }
        _ => quoted.concat(),
    }
}

/// Checks that a GPT of this size has the parts that `prefixes` name, and others to train.
///
/// # Errors
/// When a prefix matches nothing, or all together leave nothing to train.
pub fn check_frozen(config: &GptConfig, prefixes: &[String]) -> Result<(), FreezeError> {
    if prefixes.is_empty() {
        return Ok(());
    }
    let names = parameter_names(config);
    for prefix in prefixes {
        if prefix.is_empty() {
            return Err(FreezeError::Empty {
                parts: parts(&names),
            });
        }
        if !names.iter().any(|name| name.starts_with(prefix.as_str())) {
            return Err(FreezeError::Unknown {
                name: prefix.clone(),
                near: near(prefix, &names),
            });
        }
    }
    let is_frozen = |name: &String| prefixes.iter().any(|prefix| name.starts_with(prefix));
    match names.iter().all(is_frozen) {
        true => Err(FreezeError::Everything),
        false => Ok(()),
    }
}

/// Lists the names of the parameters. They depend on the numbers of blocks alone, so the
/// narrowest model with as many is made: the largest would take gigabytes.
fn parameter_names(config: &GptConfig) -> Vec<String> {
    let narrow = GptConfig {
        channels: 1,
        heads: 1,
        vocabulary: Vocabulary {
            text_tokens: 1,
            max_text_tokens: 1,
            codes: 1,
            max_audio_tokens: 1,
            ..config.vocabulary
        },
        mel_bands: 1,
        perceiver: PerceiverConfig {
            latents: 1,
            heads: 1,
            head_channels: 1,
            ..config.perceiver
        },
        ..config.clone()
    };
    names(&Gpt::new(&Init::blank(&Device::flex()), &narrow))
}

/// Returns what stands before the first dot of each name.
fn parts(names: &[String]) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for name in names {
        let part = name.split('.').next().unwrap_or_default();
        if parts.last().is_none_or(|last| last != part) {
            parts.push(part.to_owned());
        }
    }
    parts
}

/// Returns the names that share the longest beginning with `wanted`, each up to the next dot;
/// failing that, the parts that contain it; failing that, all parts.
fn near(wanted: &str, names: &[String]) -> Vec<String> {
    let shared = |name: &str| {
        let pairs = wanted.bytes().zip(name.bytes());
        pairs.take_while(|(a, b)| a == b).count()
    };
    let longest = names.iter().map(|name| shared(name)).max().unwrap_or(0);
    if longest >= 3 {
        let mut found: Vec<String> = Vec::new();
        for name in names.iter().filter(|name| shared(name) == longest) {
            let end = name[longest..]
                .find('.')
                .map_or(name.len(), |at| longest + at);
            let start = name[..end].to_owned();
            if !found.contains(&start) {
                found.push(start);
            }
        }
        found.truncate(MOST_OFFERED);
        return found;
    }
    let parts = parts(names);
    let containing: Vec<String> = parts
        .iter()
        .filter(|part| part.contains(wanted))
        .cloned()
        .collect();
    match containing.is_empty() {
        true => parts,
        false => containing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::names;
    use crate::size::ModelSize;

    fn check(prefixes: &[&str]) -> Result<(), String> {
        let config = ModelSize::Tiny.gpt(Vocabulary::XTTS_V2);
        let prefixes: Vec<String> = prefixes.iter().map(|name| (*name).to_owned()).collect();
        check_frozen(&config, &prefixes).map_err(|why| why.to_string())
    }

    #[test]
    fn names_are_those_of_the_model() {
        let config = ModelSize::Tiny.gpt(Vocabulary::XTTS_V2);
        let gpt = Gpt::new(&Init::blank(&Device::flex()), &config);
        assert_eq!(parameter_names(&config), names(&gpt));
    }

    #[test]
    fn parts_by_the_start_of_their_names() {
        for prefixes in [
            &[][..],
            &["text_embedding"],
            &["gpt.h.0.", "gpt.h.3."],
            &["conditioning", "mel_"],
        ] {
            assert_eq!(check(prefixes), Ok(()), "{prefixes:?}");
        }
    }

    #[test]
    fn what_freezes_nothing_or_everything_is_refused() {
        let cases: [&[&str]; 6] = [
            &[""],
            &["gpt.h.0.", "text_embeding"],
            &["gpt.h.9."],
            &["embedding"],
            &["transformer"],
            &["conditioning", "text_", "mel_", "gpt.", "final_norm"],
        ];
        let told = cases.map(|names| check(names).unwrap_err());
        insta::assert_snapshot!(told.join("\n"), @r"
        an empty name would freeze the whole GPT, and nothing would be trained
          fix:   name some of its parts: `conditioning_encoder`, `conditioning_perceiver`, `text_embedding`, `mel_embedding`, `gpt`, `mel_pos_embedding`, `text_pos_embedding`, `final_norm`, `text_head` and `mel_head`
        no part of the GPT has a name that begins with `text_embeding`
          fix:   name `text_embedding`
        no part of the GPT has a name that begins with `gpt.h.9.`
          fix:   name `gpt.h.0`, `gpt.h.1` or `gpt.h.2`
        no part of the GPT has a name that begins with `embedding`
          fix:   name `text_embedding`, `mel_embedding`, `mel_pos_embedding` or `text_pos_embedding`
        no part of the GPT has a name that begins with `transformer`
          fix:   name `conditioning_encoder`, `conditioning_perceiver`, `text_embedding`, `mel_embedding`, `gpt`, `mel_pos_embedding`, `text_pos_embedding`, `final_norm`, `text_head` or `mel_head`
        the names freeze the whole GPT, and nothing would be trained
          fix:   leave one of them out
        ");
    }
}
