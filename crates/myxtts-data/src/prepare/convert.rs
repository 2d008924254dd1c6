//! Recordings as 16-bit mono FLAC at the model's rate, written once.
//!
//! Neither trimmed nor levelled: those are settings, and a conversion must not
//! fix them forever. What is there already is compared sample by sample with
//! what would be written, so that a second run writes nothing and a damaged or
//! stale file is replaced.

use std::fs;
use std::path::{Path, PathBuf};

use myxtts_audio::{
    AudioConfig, Limits, Loader, Normalize, Waveform, WriteError, decode, write_flac_pcm16,
};

use super::checks::{Rejection, unreadable};
use super::{PrepareError, Settings};
use crate::atomic;

/// Writes `<folder>/<id>.flac` from the recording at `path`, or says why the
/// recording cannot be read.
pub(super) fn convert(
    path: &Path,
    id: &str,
    folder: &Path,
    loader: &mut Loader,
    settings: &Settings,
) -> Result<Result<PathBuf, Rejection>, PrepareError> {
    let target = folder.join(format!("{id}.flac"));
    let loaded = match loader.load(path) {
        Ok(loaded) => loaded,
        Err(error) => return Ok(Err(unreadable(&error, settings))),
    };
    if !holds(&target, &loaded.waveform) {
        write(&target, &loaded.waveform)?;
    }
    Ok(Ok(target))
}

/// Makes a loader that only decodes and resamples.
pub(super) fn plain_loader(audio: &AudioConfig, limits: Limits) -> Loader {
    let plain = AudioConfig {
        trim_silence: false,
        normalize: Normalize::None,
        ..audio.clone()
    };
    Loader::new(plain, limits)
}

/// Returns whether the file is what would be written.
fn holds(target: &Path, waveform: &Waveform) -> bool {
    let limits = Limits {
        longest: waveform.duration(),
    };
    let Ok(found) = decode(target, &limits) else {
        return false;
    };
    let found = found.waveform;
    let quantised = |x: f32| (x * 32_768.0).round().clamp(-32_768.0, 32_767.0) / 32_768.0;
    found.rate == waveform.rate
        && found.samples.len() == waveform.samples.len()
        && found
            .samples
            .iter()
            .zip(&waveform.samples)
            .all(|(found, wanted)| *found == quantised(*wanted))
}

fn write(target: &Path, waveform: &Waveform) -> Result<(), PrepareError> {
    let io = |source| WriteError::Io {
        path: target.to_owned(),
        source,
    };
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(io)?;
    let file = atomic::temporary(folder).map_err(io)?;
    write_flac_pcm16(file.path(), waveform)?;
    file.persist(target).map_err(|failed| io(failed.error))?;
    Ok(())
}
