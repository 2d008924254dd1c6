//! Whether an earlier preparation is still good.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use myxtts_text::Vocabulary;

use super::{MANIFEST, PrepareError, REPORT, Report, Request};
use crate::layout::{Layout, detect};

/// The report of an earlier preparation with the same settings, vocabulary and
/// metadata, whose manifest is there; `None` where there is nothing like that.
/// Recordings are not read: whoever changes one prepares again.
pub fn earlier(request: &Request<'_>) -> Result<Option<Report>, PrepareError> {
    let Ok(bytes) = fs::read(request.out.join(REPORT)) else {
        return Ok(None);
    };
    let Ok(report) = serde_json::from_slice::<Report>(&bytes) else {
        return Ok(None);
    };
    let dataset = super::run::absolute(&request.dataset)?;
    let is_current = request.out.join(MANIFEST).is_file()
        && report.settings == request.settings
        && report.vocabulary == request.vocabulary.map(vocabulary_hash)
        && report.fingerprint == fingerprint(&detect(&dataset)?, &dataset)?;
    Ok(is_current.then_some(report))
}

pub(super) fn vocabulary_hash(vocabulary: &Vocabulary) -> String {
    blake3::hash(vocabulary.to_json().as_bytes())
        .to_hex()
        .to_string()
}

/// A hash of what names the clips: the metadata, or names and sizes of pairs.
pub(super) fn fingerprint(layout: &Layout, dataset: &Path) -> Result<String, PrepareError> {
    let mut hasher = blake3::Hasher::new();
    let files: Vec<&Path> = match layout {
        Layout::LjSpeech { metadata, .. } => vec![metadata],
        Layout::JsonLines { file, .. } => vec![file],
        Layout::Tables { files, .. } => files.iter().map(|(file, _)| file.as_path()).collect(),
        Layout::Pairs { files, .. } => {
            for audio in files {
                hasher.update(audio.as_os_str().as_encoded_bytes());
                for path in [audio.clone(), audio.with_extension("txt")] {
                    let size = fs::metadata(path).map_or(0, |found| found.len());
                    hasher.update(&size.to_le_bytes());
                }
            }
            vec![]
        }
    };
    for file in files {
        let mut read = || -> io::Result<()> {
            io::copy(&mut File::open(file)?, &mut hasher)?;
            Ok(())
        };
        read().map_err(|why| PrepareError::Metadata {
            path: dataset.to_owned(),
            why,
        })?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}
