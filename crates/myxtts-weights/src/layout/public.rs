//! The files XTTS is published and trained in.

use std::fs;
use std::path::{Path, PathBuf};

use super::folder::{write_file, write_folder};
use super::{CONFIG, MEL_STATS, VOCABULARY};
use crate::config::XttsConfig;
use crate::error::{Fault, WeightsError};
use crate::keys::{self, Ignored, Part};
use crate::map::TensorMap;
use crate::model_weights::ModelWeights;
use crate::tensor::{Dtype, Tensor};
use crate::torch::{Item, TorchFile, read_torch, write_torch};

const MODEL: &str = "model.pth";
const DVAE: &str = "dvae.pth";
const MEL_STATS_FILE: &str = "mel_stats.pth";
const SPEAKERS: &str = "speakers_xtts.pth";

/// Reads public files: a folder, or a file of weights with the others beside
/// it. Weights, `config.json` and vocabulary are checked against each other.
pub fn read_public(path: &Path) -> Result<ModelWeights, WeightsError> {
    let mut notices = Vec::new();
    let (model, folder) = if path.is_dir() {
        (find_model(path, &mut notices)?, path)
    } else {
        (path.to_owned(), path.parent().unwrap_or(Path::new("")))
    };
    let beside = |name: &str| Some(folder.join(name)).filter(|path| path.exists());
    let config = beside(CONFIG).ok_or_else(|| WeightsError::read(folder, Fault::NoConfig))?;
    let parts = Parts::read(&model)?;
    let mel_stats = match beside(MEL_STATS_FILE) {
        Some(path) => Some(one_tensor(&path)?),
        None => parts.mel_stats.clone(),
    };
    let mut ignored = parts.ignored;
    let dvae = match beside(DVAE) {
        Some(path) => Some(read_dvae(&path, &mut ignored)?),
        None => Some(parts.dvae.clone()).filter(|dvae| !dvae.is_empty()),
    };
    if !parts.dvae.is_empty() && dvae.as_ref() != Some(&parts.dvae) {
        notices
            .push("dvae.pth and the DVAE inside the model file differ: took dvae.pth".to_owned());
    }
    if parts.hifigan_decoder.is_empty() {
        notices.push("the model file has no hifigan_decoder: it cannot make sound".to_owned());
    }
    let vocabulary = match beside(VOCABULARY) {
        Some(path) => {
            let bytes = fs::read(&path);
            Some(bytes.map_err(|why| WeightsError::read(&path, Fault::Io(why)))?)
        }
        None => None,
    };
    let mut checkpoint = ModelWeights {
        gpt: parts.gpt,
        hifigan_decoder: parts.hifigan_decoder,
        dvae,
        mel_stats,
        model_mel_stats: parts.mel_stats,
        speakers: beside(SPEAKERS).map(|path| read_torch(&path)).transpose()?,
        vocabulary,
        config: XttsConfig::read(&config)?,
        model: None,
        ignored,
        notices,
    };
    checkpoint.check().map_err(|(tensor, fault)| {
        let path = match fault {
            Fault::Vocabulary(_) => folder.join(VOCABULARY),
            _ => model.clone(),
        };
        WeightsError::read(&path, fault).about(tensor)
    })?;
    Ok(checkpoint)
}

/// Writes public files into a new folder, so that the public implementation can
/// load them strictly.
pub fn write_public(folder: &Path, checkpoint: &ModelWeights) -> Result<(), WeightsError> {
    let needs = |what| WeightsError::write(folder, Fault::Incomplete(what));
    if checkpoint.hifigan_decoder.is_empty() {
        return Err(needs("hifigan_decoder"));
    }
    let vocabulary = checkpoint
        .vocabulary
        .as_ref()
        .ok_or_else(|| needs(VOCABULARY))?;
    let mel_stats = checkpoint
        .mel_stats
        .as_ref()
        .ok_or_else(|| needs(MEL_STATS))?;
    let state = checkpoint
        .gpt
        .iter()
        .chain(checkpoint.hifigan_decoder.iter())
        .chain([(
            MEL_STATS,
            checkpoint.model_mel_stats.as_ref().unwrap_or(mel_stats),
        )]);
    let state = state.map(|(name, tensor)| (name.to_owned(), Item::Tensor(tensor)));
    let model = vec![("model".to_owned(), Item::Dict(state.collect()))];
    let config = checkpoint.config.to_json();
    let config = config.map_err(|fault| WeightsError::write(&folder.join(CONFIG), fault))?;
    write_folder(folder, |folder| {
        write_torch(&folder.join(MODEL), &Item::Dict(model))?;
        write_torch(&folder.join(MEL_STATS_FILE), &Item::Tensor(mel_stats))?;
        if let Some(dvae) = &checkpoint.dvae {
            let path = folder.join(DVAE);
            let dvae =
                with_unused_buffers(dvae).map_err(|fault| WeightsError::write(&path, fault))?;
            write_torch(&path, &Item::from(&dvae))?;
        }
        if let Some(speakers) = &checkpoint.speakers {
            write_torch(&folder.join(SPEAKERS), &by_speaker(speakers))?;
        }
        write_file(&folder.join(VOCABULARY), vocabulary)?;
        write_file(&folder.join(CONFIG), config.as_bytes())
    })
}

/// Returns a DVAE with the buffers of the public class that it never reads: those
/// it counts codes in while it is trained. Imported files have them, a DVAE that
/// was trained here does not, and the public package loads strictly.
fn with_unused_buffers(dvae: &TensorMap) -> Result<TensorMap, Fault> {
    /// The number of batches the public class would remember.
    const REMEMBERED: usize = 100;
    let mut whole = dvae.clone();
    let codes = match dvae.get("codebook.embed").map(Tensor::shape) {
        Some([_, codes]) => *codes,
        _ => return Ok(whole),
    };
    let zeros = |dtype: Dtype, shape: Vec<usize>| {
        let bytes = shape.iter().product::<usize>() * dtype.size();
        Tensor::new(dtype, shape, vec![0; bytes])
    };
    for (name, dtype, shape) in [
        ("accumulator_index", Dtype::I64, vec![1]),
        ("accumulator_filled", Dtype::I64, vec![1]),
        ("accumulator", Dtype::F32, vec![REMEMBERED, codes]),
    ] {
        let name = format!("discrete_loss.{name}");
        if whole.get(&name).is_none() {
            whole.insert(name, zeros(dtype, shape)?);
        }
    }
    Ok(whole)
}

/// Turns `NAME.gpt_cond_latent` back into a dictionary per name; a name may have dots.
fn by_speaker(speakers: &TensorMap) -> Item<'_> {
    let mut names: Vec<(String, Item<'_>)> = Vec::new();
    for (path, tensor) in speakers.iter() {
        let (name, key) = path.rsplit_once('.').unwrap_or(("", path));
        let entry = (key.to_owned(), Item::Tensor(tensor));
        match names.last_mut() {
            Some((last, Item::Dict(entries))) if last == name => entries.push(entry),
            _ => names.push((name.to_owned(), Item::Dict(vec![entry]))),
        }
    }
    Item::Dict(names)
}

/// What a model file holds.
#[derive(Default)]
struct Parts {
    gpt: TensorMap,
    hifigan_decoder: TensorMap,
    dvae: TensorMap,
    mel_stats: Option<Tensor>,
    ignored: Vec<Ignored>,
}

impl Parts {
    fn read(path: &Path) -> Result<Self, WeightsError> {
        let file = TorchFile::open(path)?;
        let (taken, ignored) = keys::sort(file.names());
        let mut parts = Self {
            ignored,
            ..Self::default()
        };
        for taken in taken {
            let tensor = file.read(&taken.raw)?;
            let before = match taken.part {
                Part::Gpt => parts.gpt.insert(taken.name, tensor),
                Part::HifiganDecoder => parts.hifigan_decoder.insert(taken.name, tensor),
                Part::Dvae => parts.dvae.insert(taken.name, tensor),
                Part::MelStats => parts.mel_stats.replace(tensor),
            };
            if before.is_some() {
                return Err(WeightsError::read(path, Fault::DuplicateName).at(&taken.raw));
            }
        }
        Ok(parts)
    }
}

/// Reads a DVAE, whose own file has bare names; a model around it would say `dvae.`.
fn read_dvae(path: &Path, ignored: &mut Vec<Ignored>) -> Result<TensorMap, WeightsError> {
    let file = TorchFile::open(path)?;
    let prefixed = file.names().any(|name| name.starts_with("dvae."));
    let mut dvae = TensorMap::new();
    for name in file.names() {
        let inner = match name.strip_prefix("dvae.") {
            None if prefixed => {
                ignored.push(Ignored {
                    name: format!("{DVAE}: {name}"),
                    reason: "beside the DVAE, not part of it",
                });
                continue;
            }
            inner => inner.unwrap_or(name),
        };
        dvae.insert(inner, file.read(name)?);
    }
    if dvae.get("codebook.embed").is_none() {
        let missing = "codebook.embed".to_owned();
        let found = dvae.len();
        return Err(WeightsError::read(path, Fault::NotXtts { missing, found }));
    }
    Ok(dvae)
}

/// Reads the only tensor of a file, whatever its name.
fn one_tensor(path: &Path) -> Result<Tensor, WeightsError> {
    let map = read_torch(path)?;
    let found = map.len();
    match map.into_iter().next() {
        Some((_, tensor)) if found == 1 => Ok(tensor),
        _ => {
            let missing = MEL_STATS.to_owned();
            Err(WeightsError::read(path, Fault::NotXtts { missing, found }))
        }
    }
}

/// Finds the model file of a folder: the published name, else the trainer's best,
/// else its newest.
fn find_model(folder: &Path, notices: &mut Vec<String>) -> Result<PathBuf, WeightsError> {
    for name in [MODEL, "best_model.pth"] {
        let path = folder.join(name);
        if path.is_file() {
            return Ok(path);
        }
    }
    let wrong = |fault| WeightsError::read(folder, fault);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|why| wrong(Fault::Io(why)))? {
        let path = entry.map_err(|why| wrong(Fault::Io(why)))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let step = ["best_model_", "checkpoint_"].iter().find_map(|kind| {
            let step = name.strip_prefix(kind)?.strip_suffix(".pth")?;
            step.parse::<u64>().ok()
        });
        if let Some(step) = step {
            found.push((step, path));
        }
    }
    found.sort();
    let others = found.len().saturating_sub(1);
    let (step, path) = found.pop().ok_or_else(|| wrong(Fault::NoModel))?;
    if others > 0 {
        notices.push(format!(
            "the folder has {} checkpoints: took the newest, of step {step}",
            others + 1
        ));
    }
    Ok(path)
}
