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
use crate::config::{ModelArgs, XttsConfig, misfit};
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

impl Description {
    /// One that can be read, for finding out why another cannot.
    fn released() -> Self {
        let args = ModelArgs::default();
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            sizes: Sizes {
                layers: args.gpt_layers,
                channels: args.gpt_n_model_channels,
                text_tokens: args.gpt_number_text_tokens.unwrap_or_default(),
                audio_tokens: args.gpt_num_audio_tokens,
                text_positions: args.gpt_max_text_tokens,
                audio_positions: args.gpt_max_audio_tokens,
            },
            files: BTreeMap::new(),
            xtts: XttsConfig::default(),
            model: None,
        }
    }
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

/// What the description of a folder says of its weights, which are not read.
#[derive(Clone, Debug)]
pub struct Described {
    /// The public configuration.
    pub config: XttsConfig,
    /// What only this program knows of the model; imported files have none.
    pub model: Option<serde_json::Value>,
}

/// Reads the description alone: for what must be known before gigabytes are
/// read and hashed.
pub fn describe_ours(folder: &Path) -> Result<Described, WeightsError> {
    let path = folder.join(CONFIG);
    let description = describe(&path).map_err(|fault| WeightsError::read(&path, fault))?;
    Ok(Described {
        config: description.xtts,
        model: description.model,
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
        model: description.model.clone(),
        ignored: Vec::new(),
        notices: Vec::new(),
    };
    let checked = checkpoint.check();
    let found =
        checked.map_err(|(tensor, fault)| WeightsError::read(folder, fault).about(tensor))?;
    agree(description.sizes, found).map_err(|fault| WeightsError::read(&path, fault))?;
    Ok(checkpoint)
}

/// The sizes a description tells must be those of the weights.
fn agree(told: Sizes, found: Sizes) -> Result<(), Fault> {
    let pairs = [
        ("sizes.layers", told.layers, found.layers),
        ("sizes.channels", told.channels, found.channels),
        ("sizes.text_tokens", told.text_tokens, found.text_tokens),
        ("sizes.audio_tokens", told.audio_tokens, found.audio_tokens),
        (
            "sizes.text_positions",
            told.text_positions,
            found.text_positions,
        ),
        (
            "sizes.audio_positions",
            told.audio_positions,
            found.audio_positions,
        ),
    ];
    match pairs.into_iter().find(|(_, told, found)| told != found) {
        None => Ok(()),
        Some((what, configured, found)) => Err(Fault::Disagree {
            what,
            by: CONFIG,
            configured,
            found,
        }),
    }
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
    let description: Description = serde_json::from_str(&text).map_err(|why| {
        let value: Option<serde_json::Value> = serde_json::from_str(&text).ok();
        match value.and_then(|value| misfit(&value, &Description::released())) {
            Some(misfit) => Fault::Field(misfit.field, misfit.why),
            None => not_ours(why),
        }
    })?;
    description.xtts.check().map_err(|fault| match fault {
        Fault::ConfigKey {
            key,
            expected,
            found,
        } => Fault::ConfigKey {
            key: format!("xtts.{key}"),
            expected,
            found,
        },
        other => other,
    })?;
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
