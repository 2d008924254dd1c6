//! The voices that are stored with a model, by name.
//!
//! A training keeps a recording of each speaker (`voices/NAME.wav`). Public files come with
//! `speakers_xtts.pth`, which `import` stores as latents and vectors (`speakers.safetensors`);
//! these were made by the same weights and need no recording.

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
    /// The name that `--speaker` takes.
    pub name: String,
    /// What is stored of the voice.
    pub stored: StoredVoice,
}

/// What is stored of a voice.
#[derive(Clone, Debug)]
pub enum StoredVoice {
    /// A recording that the model has yet to listen to.
    Recording(PathBuf),
    /// Latents made from recordings that were not released with the model.
    Latents {
        /// The latents for the GPT: `(1, latents, channels)`.
        latents: Tensor,
        /// The vector for the waveform decoder: `(1, channels, 1)`.
        vector: Option<Tensor>,
    },
}

impl StoredVoice {
    /// Returns the kind of what is stored, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Recording(_) => "recording",
            Self::Latents { .. } => "latents",
        }
    }
}

/// Returns the voices stored in a folder of weights, sorted by name. If a recording and latents
/// have the same name, the recording comes first.
///
/// # Errors
/// Returns an error if the file of latents is not the one that was written.
pub fn named_voices(folder: &Path) -> Result<Vec<NamedVoice>, InferError> {
    let recordings = voices(folder).into_iter().map(|(name, path)| NamedVoice {
        name,
        stored: StoredVoice::Recording(path),
    });
    let mut named: Vec<NamedVoice> = recordings.collect();
    let mut speakers: BTreeMap<String, [Option<Tensor>; 2]> = BTreeMap::new();
    for (path, tensor) in read_speakers(folder)?.unwrap_or_default() {
        // Names may contain dots.
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
    /// Returns the voice of latents stored with this model.
    ///
    /// # Errors
    /// Returns an error if the latents do not have this model's sizes.
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
