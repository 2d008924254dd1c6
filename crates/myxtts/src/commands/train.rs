//! `myxtts train`

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;

use clap::ArgMatches;
use myxtts_config::shell;
use myxtts_device::plan;
use myxtts_run::checkpoint::CheckpointError;
use myxtts_train::TrainError;
use myxtts_train::config::quick_layer;
use myxtts_train::placement::Placement;
use myxtts_train::session::{Finished, run as train};
use serde_json::json;

use super::config::effective_yaml;
use super::request::{train_failure, train_request};
use super::{damaged, dataset, memory, stop_request};
use crate::config;
use crate::outline::Outline;
use crate::output::{Failure, Output};
use crate::terminal::Terminal;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let machine = super::machine()?;
    let mut given = super::given(matches)?;
    if matches.get_flag("quick") {
        given.shorthands = quick_layer();
    }
    let keys = config::keys();
    let settings = config::load(&keys, &given, || machine.clone()).map_err(Failure::usage)?;
    let request = memory::training_request(&settings, None)?;
    let plan = plan(&request, &machine).map_err(Failure::usage)?;
    output.log(&plan);
    output.log(Outline::of(&settings)?);
    let stop = stop_request()?;
    let dataset = dataset::prepared(&settings, &stop, output)?;
    let text = effective_yaml(&keys, &settings);
    let training = train_request(&settings, &plan, dataset, text)?;
    let placement = Placement::of(&plan).map_err(|why| Failure::Job(why.to_string()))?;
    let placement = placement.reading(&plan, &machine);
    let terminal = Arc::new(Terminal::new(settings.config.training.run.log_every));
    let finished = train(&training, &placement, stop, terminal).map_err(|error| match error {
        TrainError::Checkpoint(CheckpointError::Damaged { what, whole, .. }) => {
            damaged::resuming(&what, &whole, &training.folder())
        }
        other => train_failure(other),
    })?;
    report(&finished, output)
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
        return Err(Failure::Stopped(finished.words(), code));
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
