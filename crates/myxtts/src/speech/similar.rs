//! What a model thinks of its own speech.

use std::fmt;

use myxtts_infer::{InferError, Similarity};
use serde::{Deserialize, Serialize};

/// How similar the model finds its speech to the voice, or why it cannot say.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Similar {
    /// It can say.
    Heard(Similarity),
    /// It cannot.
    Unavailable {
        /// Why not.
        unavailable: String,
    },
}

impl Similar {
    /// Takes the model's answer.
    pub fn of(similar: Result<Similarity, InferError>) -> Self {
        match similar {
            Ok(similarity) => Self::Heard(similarity),
            Err(why) => Self::Unavailable {
                // Advice about recordings is of no use for speech.
                unavailable: why
                    .to_string()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            },
        }
    }
}

impl fmt::Display for Similar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heard(Similarity { cosine, of }) => write!(
                f,
                "{cosine:.3} to the requested voice, as the model itself hears it ({})",
                of.name()
            ),
            Self::Unavailable { unavailable } => write!(f, "unavailable: {unavailable}"),
        }
    }
}
