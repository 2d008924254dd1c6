//! `myxtts train`

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use clap::ArgMatches;
use myxtts::checkpoint::CheckpointError;
use myxtts::machine::this_machine;
use myxtts::{Error, Finished, Outline, TrainError, plan, prepare, shell, train};
use serde_json::json;

use super::failure::train_failure;
use super::{damaged, stop_request};
use crate::config;
use crate::output::{Failure, Output};
use crate::terminal::Terminal;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let machine = this_machine()?;
    let mut given = super::given(matches)?;
    if matches.get_flag("quick") {
        given = given.quick();
    }
    let settings = config::load(&given, &machine)?;
    let plan = plan(&settings, &machine)?;
    output.log(&plan);
    output.log(Outline::of(&settings)?);
    let stop = stop_request()?;
    let dataset = prepare(&settings, &stop, output)?;
    let terminal = Arc::new(Terminal::new(settings.config.training.run.log_every));
    let finished = train(&settings, &machine, &plan, dataset, &stop, terminal);
    let finished = finished.map_err(|error| match error {
        Error::Training(error) => failure(*error, &settings.config.training.run.folder()),
        other => other.into(),
    })?;
    report(&finished, output)
}

/// What a training that failed is to a person: where its checkpoint is damaged, which others are
/// not.
fn failure(error: TrainError, run: &Path) -> Failure {
    match error {
        TrainError::Checkpoint(CheckpointError::Damaged { what, whole, .. }) => {
            damaged::resuming(&what, &whole, run)
        }
        other => train_failure(other),
    }
}

fn report(finished: &Finished, output: &Output) -> Result<(), Failure> {
    let next = finished.speaks.then(|| speaking(finished));
    let document = json!({
        "run": finished.run,
        "steps": finished.steps,
        "samples": finished.samples,
        "data_wait_pct": finished.data_wait_pct.iter()
            .map(|(stage, percent)| (stage.name().to_owned(), *percent))
            .collect::<BTreeMap<_, _>>(),
        "shapes_after_warmup": finished.shapes_after_warmup,
        "kernels_after_warmup": finished.kernels_after_warmup,
        "stopped": finished.stopped.map(|signal| signal.exit_code()),
        "verdict": finished.verdict,
        "next": next,
    });
    if let Some(signal) = finished.stopped {
        // Where the terminal is gone there is nobody to tell, and the code says it.
        let _ = output.result(&document, "");
        let code = u8::try_from(signal.exit_code()).unwrap_or(1);
        return Err(Failure::Stopped(finished.words().into(), code));
    }
    let mut words = format!("{}\n", finished.words());
    if let Some(samples) = &finished.samples {
        words.push_str(&format!("samples:            {}\n", samples.display()));
    }
    for finding in &finished.verdict {
        words.push_str(&format!("{finding}\n"));
    }
    if let Some(command) = &next {
        words.push_str(&format!("your own sentence:  {command}\n"));
    }
    output.result(&document, words)
}

/// The command that speaks with what was trained, in its language.
fn speaking(finished: &Finished) -> String {
    let language = finished.language.as_ref().map(ToString::to_string);
    let text = finished.sentence.as_deref().unwrap_or("Hello.");
    let mut words: Vec<&OsStr> = ["synthesize", "--checkpoint"].map(OsStr::new).to_vec();
    words.push(finished.run.as_os_str());
    if let Some(language) = &language {
        words.extend(["--language", language].map(OsStr::new));
    }
    words.extend(["--text", text, "--out", "hello.wav"].map(OsStr::new));
    shell::command(words)
}
