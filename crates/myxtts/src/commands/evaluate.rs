//! `myxtts evaluate`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ArgMatches;
use myxtts::evaluate::{Evaluation, Recogniser, Request, Sentences};

use super::model::{checkpoint, open_model};
use super::synthesize::{chosen, voice_source};
use crate::config;
use crate::output::{Failure, Output};
use crate::progress::ProgressBar;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let checkpoint = checkpoint(matches)?;
    let flags = ["speaker-wav", "voice", "speaker"];
    let is_voice_given = flags.iter().any(|flag| matches.contains_id(flag));
    let evaluation = Evaluation::of(Request {
        sentences: sentences(matches, &checkpoint, output)?,
        voice: match is_voice_given {
            true => Some(voice_source(matches, &checkpoint)?),
            false => None,
        },
        copies: matches.get_flag("copy"),
        recogniser: recogniser(matches),
        page: matches.get_one("page").cloned(),
        chosen: chosen(matches),
        checkpoint: checkpoint.clone(),
    })?;
    let model = open_model(matches, &checkpoint)?;
    let mut bar = ProgressBar::new();
    let mut progress = |done, total| bar.show(done, total, " sentences");
    let report = evaluation.run(model, &mut progress);
    bar.clear();
    let report = report?;
    output.result(&report, &report)?;
    let problem = report.problem();
    problem.map_or(Ok(()), |problem| Err(Failure::Result(problem.into())))
}

/// Returns the sentences of the flags, or else the validation clips of the checkpoint's run.
fn sentences(
    matches: &ArgMatches,
    checkpoint: &Path,
    output: &Output,
) -> Result<Sentences, Failure> {
    let path = |name| matches.get_one::<PathBuf>(name);
    let sentences = match (path("sentences"), path("dataset")) {
        (Some(file), _) => Sentences::of_file(file)?,
        (None, Some(folder)) => Sentences::of_dataset(folder)?,
        (None, None) => Sentences::of_run(&config::keys(), checkpoint, output)?,
    };
    Ok(match matches.get_one::<u32>("limit") {
        Some(limit) => sentences.limited(*limit as usize),
        None => sentences,
    })
}

fn recogniser(matches: &ArgMatches) -> Option<Recogniser> {
    let recogniser = matches.get_one::<Recogniser>("recogniser")?.clone();
    Some(match matches.get_one::<u64>("recogniser-timeout") {
        Some(seconds) => recogniser.with_timeout(Duration::from_secs(*seconds)),
        None => recogniser,
    })
}
