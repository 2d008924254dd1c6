//! `myxtts import`

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::Path;

use clap::ArgMatches;
use myxtts_weights::{ModelWeights, Sizes, TensorMap, read_public, write_ours};
use serde_json::{Value, json};

use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let (from, out) = super::from_and_out(matches)?;
    let checkpoint = read_public(from).map_err(Failure::job)?;
    write_ours(out, &checkpoint).map_err(Failure::job)?;
    let report = Report::of(&checkpoint, out);
    output.result(&report.document(), &report)
}

/// What was written to a folder of weights; `export` reports the same.
pub(super) struct Report<'a> {
    checkpoint: &'a ModelWeights,
    out: &'a Path,
    /// The number of tensors left out, by reason.
    ignored: BTreeMap<&'static str, usize>,
}

impl<'a> Report<'a> {
    pub(super) fn of(checkpoint: &'a ModelWeights, out: &'a Path) -> Self {
        let mut ignored = BTreeMap::new();
        for tensor in &checkpoint.ignored {
            *ignored.entry(tensor.reason).or_default() += 1;
        }
        Self {
            checkpoint,
            out,
            ignored,
        }
    }

    fn parts(&self) -> impl Iterator<Item = (&'static str, &'a TensorMap)> {
        let checkpoint = self.checkpoint;
        [
            ("gpt", Some(&checkpoint.gpt)),
            ("hifigan_decoder", Some(&checkpoint.hifigan_decoder)),
            ("dvae", checkpoint.dvae.as_ref()),
            ("speakers", checkpoint.speakers.as_ref()),
        ]
        .into_iter()
        .filter_map(|(name, map)| Some((name, map?)))
    }

    pub(super) fn document(&self) -> Value {
        let parts = self.parts().map(|(name, map)| {
            let numbers = json!({ "tensors": map.len(), "numbers": map.elements() });
            (name.to_owned(), numbers)
        });
        json!({
            "out": self.out,
            "sizes": Sizes::of(&self.checkpoint.gpt).ok(),
            "parts": parts.collect::<serde_json::Map<_, _>>(),
            "vocabulary": self.checkpoint.vocabulary.is_some(),
            "mel_stats": self.checkpoint.mel_stats.is_some(),
            "ignored": self.checkpoint.ignored,
            "notices": self.checkpoint.notices,
        })
    }
}

impl Display for Report<'_> {
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
        for notice in &self.checkpoint.notices {
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
