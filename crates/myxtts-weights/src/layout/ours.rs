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
//! A part that a model does not have has no file. A file that is not listed in
//! `config.json`, or is not what is listed, is not read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::folder::{write_file, write_folder};
use super::{CONFIG, MEL_STATS, VOCABULARY};
use crate::config::{ModelArgs, XttsConfig, misfit};
use crate::error::{Fault, WeightsError};
use crate::map::TensorMap;
use crate::model_weights::{ModelWeights, Sizes};
use crate::safetensors::{read_safetensors, write_stream};
use crate::source::Source;
use crate::stream::{SafetensorsStream, TensorStream};
use crate::tensor::Tensor;

const FORMAT: &str = "myxtts-weights";
const VERSION: u64 = 1;

const GPT: &str = "gpt.safetensors";
const HIFIGAN_DECODER: &str = "hifigan_decoder.safetensors";
const DVAE: &str = "dvae.safetensors";
const MEL_STATS_FILE: &str = "mel_stats.safetensors";
const SPEAKERS: &str = "speakers.safetensors";
const MODEL_MEL_STATS: &str = "model.mel_stats";

/// The files that `config.json` lists.
const FILES: [&str; 6] = [
    GPT,
    HIFIGAN_DECODER,
    DVAE,
    MEL_STATS_FILE,
    SPEAKERS,
    VOCABULARY,
];

/// The contents of `config.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    format: String,
    version: u64,
    sizes: Sizes,
    files: BTreeMap<String, String>,
    xtts: XttsConfig,
    /// The model's own part; folders of imported files have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<serde_json::Value>,
}

impl Description {
    /// Returns one that can be read, for finding out why another cannot.
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

/// A model on its way to a folder of ours, its tensors still where they are.
#[derive(Debug, Default)]
pub struct Outgoing<'a> {
    /// The GPT, under `gpt.*`.
    pub gpt: Vec<TensorStream<'a>>,
    /// The vocoder and the speaker encoder, under `hifigan_decoder.*`.
    pub hifigan_decoder: Vec<TensorStream<'a>>,
    /// The DVAE, empty without one.
    pub dvae: Vec<TensorStream<'a>>,
    /// The latents of named voices.
    pub speakers: Vec<TensorStream<'a>>,
    /// The mean of each mel band.
    pub mel_stats: Option<Tensor>,
    /// The copy of the mel statistics inside a public model file.
    pub model_mel_stats: Option<Tensor>,
    /// The bytes of `vocab.json`.
    pub vocabulary: Option<Vec<u8>>,
    /// The configuration of the model.
    pub config: XttsConfig,
    /// What only this program knows of the model.
    pub model: Option<serde_json::Value>,
}

/// The files of our folder, in the order in which they must be written. They are
/// for callers that put them beside files of another kind; `config.json` says what
/// was written.
#[derive(Debug)]
pub struct OursFiles<'a> {
    /// The files of tensors, by name.
    pub tensors: Vec<(&'static str, SafetensorsStream<'a>)>,
    /// The vocabulary, under its name.
    pub vocabulary: Option<(&'static str, Vec<u8>)>,
    /// `config.json`, once the hashes of the others are known.
    pub description: OursDescription,
}

/// `config.json` without the hashes.
#[derive(Debug)]
pub struct OursDescription {
    sizes: Sizes,
    config: XttsConfig,
    model: Option<serde_json::Value>,
}

impl OursDescription {
    /// The name of the file.
    pub const NAME: &'static str = CONFIG;

    /// Returns the file, given the BLAKE3 hashes of those beside it by name. Names
    /// of files that our layout does not have are left out.
    ///
    /// # Errors
    /// Fails if the model's own part cannot be written as JSON.
    pub fn text(self, hashes: BTreeMap<String, String>) -> Result<Vec<u8>, WeightsError> {
        let description = Description {
            format: FORMAT.to_owned(),
            version: VERSION,
            sizes: self.sizes,
            files: hashes
                .into_iter()
                .filter(|(name, _)| FILES.contains(&name.as_str()))
                .collect(),
            xtts: self.config,
            model: self.model,
        };
        serde_json::to_vec_pretty(&description)
            .map_err(|why| WeightsError::write(Path::new(CONFIG), Fault::Json(why)))
    }
}

impl<'a> From<&'a ModelWeights> for Outgoing<'a> {
    fn from(checkpoint: &'a ModelWeights) -> Self {
        let streams = |map: &'a TensorMap| {
            let streams = map
                .iter()
                .map(|(name, tensor)| TensorStream::of(name, tensor));
            streams.collect::<Vec<_>>()
        };
        Self {
            gpt: streams(&checkpoint.gpt),
            hifigan_decoder: streams(&checkpoint.hifigan_decoder),
            dvae: checkpoint.dvae.as_ref().map(streams).unwrap_or_default(),
            speakers: checkpoint
                .speakers
                .as_ref()
                .map(streams)
                .unwrap_or_default(),
            mel_stats: checkpoint.mel_stats.clone(),
            model_mel_stats: checkpoint.model_mel_stats.clone(),
            vocabulary: checkpoint.vocabulary.clone(),
            config: checkpoint.config.clone(),
            model: checkpoint.model.clone(),
        }
    }
}

impl<'a> Outgoing<'a> {
    /// Returns the files; parts the model does not have are left out.
    ///
    /// # Errors
    /// Fails if the tensors are not those of an XTTS model.
    pub fn files(self) -> Result<OursFiles<'a>, WeightsError> {
        let shapes = self
            .gpt
            .iter()
            .map(|tensor| (tensor.name(), tensor.shape()));
        let sizes = Sizes::of_shapes(&shapes.collect())
            .map_err(|(tensor, fault)| WeightsError::write(Path::new(GPT), fault).about(tensor))?;
        let mel_stats = [
            (MEL_STATS, self.mel_stats),
            (MODEL_MEL_STATS, self.model_mel_stats),
        ];
        let mel_stats = mel_stats
            .into_iter()
            .filter_map(|(name, stats)| Some(TensorStream::of(name, &stats?)));
        let parts = [
            (GPT, self.gpt),
            (HIFIGAN_DECODER, self.hifigan_decoder),
            (DVAE, self.dvae),
            (SPEAKERS, self.speakers),
            (MEL_STATS_FILE, mel_stats.collect()),
        ];
        let tensors = parts
            .into_iter()
            .filter(|(_, tensors)| !tensors.is_empty())
            .map(|(name, tensors)| match SafetensorsStream::new(tensors) {
                Ok(stream) => Ok((name, stream)),
                Err(fault) => Err(WeightsError::write(Path::new(name), fault)),
            });
        Ok(OursFiles {
            tensors: tensors.collect::<Result<_, _>>()?,
            vocabulary: self.vocabulary.map(|bytes| (VOCABULARY, bytes)),
            description: OursDescription {
                sizes,
                config: self.config,
                model: self.model,
            },
        })
    }
}

/// Writes a model into a new folder of ours.
pub fn write_ours(folder: &Path, checkpoint: &ModelWeights) -> Result<(), WeightsError> {
    let files = Outgoing::from(checkpoint).files();
    let files = files.map_err(|error| error.below(folder))?;
    write_folder(folder, |folder| {
        let mut hashes = BTreeMap::new();
        for (name, stream) in files.tensors {
            let path = folder.join(name);
            write_stream(&path, stream).map_err(|fault| WeightsError::write(&path, fault))?;
            hashes.insert(name.to_owned(), hash(&path)?);
        }
        if let Some((name, bytes)) = &files.vocabulary {
            let path = folder.join(name);
            write_file(&path, bytes)?;
            hashes.insert((*name).to_owned(), hash(&path)?);
        }
        let description = files.description.text(hashes)?;
        write_file(&folder.join(CONFIG), &description)
    })
}

/// What the description of a folder says about its weights, which are not read.
#[derive(Clone, Debug)]
pub struct Described {
    /// The configuration of the public implementation.
    pub config: XttsConfig,
    /// What only this program knows of the model; `None` in imported files.
    pub model: Option<serde_json::Value>,
}

/// Reads the description alone, for what must be known before gigabytes are read
/// and hashed.
pub fn describe_ours(folder: &Path) -> Result<Described, WeightsError> {
    let path = folder.join(CONFIG);
    let description = describe(&path).map_err(|fault| WeightsError::read(&path, fault))?;
    Ok(Described {
        config: description.xtts,
        model: description.model,
    })
}

/// Reads the latents of named voices alone, so that a list of them needs no
/// gigabytes. The file must be the one that was written; a model may have none.
pub fn read_speakers(folder: &Path) -> Result<Option<TensorMap>, WeightsError> {
    let path = folder.join(CONFIG);
    let description = describe(&path).map_err(|fault| WeightsError::read(&path, fault))?;
    let Some(expected) = description.files.get(SPEAKERS) else {
        return Ok(None);
    };
    let path = folder.join(SPEAKERS);
    verify(&path, expected)?;
    read_safetensors(&path).map(Some)
}

/// Fails if a file is not the one that was written.
fn verify(path: &Path, expected: &str) -> Result<(), WeightsError> {
    let found = hash(path)?;
    match found == expected {
        true => Ok(()),
        false => {
            let expected = expected.to_owned();
            Err(WeightsError::read(path, Fault::Hash { expected, found }))
        }
    }
}

/// Reads a folder of ours; every file must be the one that was written.
pub fn read_ours(folder: &Path) -> Result<ModelWeights, WeightsError> {
    let path = folder.join(CONFIG);
    let description = describe(&path).map_err(|fault| WeightsError::read(&path, fault))?;
    for (name, expected) in &description.files {
        verify(&folder.join(name), expected)?;
    }
    let read = |name: &str| match description.files.contains_key(name) {
        true => read_safetensors(&folder.join(name)).map(Some),
        false => Ok(None),
    };
    let vocabulary = folder.join(VOCABULARY);
    let mut mel_stats = read(MEL_STATS_FILE)?.unwrap_or_default();
    let mut checkpoint = ModelWeights {
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

/// Fails if the sizes in a description are not those of the weights.
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
    match description
        .files
        .keys()
        .find(|name| !FILES.contains(&name.as_str()))
    {
        Some(name) => Err(Fault::NotOurs(format!(
            "it lists the unknown file `{name}`"
        ))),
        None => Ok(description),
    }
}

fn hash(path: &Path) -> Result<String, WeightsError> {
    let source = Source::open(path).map_err(|fault| WeightsError::read(path, fault))?;
    Ok(blake3::hash(source.bytes()).to_hex().to_string())
}
