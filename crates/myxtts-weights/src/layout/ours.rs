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
//! | `config.json` | format, version, sizes, the hash of every other file, the public configuration |
//!
//! Parts a model does not have have no file. A file that is not listed in
//! `config.json`, or is not what is listed, is not read.

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
use crate::safetensors::{read_safetensors, write_safetensors};
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
}

/// Writes a model into a new folder of ours.
pub fn write_ours(folder: &Path, checkpoint: &Checkpoint) -> Result<(), WeightsError> {
    let sizes = Sizes::of(&checkpoint.gpt);
    let sizes = sizes.map_err(|(_, fault)| WeightsError::write(folder, fault))?;
    let mel_stats: TensorMap = [
        (MEL_STATS, &checkpoint.mel_stats),
        (MODEL_MEL_STATS, &checkpoint.model_mel_stats),
    ]
    .into_iter()
    .filter_map(|(name, stats)| Some((name, stats.clone()?)))
    .collect();
    let none = TensorMap::new();
    let parts = [
        (GPT, &checkpoint.gpt),
        (HIFIGAN_DECODER, &checkpoint.hifigan_decoder),
        (DVAE, checkpoint.dvae.as_ref().unwrap_or(&none)),
        (MEL_STATS_FILE, &mel_stats),
        (SPEAKERS, checkpoint.speakers.as_ref().unwrap_or(&none)),
    ];
    write_folder(folder, |folder| {
        let mut files = BTreeMap::new();
        for (name, map) in parts.into_iter().filter(|(_, map)| !map.is_empty()) {
            let path = folder.join(name);
            write_safetensors(&path, map)?;
            files.insert(name.to_owned(), hash(&path)?);
        }
        if let Some(vocabulary) = &checkpoint.vocabulary {
            let path = folder.join(VOCABULARY);
            write_file(&path, vocabulary)?;
            files.insert(VOCABULARY.to_owned(), hash(&path)?);
        }
        let description = Description {
            format: FORMAT.to_owned(),
            version: VERSION,
            sizes,
            files,
            xtts: checkpoint.config.clone(),
        };
        let path = folder.join(CONFIG);
        let text = serde_json::to_string_pretty(&description)
            .map_err(|why| WeightsError::write(&path, Fault::Json(why)))?;
        write_file(&path, text.as_bytes())
    })
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
    Ok(blake3::hash(source.bytes()).to_hex().to_string())
}
