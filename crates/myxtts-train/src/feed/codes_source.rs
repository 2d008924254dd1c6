//! What makes codes of a recording, as a hash.

use burn::module::Module;
use myxtts_audio::AudioConfig;
use myxtts_data::codes::CodesSource;
use myxtts_model::params::{ReadError, state_dict};

use super::device::FrontEnd;

/// What makes codes of recordings: a DVAE with its front end, and loading as
/// `audio` says.
///
/// The `Debug` text of the settings names every field, so a field added
/// later changes the hash without anybody remembering to.
///
/// # Errors
/// When the DVAE cannot be read from its device.
pub fn codes_source(
    dvae: &impl Module,
    front_end: &FrontEnd,
    audio: &AudioConfig,
) -> Result<CodesSource, ReadError> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{audio:?} {:?}\n", front_end.codes).as_bytes());
    for value in front_end.stats.iter().flatten() {
        hasher.update(&value.to_le_bytes());
    }
    for (name, data) in state_dict(dvae)? {
        hasher.update(format!("{name} {:?} {:?}\n", data.shape(), data.dtype()).as_bytes());
        hasher.update(data.as_bytes());
    }
    Ok(CodesSource::new(*hasher.finalize().as_bytes()))
}
