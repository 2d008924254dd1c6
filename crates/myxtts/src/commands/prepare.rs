//! `myxtts prepare`

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts::internal::train_request;
use myxtts::{Machine, StopRequest, cpu, plan};
use myxtts_base::{Report, report};
use myxtts_config::Settings;
use myxtts_data::prepare::prepare;
use myxtts_text::Vocabulary;
use myxtts_train::placement::Placement;
use myxtts_train::session::{Encoded, encode};
use serde_json::json;

use super::dataset::{Part, dataset, output_folder, prepared_in, request, with_progress};
use super::failure::train_failure;
use super::{stop_request, stopped};
use crate::cli::flags::DATASET;
use crate::config::{self, Config, Given, GivenFlag};
use crate::output::{Failure, Output};
use crate::progress::ProgressBar;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    // Without --encode no device is asked: nothing else here depends on one.
    let encodes = matches.get_flag("encode");
    let machine = match encodes {
        // Codes are made in the batches of a training, which the plan decides.
        true => super::machine()?,
        false => cpu(),
    };
    let keys = config::keys();
    let mut asked = super::given(matches)?;
    if let Some(weights) = matches.get_one::<String>("checkpoint") {
        // As a training from these weights hears, so that it finds its codes.
        asked.flags.push(GivenFlag {
            flag: "--checkpoint".to_owned(),
            key: "training.init".to_owned(),
            value: weights.clone(),
        });
    }
    let settings = config::load(&keys, &asked, || machine.clone()).map_err(Failure::usage)?;
    let given = |name| matches.get_one::<String>(name).map(PathBuf::from);
    let vocabulary = match given("vocab") {
        Some(path) => Some(Vocabulary::read(&path).map_err(Failure::usage)?),
        None => None,
    };
    let named = given(DATASET);
    let next = next(
        &super::given(matches)?,
        named.as_deref(),
        given("vocab").as_deref(),
    );
    let configured = &settings.config.data.dataset;
    let dataset = match named {
        Some(dataset) => dataset,
        None => dataset(configured.train_data.as_deref())?,
    };
    let prepared = configured.prepared.as_deref();
    let out = output_folder(prepared, &dataset, Part::Training, output)?;
    let mut request = request(&settings, dataset, out, vocabulary.as_ref())?;
    request.settings.convert = matches.get_flag("convert");
    request.next = next;
    let stop = stop_request()?;
    let report = with_progress(output, &stop, |watch| prepare(&request, watch))?;
    let problem = problem(&report, &request.out);
    let mut document = json!(report);
    document["error"] = json!(problem.as_ref().map(Report::to_string));
    let mut words = report.to_string();
    if let (true, None, Some(weights)) = (encodes, &problem, given("checkpoint")) {
        let place = request.out.clone();
        let encoded = codes(&settings, &machine, place, &weights, &stop, output)?;
        words.push_str(&format!(
            "codes: {} clips encoded, {} already cached\n",
            encoded.encoded, encoded.cached
        ));
        document["codes"] = json!(encoded);
    }
    output.result(&document, &words)?;
    problem.map_or(Ok(()), |problem| Err(Failure::Result(problem)))
}

/// Returns why the dataset cannot be trained on, if it cannot.
fn problem(report: &myxtts_data::prepare::Report, out: &Path) -> Option<Report> {
    match report.check() {
        Err(too_many) => Some(Report::new(too_many.to_string())),
        Ok(()) if report.kept == 0 => Some(report!(
            "no clip of {} is left to train on", report.dataset;
            why: "{} were read, {} quarantined", report.total, report.quarantined;
            fix: "see {}", out.join(myxtts_data::prepare::REPORT_TEXT).display()
        )),
        Ok(()) => None,
    }
}

/// Encodes every clip with the DVAE of `weights`, as a training would.
fn codes(
    settings: &Settings<Config>,
    machine: &Machine,
    prepared: PathBuf,
    weights: &Path,
    stop: &StopRequest,
    output: &Output,
) -> Result<Encoded, Failure> {
    let plan = plan(settings, machine)?;
    let dataset = prepared_in(settings, prepared, stop, output)?;
    let training = train_request(settings, &plan, dataset, String::new())?;
    let placement = Placement::of(&plan).map_err(Failure::job)?;
    let Some(device) = placement.data.first() else {
        return Err(Failure::Job("the plan has no data device".into()));
    };
    let replicas = placement.replicas();
    let mut bar = ProgressBar::new();
    let encoded = encode(
        &training,
        weights,
        device,
        replicas,
        stop,
        &mut |done, total| {
            bar.show(done, total, " clips encoded");
        },
    );
    bar.clear();
    if let Some(signal) = stop.asked() {
        return Err(stopped(
            signal,
            "the encoding was stopped; the codes made so far are kept",
        ));
    }
    let encoded = encoded.map_err(train_failure)?;
    for notice in &encoded.notices {
        output.log(notice);
    }
    Ok(encoded)
}

/// The arguments of a training with what was given to this command.
fn next(given: &Given, dataset: Option<&Path>, vocabulary: Option<&Path>) -> Vec<String> {
    let mut next = vec!["train".to_owned()];
    let mut add = |flag: &str, value: String| next.extend([flag.to_owned(), value]);
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
