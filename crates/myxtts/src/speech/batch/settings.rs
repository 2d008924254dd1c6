//! A hash of everything that decides how a line sounds: if it is the same, so is the recording.

use std::fs;
use std::path::Path;

use myxtts_base::report;
use myxtts_infer::{SpeakOptions, Voice};
use serde_json::json;

use crate::error::Error;

/// Returns the hash of a line: its text, its options, and the hashes of voice and model.
pub(super) fn settings(text: &str, options: &SpeakOptions, voice: &str, model: &str) -> String {
    let document = json!({
        "text": text,
        "language": options.language.to_string(),
        "sampling": options.sampling,
        "vocoder": options.vocoder,
        "speed": options.speed,
        "voice": voice,
        "model": model,
    });
    hash(document.to_string().as_bytes())
}

/// Returns the hash of a model, whose description lists the hashes of all its other files.
pub(super) fn model(checkpoint: &Path) -> Result<String, Error> {
    let path = checkpoint.join("config.json");
    let bytes = fs::read(&path).map_err(|why| {
        Error::Failed(report!(
            "the description of the model cannot be read: {why}";
            at: "{}", path.display()
        ))
    })?;
    Ok(hash(&bytes))
}

/// Returns the hash of a voice's numbers, wherever they come from.
pub(super) fn voice(voice: &Voice) -> Result<String, Error> {
    let mut hasher = blake3::Hasher::new();
    let tensors = [Some(&voice.latents_1nd), voice.vector_1c1.as_ref()];
    for tensor in tensors.into_iter().flatten() {
        let numbers = tensor.clone().try_into_vec_as::<f32>().map_err(|why| {
            Error::Failed(report!("the voice cannot be read from the device: {why}"))
        })?;
        let bytes: Vec<u8> = numbers.into_iter().flat_map(f32::to_le_bytes).collect();
        hasher.update(&bytes);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
