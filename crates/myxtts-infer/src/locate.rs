//! Finds the folder of a model.
//!
//! ```text
//! runs/NAME/checkpoints/step_000001000/   config.json, *.safetensors, vocab.json, voices/NAME.wav
//! runs/NAME/checkpoints/best.json         {"step": 1000, ...}
//! ```

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use myxtts_config::shell;
use serde::Deserialize;
use serde_json::Value;

use crate::error::InferError;

/// The file that describes our weights; a folder without it has none.
const CONFIG: &str = "config.json";
const CHECKPOINTS: &str = "checkpoints";
/// The file that every checkpoint of a training has, in any stage.
const MANIFEST: &str = "manifest.json";
/// The name of a run that was not given one.
const DEFAULT_RUN: &str = "default";

/// Which checkpoint of a run to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The one with the highest step.
    #[default]
    Newest,
    /// The one that `best.json` names.
    Best,
}

/// Returns the folder of weights that `folder` means: itself, or a checkpoint of the run in it.
pub fn resolve(folder: &Path, pick: Pick) -> Result<PathBuf, InferError> {
    if folder.join(CONFIG).is_file() {
        return Ok(folder.to_owned());
    }
    let none = |why: String| InferError::NoCheckpoint {
        folder: folder.to_owned(),
        why,
    };
    if !folder.is_dir() {
        return Err(none("there is no such folder".to_owned()));
    }
    let below = folder.join(CHECKPOINTS);
    let checkpoints = if below.is_dir() { &below } else { folder };
    let found = steps(checkpoints, CONFIG);
    let Some((_, newest)) = found.last() else {
        return Err(match steps(checkpoints, MANIFEST).pop() {
            Some((step, checkpoint)) => InferError::NoGpt {
                folder: folder.to_owned(),
                step,
                fix: to_train_the_gpt(folder, &checkpoint),
            },
            None => none(format!(
                "neither {CONFIG} nor {CHECKPOINTS}/step_N is in it"
            )),
        });
    };
    if pick == Pick::Newest {
        return Ok(newest.clone());
    }
    let no_best = |why: String| InferError::NoBest {
        folder: folder.to_owned(),
        why,
    };
    let best = best(checkpoints).ok_or_else(|| no_best("none is marked as its best".to_owned()))?;
    match found.iter().find(|(step, _)| *step == best) {
        Some((_, path)) => Ok(path.clone()),
        None => Err(no_best(format!("the checkpoint of step {best} is gone"))),
    }
}

/// Returns the run to speak with when none is named: `default`, or else the one with the most
/// recent checkpoint.
pub fn newest_run(runs: &Path) -> Option<PathBuf> {
    let default = runs.join(DEFAULT_RUN);
    if resolve(&default, Pick::Newest).is_ok() {
        return Some(default);
    }
    let written = |run: &Path| -> Option<SystemTime> {
        let checkpoint = resolve(run, Pick::Newest).ok()?;
        fs::metadata(checkpoint.join(CONFIG)).ok()?.modified().ok()
    };
    entries(runs)
        .into_iter()
        .filter_map(|run| Some((written(&run)?, run)))
        .max()
        .map(|(_, run)| run)
}

/// Returns the recordings of the voices stored with a checkpoint, by name.
pub fn voices(checkpoint: &Path) -> Vec<(String, PathBuf)> {
    let mut voices: Vec<(String, PathBuf)> = entries(&checkpoint.join("voices"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "wav"))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect();
    voices.sort();
    voices
}

/// Returns the manifest of a run's newest checkpoint, in any stage.
pub(crate) fn newest_manifest(run: &Path) -> Option<PathBuf> {
    let (_, checkpoint) = steps(&run.join(CHECKPOINTS), MANIFEST).pop()?;
    Some(checkpoint.join(MANIFEST))
}

/// Returns how a run that has a DVAE gets its GPT: by the command that started it, if that
/// trains one, or else by another run that starts from its DVAE.
fn to_train_the_gpt(run: &Path, checkpoint: &Path) -> String {
    let text = fs::read(checkpoint.join(MANIFEST)).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&text).unwrap_or_default();
    let told = &manifest["sections"]["config"];
    let stage = &told["training"]["stage"];
    let is_alone = *stage == "dvae" || stage.as_array().is_some_and(|list| list == &["dvae"]);
    if !is_alone {
        return "the command that began this run trains its GPT next; type it again".to_owned();
    }
    let name = told["training"]["name"].as_str().unwrap_or("voice");
    let mut words: Vec<OsString> = ["train", "--stage", "gpt", "--init"]
        .map(OsString::from)
        .to_vec();
    words.push(run.into());
    if let Some(data) = told["data"]["train_data"].as_str() {
        words.extend(["--train-data".into(), data.into()]);
    }
    if let Some(language) = told["data"]["language"].as_str() {
        words.extend(["--set".into(), format!("data.language={language}").into()]);
    }
    words.extend(["--set".into(), format!("training.name={name}-gpt").into()]);
    let command = shell::command(words.iter().map(OsString::as_os_str));
    format!("train it on these codes: {command}")
}

/// Returns the checkpoints that hold a file of this name, lowest step first.
fn steps(checkpoints: &Path, file: &str) -> Vec<(u64, PathBuf)> {
    let mut found: Vec<(u64, PathBuf)> = entries(checkpoints)
        .into_iter()
        .filter(|path| path.join(file).is_file())
        .filter_map(|path| {
            let step = path.file_name()?.to_str()?.strip_prefix("step_")?.parse();
            Some((step.ok()?, path))
        })
        .collect();
    found.sort();
    found
}

fn best(checkpoints: &Path) -> Option<u64> {
    #[derive(Deserialize)]
    struct Best {
        step: u64,
    }
    let text = fs::read_to_string(checkpoints.join("best.json")).ok()?;
    let best: Best = serde_json::from_str(&text).ok()?;
    Some(best.step)
}

/// Returns the entries of a folder; none if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries.flatten().map(|entry| entry.path()).collect()
}
