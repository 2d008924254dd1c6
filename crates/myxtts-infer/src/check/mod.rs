//! Checks whether a card can be true: each field against the others and against the shapes of
//! the tensors, before anything is built or allocated.
//!
//! A card is data from a stranger. Sizes that follow from a tensor are compared with it, so that
//! none is larger than a file; sizes that follow from no tensor are bounded.

mod decoder;
mod dvae;
mod gpt;
mod hearing;
mod rules;
mod shapes;
mod speaker;

use std::fmt::Display;

use myxtts_text::{Language, Vocabulary};
use myxtts_weights::ModelWeights;

use crate::card::ModelCard;
use crate::error::InferError;
use rules::{fault, same};

pub(crate) use dvae::dvae_of;
pub(crate) use shapes::Shapes;
pub(crate) use speaker::speaker_of;

/// A field of a card that cannot be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardFault {
    /// The dotted path of the field.
    pub field: String,
    /// The value that was found.
    pub found: String,
    /// What the value would have to be, as the second half of a sentence.
    pub needed: String,
}

impl CardFault {
    pub(crate) fn new(
        field: impl Into<String>,
        found: impl Display,
        needed: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            found: found.to_string(),
            needed: needed.into(),
        }
    }
}

/// Checks a card against itself and against the weights it came with.
pub(crate) fn check(card: &ModelCard, checkpoint: &ModelWeights) -> Result<(), InferError> {
    gpt::check(&card.gpt, &checkpoint.gpt)?;
    // The tensors do not say how channels are divided into heads, and any divisor would load and
    // speak differently: the two places that say it must agree.
    same(
        "gpt.heads",
        card.gpt.heads,
        checkpoint.config.model_args.gpt_n_heads,
        "xtts.model_args.gpt_n_heads",
    )?;
    check_vocabulary(card, checkpoint)?;
    dvae::check(&card.dvae)?;
    if let Some(tensors) = &checkpoint.dvae {
        dvae::check_tensors(&card.dvae, tensors)?;
        let (spoken, codes) = (card.gpt.vocabulary.codes, card.dvae.codes);
        if codes < spoken as usize {
            return Err(InferError::Codes {
                gpt: spoken,
                dvae: codes,
            });
        }
    }
    hearing::check(card)?;
    if let Some(stats) = &checkpoint.mel_stats {
        let stats = stats.to_f32();
        for spec in [card.codes_mel, card.conditioning_mel] {
            spec.check(Some(&stats))?;
        }
    }
    for tag in &card.languages {
        if tag.parse::<Language>().is_err() {
            let needed = "a language tag like `fa` or `zh-cn` is needed";
            return Err(CardFault::new("languages", format!("`{tag}`"), needed).into());
        }
    }
    if let Some(sampling) = &card.sampling {
        sampling.check()?;
    }
    match &card.decoder {
        Some(decoder) => decoder::check(card, decoder, &checkpoint.hifigan_decoder),
        None => Ok(()),
    }
}

/// Checks that START and STOP are rows of the text embedding, and those that the vocabulary has.
fn check_vocabulary(card: &ModelCard, checkpoint: &ModelWeights) -> Result<(), InferError> {
    let symbols = &card.gpt.vocabulary;
    let tokens = [
        ("gpt.vocabulary.start_text", symbols.start_text),
        ("gpt.vocabulary.stop_text", symbols.stop_text),
    ];
    for (field, token) in tokens {
        if token as usize >= symbols.text_tokens {
            let needed = format!("a token below {} is needed", symbols.text_tokens);
            return fault(field, token, needed);
        }
    }
    let Some(bytes) = &checkpoint.vocabulary else {
        return Ok(());
    };
    let vocabulary = Vocabulary::from_json(bytes)?;
    let specials = [
        ("[START]", vocabulary.start()),
        ("[STOP]", vocabulary.stop()),
    ];
    for ((field, token), (name, id)) in tokens.into_iter().zip(specials) {
        if token != id {
            let needed = format!("{name} of vocab.json is token {id}");
            return fault(field, token, needed);
        }
    }
    Ok(())
}
