//! Whether an earlier preparation is still good.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use myxtts_text::Vocabulary;

use super::{MANIFEST, PrepareError, REPORT, Report, Request, language};
use crate::layout::{Layout, detect};

/// Returns the report of an earlier preparation with the same settings, vocabulary
/// and metadata, whose manifest is there; `None` where there is nothing like that.
/// Recordings are not read: whoever changes one prepares again.
pub fn earlier(request: &Request<'_>) -> Result<Option<Report>, PrepareError> {
    Ok(match freshness_of(request)? {
        Freshness::Current(report) => Some(*report),
        Freshness::Absent | Freshness::Other => None,
    })
}

/// What the output folder holds.
pub(super) enum Freshness {
    /// Nothing, or files made from other metadata.
    Absent,
    /// Files made from this metadata with other settings.
    Other,
    /// The files that would be made.
    Current(Box<Report>),
}

pub(super) fn freshness_of(request: &Request<'_>) -> Result<Freshness, PrepareError> {
    let Ok(bytes) = fs::read(request.out.join(REPORT)) else {
        return Ok(Freshness::Absent);
    };
    let Ok(report) = serde_json::from_slice::<Report>(&bytes) else {
        return Ok(Freshness::Absent);
    };
    let dataset = super::run::absolute(&request.dataset)?;
    let layout = detect(&dataset, request.settings.columns.as_ref())?;
    if !request.out.join(MANIFEST).is_file() || report.fingerprint != fingerprint(&layout)? {
        return Ok(Freshness::Absent);
    }
    let mut wanted = request.settings.clone();
    let language = language::decide(wanted.language.as_deref(), &layout, &dataset)?;
    wanted.language = Some(language.to_string());
    // Recordings that were converted are as good as those that were not.
    wanted.convert |= report.settings.convert;
    let is_current =
        report.settings == wanted && report.vocabulary == request.vocabulary.map(vocabulary_hash);
    Ok(match is_current {
        true => Freshness::Current(Box::new(report)),
        false => Freshness::Other,
    })
}

/// Names a set of files by what it depends on besides the metadata.
pub(super) fn key(request: &Request<'_>) -> String {
    // Settings of numbers and words always have a JSON form.
    let settings = serde_json::to_string(&request.settings).unwrap_or_default();
    let vocabulary = request.vocabulary.map(vocabulary_hash).unwrap_or_default();
    let hash = blake3::hash(format!("{settings}\n{vocabulary}").as_bytes());
    hash.to_hex()[..12].to_owned()
}

pub(super) fn vocabulary_hash(vocabulary: &Vocabulary) -> String {
    blake3::hash(vocabulary.to_json().as_bytes())
        .to_hex()
        .to_string()
}

/// Hashes what names the clips: the metadata, or the names and sizes of pairs.
pub(super) fn fingerprint(layout: &Layout) -> Result<String, PrepareError> {
    let mut hasher = blake3::Hasher::new();
    let files: Vec<&Path> = match layout {
        Layout::JsonLines { file, .. } => vec![file],
        Layout::Tables { tables, .. } => tables.iter().map(|table| table.file.as_path()).collect(),
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
            path: file.to_owned(),
            why,
        })?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}
