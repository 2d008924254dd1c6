//! Carries weights between our folders and the files of the public implementation.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use myxtts_infer::ModelCard;
use myxtts_weights::{
    ModelWeights, Sizes, TensorMap, read_ours, read_public, write_ours, write_public,
};
use serde_json::{Value, json};

use crate::error::Error;

/// Reads public files from the folder `from`, and writes them to `out` as a model that speaks.
///
/// # Errors
/// When a file is missing or damaged, or `out` cannot be written.
pub fn import(from: &Path, out: &Path) -> Result<Transfer, Error> {
    let weights = read_public(from).map_err(Error::failed)?;
    write_ours(out, &weights).map_err(Error::failed)?;
    Ok(Transfer::of(weights, out))
}

/// Reads the weights in the folder `from`, as [`resolve`](crate::resolve) returns it, and writes
/// them to `out` as public files.
///
/// # Errors
/// When the weights or their card cannot be read, or `out` cannot be written.
pub fn export(from: &Path, out: &Path) -> Result<Transfer, Error> {
    let weights = read_ours(from).map_err(Error::failed)?;
    if weights.model.is_some() {
        // A card that is wrong would be published as a configuration.
        ModelCard::of(&weights).map_err(Error::failed)?;
    }
    write_public(out, &weights).map_err(Error::failed)?;
    Ok(Transfer::of(weights, out))
}

/// What was written to a folder of weights.
pub struct Transfer {
    weights: ModelWeights,
    out: PathBuf,
    /// The number of tensors left out, by reason.
    ignored: BTreeMap<&'static str, usize>,
}

impl Transfer {
    fn of(weights: ModelWeights, out: &Path) -> Self {
        let mut ignored = BTreeMap::new();
        for tensor in &weights.ignored {
            *ignored.entry(tensor.reason).or_default() += 1;
        }
        Self {
            out: out.to_owned(),
            weights,
            ignored,
        }
    }

    fn parts(&self) -> impl Iterator<Item = (&'static str, &TensorMap)> {
        let weights = &self.weights;
        [
            ("gpt", Some(&weights.gpt)),
            ("hifigan_decoder", Some(&weights.hifigan_decoder)),
            ("dvae", weights.dvae.as_ref()),
            ("speakers", weights.speakers.as_ref()),
        ]
        .into_iter()
        .filter_map(|(name, map)| Some((name, map?)))
    }

    /// Returns it for programs.
    pub fn document(&self) -> Value {
        let parts = self.parts().map(|(name, map)| {
            let numbers = json!({ "tensors": map.len(), "numbers": map.elements() });
            (name.to_owned(), numbers)
        });
        json!({
            "out": self.out,
            "sizes": Sizes::of(&self.weights.gpt).ok(),
            "parts": parts.collect::<serde_json::Map<_, _>>(),
            "vocabulary": self.weights.vocabulary.is_some(),
            "mel_stats": self.weights.mel_stats.is_some(),
            "ignored": self.weights.ignored,
            "notices": self.weights.notices,
        })
    }
}

impl Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.out.display())?;
        for (name, map) in self.parts() {
            writeln!(
                f,
                "  {name}: {}, {} numbers",
                counted(map.len()),
                map.elements()
            )?;
        }
        for (reason, count) in &self.ignored {
            writeln!(
                f,
                "  left out: {} ({reason}); --json lists them",
                counted(*count)
            )?;
        }
        for notice in &self.weights.notices {
            writeln!(f, "  notice: {notice}")?;
        }
        Ok(())
    }
}

fn counted(tensors: usize) -> String {
    match tensors {
        1 => "1 tensor".to_owned(),
        tensors => format!("{tensors} tensors"),
    }
}
