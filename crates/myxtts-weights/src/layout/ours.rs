//! Our folder, version 1.
//!
//! | file | holds |
//! |---|---|
//! | `gpt.safetensors` | `gpt.*` |
//! | `hifigan_decoder.safetensors` | `hifigan_decoder.*` |
//! | `dvae.safetensors` | the DVAE |
//! | `mel_stats.safetensors` | `mel_stats`, and `model.mel_stats` if a model file had it |
//! | `speakers.safetensors` | latents of named voices |
//! | `vocab.json` | the vocabulary, as it was |
//! | `config.json` | format, version, sizes, the hash of every other file, the public configuration, and what only this program knows of the model |
//!
//! Parts a model does not have have no file. A file that is not listed in
//! `config.json`, or is not what is listed, is not read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::folder::{write_file, write_folder};
use super::{CONFIG, MEL_STATS, VOCABULARY};
use crate::checkpoint::{Checkpoint, Sizes};
use crate::config::XttsConfig;
use crate::error::{Fault, WeightsError};
use crate::map::TensorMap;
use crate::safetensors::{read_safetensors, safetensors_bytes, write_safetensors};
use crate::source::Source;

const FORMAT: &str = "myxtts-weights";
const VERSION: u64 = 1;

const GPT: &str = "gpt.safetensors";
const HIFIGAN_DECODER: &str = "hifigan_decoder.safetensors";
const DVAE: &str = "dvae.safetensors";
const MEL_STATS_FILE: &str = "mel_stats.safetensors";
const SPEAKERS: &str = "speakers.safetensors";
const MODEL_MEL_STATS: &str = "model.mel_stats";

/// `config.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    format: String,
    version: u64,
    sizes: Sizes,
    files: BTreeMap<String, String>,
    xtts: XttsConfig,
    /// Folders of imported files have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<serde_json::Value>,
}

/// Writes a model into a new folder of ours.
pub fn write_ours(folder: &Path, checkpoint: &Checkpoint) -> Result<(), WeightsError> {
    let sizes = sizes(folder, checkpoint)?;
    write_folder(folder, |folder| {
        let mut files = BTreeMap::new();
        for (name, map) in parts(checkpoint) {
            let path = folder.join(name);
            write_safetensors(&path, &map)?;
            files.insert(name.to_owned(), hash(&path)?);
        }
        if let Some(vocabulary) = &checkpoint.vocabulary {
            let path = folder.join(VOCABULARY);
            write_file(&path, vocabulary)?;
            files.insert(VOCABULARY.to_owned(), hash(&path)?);
        }
        let path = folder.join(CONFIG);
        write_file(&path, &description(&path, checkpoint, sizes, files)?)
    })
}

/// Every file of our folder, by name and in memory: for a folder that holds
/// other files besides, and is written by somebody else.
pub fn ours_files(checkpoint: &Checkpoint) -> Result<Vec<(String, Vec<u8>)>, WeightsError> {
    let path = Path::new(CONFIG);
    let sizes = sizes(path, checkpoint)?;
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, map) in parts(checkpoint) {
        let bytes = safetensors_bytes(&map);
        let bytes = bytes.map_err(|fault| WeightsError::write(Path::new(name), fault))?;
        files.push((name.to_owned(), bytes));
    }
    if let Some(vocabulary) = &checkpoint.vocabulary {
        files.push((VOCABULARY.to_owned(), vocabulary.clone()));
    }
    let hashes = files
        .iter()
        .map(|(name, bytes)| (name.clone(), hash_of(bytes)))
        .collect();
    let config = description(path, checkpoint, sizes, hashes)?;
    files.push((CONFIG.to_owned(), config));
    Ok(files)
}

fn sizes(path: &Path, checkpoint: &Checkpoint) -> Result<Sizes, WeightsError> {
    Sizes::of(&checkpoint.gpt).map_err(|(_, fault)| WeightsError::write(path, fault))
}

/// The files of tensors; parts the model does not have are left out.
fn parts(checkpoint: &Checkpoint) -> Vec<(&'static str, Cow<'_, TensorMap>)> {
    let mel_stats: TensorMap = [
        (MEL_STATS, &checkpoint.mel_stats),
        (MODEL_MEL_STATS, &checkpoint.model_mel_stats),
    ]
    .into_iter()
    .filter_map(|(name, stats)| Some((name, stats.clone()?)))
    .collect();
    let parts = [
        (GPT, Some(&checkpoint.gpt)),
        (HIFIGAN_DECODER, Some(&checkpoint.hifigan_decoder)),
        (DVAE, checkpoint.dvae.as_ref()),
        (SPEAKERS, checkpoint.speakers.as_ref()),
    ];
    parts
        .into_iter()
        .filter_map(|(name, map)| Some((name, Cow::Borrowed(map?))))
        .chain([(MEL_STATS_FILE, Cow::Owned(mel_stats))])
        .filter(|(_, map)| !map.is_empty())
        .collect()
}

/// The text of `config.json`, beside files of these hashes.
fn description(
    path: &Path,
    checkpoint: &Checkpoint,
    sizes: Sizes,
    files: BTreeMap<String, String>,
) -> Result<Vec<u8>, WeightsError> {
    let description = Description {
        format: FORMAT.to_owned(),
        version: VERSION,
        sizes,
        files,
        xtts: checkpoint.config.clone(),
        model: checkpoint.model.clone(),
    };
    serde_json::to_vec_pretty(&description)
        .map_err(|why| WeightsError::write(path, Fault::Json(why)))
}

/// Reads a folder of ours; every file must be the one that was written.
pub fn read_ours(folder: &Path) -> Result<Checkpoint, WeightsError> {
    let path = folder.join(CONFIG);
    let description = describe(&path).map_err(|fault| WeightsError::read(&path, fault))?;
    for (name, expected) in &description.files {
        let path = folder.join(name);
        let found = hash(&path)?;
        if found != *expected {
            let expected = expected.clone();
            return Err(WeightsError::read(&path, Fault::Hash { expected, found }));
        }
    }
    let read = |name: &str| match description.files.contains_key(name) {
        true => read_safetensors(&folder.join(name)).map(Some),
        false => Ok(None),
    };
    let vocabulary = folder.join(VOCABULARY);
    let mut mel_stats = read(MEL_STATS_FILE)?.unwrap_or_default();
    let mut checkpoint = Checkpoint {
        gpt: read(GPT)?.unwrap_or_default(),
        hifigan_decoder: read(HIFIGAN_DECODER)?.unwrap_or_default(),
        dvae: read(DVAE)?,
        mel_stats: mel_stats.remove(MEL_STATS),
        model_mel_stats: mel_stats.remove(MODEL_MEL_STATS),
        speakers: read(SPEAKERS)?,
        vocabulary: match description.files.contains_key(VOCABULARY) {
            true => {
                let bytes = fs::read(&vocabulary);
                Some(bytes.map_err(|why| WeightsError::read(&vocabulary, Fault::Io(why)))?)
            }
            false => None,
        },
        config: description.xtts.clone(),
        model: description.model.clone(),
        ignored: Vec::new(),
        notices: Vec::new(),
    };
    let checked = checkpoint.check();
    checked.map_err(|(tensor, fault)| WeightsError::read(folder, fault).about(tensor))?;
    Ok(checkpoint)
}

fn describe(path: &Path) -> Result<Description, Fault> {
    #[derive(Deserialize)]
    struct Kind {
        format: String,
        version: u64,
    }
    let text = fs::read_to_string(path)?;
    let not_ours = |why: serde_json::Error| Fault::NotOurs(why.to_string());
    let kind: Kind = serde_json::from_str(&text).map_err(not_ours)?;
    if kind.format != FORMAT {
        return Err(Fault::NotOurs(format!("its format is `{}`", kind.format)));
    }
    if kind.version != VERSION {
        return Err(Fault::Version(kind.version));
    }
    let description: Description = serde_json::from_str(&text).map_err(not_ours)?;
    let known = [
        GPT,
        HIFIGAN_DECODER,
        DVAE,
        MEL_STATS_FILE,
        SPEAKERS,
        VOCABULARY,
    ];
    match description
        .files
        .keys()
        .find(|name| !known.contains(&name.as_str()))
    {
        Some(name) => Err(Fault::NotOurs(format!("it lists the file `{name}`"))),
        None => Ok(description),
    }
}

fn hash(path: &Path) -> Result<String, WeightsError> {
    let source = Source::open(path).map_err(|fault| WeightsError::read(path, fault))?;
    Ok(hash_of(source.bytes()))
}

fn hash_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
