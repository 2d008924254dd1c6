//! `myxtts prepare`

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts::machine::this_machine;
use myxtts::{Given, GivenFlag, Preparation, Report, cpu};
use serde_json::json;

use super::stop_request;
use crate::cli::flags::{DATASET, is_switch};
use crate::config;
use crate::output::{Failure, Output};
use crate::progress::ProgressBar;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    // Without --encode no device is asked: nothing else here depends on one.
    let encodes = matches.get_flag("encode");
    let machine = match encodes {
        // Codes are made in the batches of a training, which the plan decides.
        true => this_machine()?,
        false => cpu(),
    };
    let mut asked = super::given(matches)?;
    if let Some(weights) = matches.get_one::<String>("checkpoint") {
        // As a training from these weights hears, so that it finds its codes.
        asked.flags.push(GivenFlag {
            flag: "--checkpoint".to_owned(),
            key: "training.init".to_owned(),
            value: weights.clone(),
        });
    }
    let settings = config::load(&asked, &machine)?;
    let given = |name| matches.get_one::<String>(name).map(PathBuf::from);
    let (dataset, vocabulary) = (given(DATASET), given("vocab"));
    let preparation = Preparation {
        convert: matches.get_flag("convert"),
        next: next(
            &super::given(matches)?,
            dataset.as_deref(),
            vocabulary.as_deref(),
        ),
        dataset,
        vocabulary,
    };
    let stop = stop_request()?;
    let prepared = preparation.run(&settings, &stop, output)?;
    let problem = prepared.problem();
    let mut document = json!(prepared.report);
    document["error"] = json!(problem.as_ref().map(Report::to_string));
    let mut words = prepared.report.to_string();
    if let (true, None, Some(weights)) = (encodes, &problem, given("checkpoint")) {
        let mut bar = ProgressBar::new();
        let mut progress = |done, total| bar.show(done, total, " clips encoded");
        let encoded = prepared.encode(&settings, &machine, &weights, &stop, output, &mut progress);
        bar.clear();
        let encoded = encoded?;
        for notice in &encoded.notices {
            output.log(notice);
        }
        words.push_str(&format!(
            "codes: {} clips encoded, {} already cached\n",
            encoded.encoded, encoded.cached
        ));
        document["codes"] = json!(encoded);
    }
    output.result(&document, &words)?;
    problem.map_or(Ok(()), |problem| Err(Failure::Result(problem)))
}

/// The arguments of a training with what was given to this command.
fn next(given: &Given, dataset: Option<&Path>, vocabulary: Option<&Path>) -> Vec<String> {
    let mut next = vec!["train".to_owned()];
    let mut add = |flag: &str, value: String| {
        next.push(flag.to_owned());
        if !is_switch(flag) {
            next.push(value);
        }
    };
    if let Some(file) = &given.file {
        add("--config", file.display().to_string());
    }
    if let Some(dataset) = dataset {
        add("--train-data", dataset.display().to_string());
    }
    for GivenFlag { flag, key, value } in &given.flags {
        match flag.as_str() {
            "--set" => add(flag, format!("{key}={value}")),
            _ => add(flag, value.clone()),
        }
    }
    if let Some(file) = vocabulary {
        add("--set", format!("training.vocab={}", file.display()));
    }
    next
}
