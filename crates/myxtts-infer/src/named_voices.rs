//! The voices that are stored with a model, by name.
//!
//! A training keeps a recording of each speaker (`voices/NAME.wav`). Public
//! files bring `speakers_xtts.pth`, which `import` keeps as latents and vectors
//! (`speakers.safetensors`); they were made by those weights and need no recording.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use myxtts_weights::{Tensor, read_speakers};

use crate::error::InferError;
use crate::locate::voices;
use crate::synthesizer::Synthesizer;
use crate::voice::Voice;
use crate::voice_file::{LATENTS, VECTOR};

/// A voice that is stored with a model.
#[derive(Clone, Debug)]
pub struct NamedVoice {
    /// What it is asked for by.
    pub name: String,
    /// What is stored of it.
    pub stored: StoredVoice,
}

/// What is stored of a voice.
#[derive(Clone, Debug)]
pub enum StoredVoice {
    /// A recording, which the model has yet to hear.
    Recording(PathBuf),
    /// What the model made of recordings that it was released without.
    Latents {
        /// For the GPT: `(1, latents, channels)`.
        latents: Tensor,
        /// For the waveform decoder: `(1, channels, 1)`.
        vector: Option<Tensor>,
    },
}

impl StoredVoice {
    /// In a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Recording(_) => "recording",
            Self::Latents { .. } => "latents",
        }
    }
}

/// The voices stored in a folder of weights, in the order of their names. Where
/// a recording and latents have one name, the recording comes first.
///
/// # Errors
/// When the file of latents is not the one that was written.
pub fn named_voices(folder: &Path) -> Result<Vec<NamedVoice>, InferError> {
    let recordings = voices(folder).into_iter().map(|(name, path)| NamedVoice {
        name,
        stored: StoredVoice::Recording(path),
    });
    let mut named: Vec<NamedVoice> = recordings.collect();
    let mut speakers: BTreeMap<String, [Option<Tensor>; 2]> = BTreeMap::new();
    for (path, tensor) in read_speakers(folder)?.unwrap_or_default() {
        // Names may have dots of their own.
        let Some((name, part)) = path.rsplit_once('.') else {
            continue;
        };
        let place = match part {
            LATENTS => 0,
            VECTOR => 1,
            _ => continue,
        };
        speakers.entry(name.to_owned()).or_default()[place] = Some(tensor);
    }
    named.extend(
        speakers
            .into_iter()
            .filter_map(|(name, [latents, vector])| {
                let stored = StoredVoice::Latents {
                    latents: latents?,
                    vector,
                };
                Some(NamedVoice { name, stored })
            }),
    );
    named.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(named)
}

impl Synthesizer {
    /// The voice of latents stored with this model.
    ///
    /// # Errors
    /// When they are not of this model's sizes.
    pub fn voice_from_latents(
        &self,
        name: &str,
        latents: &Tensor,
        vector: Option<&Tensor>,
    ) -> Result<Voice, InferError> {
        let refused = |what: &str, shape: &[usize]| InferError::Voice {
            name: name.to_owned(),
            why: format!("its {what} has shape {shape:?}"),
            fix: "use the speakers_xtts.pth that came with these weights, and import them again",
        };
        let sizes = match *latents.shape() {
            [1, n, d] => [n, d],
            _ => return Err(refused(LATENTS, latents.shape())),
        };
        let vector = match vector {
            Some(vector) => match *vector.shape() {
                [1, _, 1] => Some(vector.to_f32()),
                _ => return Err(refused(VECTOR, vector.shape())),
            },
            None => None,
        };
        self.voice_of(name, sizes, latents.to_f32(), vector)
    }
}
