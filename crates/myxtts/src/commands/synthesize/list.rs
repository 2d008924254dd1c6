//! `--list-voices`

use std::fmt;
use std::path::PathBuf;

use clap::ArgMatches;
use myxtts::speech::{StoredVoice, named_voices};
use serde::Serialize;

use super::failure;
use crate::commands::model;
use crate::output::{Failure, Output};

/// The voices stored with a model.
#[derive(Serialize)]
struct List {
    checkpoint: PathBuf,
    voices: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    kind: &'static str,
    /// The recording, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
}

/// Lists the voices. It reads names and nothing else: no weights, no device.
pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let checkpoint = model::checkpoint(matches)?;
    let stored = named_voices(&checkpoint).map_err(failure)?;
    let voices = stored.into_iter().map(|voice| Row {
        kind: voice.stored.kind(),
        path: match voice.stored {
            StoredVoice::Recording(path) => Some(path),
            StoredVoice::Latents { .. } => None,
        },
        name: voice.name,
    });
    let list = List {
        voices: voices.collect(),
        checkpoint,
    };
    output.result(&list, &list)
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.voices.is_empty() {
            return writeln!(
                f,
                "no voice is stored in {}: give recordings with --speaker-wav",
                self.checkpoint.display()
            );
        }
        let widest = self.voices.iter().map(|row| row.name.chars().count()).max();
        let width = widest.unwrap_or(0).max("voice".len());
        writeln!(f, "{:width$}  kind       from", "voice")?;
        for row in &self.voices {
            let from = match &row.path {
                Some(path) => path.display().to_string(),
                None => "the model's own speakers".to_owned(),
            };
            writeln!(f, "{:width$}  {:9}  {from}", row.name, row.kind)?;
        }
        Ok(())
    }
}
