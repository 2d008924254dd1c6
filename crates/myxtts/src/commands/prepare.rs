//! `myxtts prepare`

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts_audio::units::Frames;
use myxtts_config::Settings as Resolved;
use myxtts_config::units::Megabytes;
use myxtts_data::corpus;
use myxtts_data::prepare::{PrepareError, Report, Request, Settings, prepare};
use myxtts_data::units::Tokens;
use myxtts_device::discover::host;
use myxtts_device::{Machine, plan};
use myxtts_text::Vocabulary;
use myxtts_train::placement::Placement;
use myxtts_train::run::{Encoded, encode};
use serde_json::json;

use crate::cli::flags::DATASET;
use crate::config::{self, Config};
use crate::output::{Failure, Output};
use crate::progress::ProgressBar;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    // Without --encode no device is asked: nothing else here depends on one.
    let encodes = matches.get_flag("encode");
    let machine = match encodes {
        // Codes are made in the batches of a training, which the plan decides.
        true => super::machine()?,
        false => Machine::assume(host(), 0, Megabytes(0)),
    };
    let keys = config::keys();
    let settings =
        config::load(&keys, &super::given(matches)?, || machine.clone()).map_err(Failure::usage)?;
    let given = |name| matches.get_one::<String>(name).map(PathBuf::from);
    let vocabulary = match given("vocab") {
        Some(path) => Some(Vocabulary::read(&path).map_err(Failure::usage)?),
        None => None,
    };
    let dataset = dataset(given(DATASET), &settings.config)?;
    let out = given("out").unwrap_or_else(|| default_output(&dataset));
    let request = request(
        &settings,
        dataset,
        out,
        vocabulary.as_ref(),
        matches.get_flag("convert"),
    );
    let report = prepared(&request)?;
    let problem = match report.check() {
        Err(too_many) => Some(too_many.to_string()),
        Ok(()) if report.kept == 0 => Some(format!(
            "no clip of {} is left to train on\n  why:   {} were read, {} quarantined\n  fix:   see {}",
            report.dataset,
            report.total,
            report.quarantined,
            request
                .out
                .join(myxtts_data::prepare::REPORT_TEXT)
                .display()
        )),
        Ok(()) => None,
    };
    let mut document = json!(report);
    document["error"] = json!(problem);
    let mut words = report.to_string();
    if let (true, None, Some(weights)) = (encodes, &problem, given("checkpoint")) {
        let encoded = codes(&settings, &machine, request.out.clone(), &weights, output)?;
        words.push_str(&format!(
            "codes: {} clips encoded, {} had theirs\n",
            encoded.encoded, encoded.cached
        ));
        document["codes"] = json!(encoded);
    }
    output.result(&document, &words)?;
    problem.map_or(Ok(()), |problem| Err(Failure::Result(problem)))
}

/// Encodes every clip with the DVAE of `weights`, as a training would.
fn codes(
    settings: &Resolved<Config>,
    machine: &Machine,
    prepared: PathBuf,
    weights: &Path,
    output: &Output,
) -> Result<Encoded, Failure> {
    let plan = plan(&config::plan_request(settings), machine).map_err(Failure::usage)?;
    let job = super::train::job(settings, &plan, output, String::new(), Some(prepared))?;
    let placement = Placement::of(&plan).map_err(|why| Failure::Job(why.to_string()))?;
    let Some(device) = placement.data.first() else {
        return Err(Failure::Job("the plan has no data device".to_owned()));
    };
    let replicas = placement.replicas();
    let mut bar = ProgressBar::new();
    let encoded = encode(&job, weights, device, replicas, &mut |done, total| {
        bar.show(done, total, " clips encoded");
    });
    bar.clear();
    let encoded = encoded.map_err(super::train::train_failure)?;
    for notice in &encoded.notices {
        output.log(notice);
    }
    Ok(encoded)
}

/// What a configuration asks of a preparation.
pub(super) fn request<'v>(
    settings: &Resolved<Config>,
    dataset: PathBuf,
    out: PathBuf,
    vocabulary: Option<&'v Vocabulary>,
    convert: bool,
) -> Request<'v> {
    let chosen_workers = settings.is_chosen("data.num_workers");
    let Config { data, training, .. } = &settings.config;
    Request {
        dataset,
        out,
        vocabulary,
        workers: workers(data.pipeline.num_workers.filter(|_| chosen_workers)),
        settings: Settings {
            audio: data.audio.clone(),
            language: data.dataset.language.clone(),
            max_text: Tokens(data.shapes.max_text_length),
            max_frames: Frames(data.shapes.max_mel_frames as usize),
            buckets: data.shapes.buckets,
            max_bad_fraction: data.dataset.max_bad_fraction,
            // Validation recordings of their own leave nothing to hold out.
            held_out_fraction: match data.dataset.val_data {
                Some(_) => 0.0,
                None => Settings::default().held_out_fraction,
            },
            seed: training.run.seed,
            convert,
            ..Settings::default()
        },
    }
}

/// Prepares, with progress.
pub(super) fn prepared(request: &Request<'_>) -> Result<Report, Failure> {
    let mut bar = ProgressBar::new();
    let report = prepare(request, &mut |progress| {
        let words = format!(", {} quarantined", progress.quarantined);
        bar.show(progress.done, progress.about, &words);
    });
    bar.clear();
    report.map_err(failure)
}

/// What was named, else the configured one, else the sample corpus.
pub(super) fn dataset(named: Option<PathBuf>, config: &Config) -> Result<PathBuf, Failure> {
    let configured = config.data.dataset.train_data.as_ref().map(PathBuf::from);
    if let Some(dataset) = named.or(configured) {
        return Ok(dataset);
    }
    let folder = corpus::default_folder().map_err(|why| Failure::Job(why.to_string()))?;
    corpus::unpack(&folder).map_err(|why| Failure::Job(why.to_string()))?;
    Ok(folder)
}

/// `myxtts` in the dataset's folder: with the dataset, and not hidden.
pub(super) fn default_output(dataset: &Path) -> PathBuf {
    let folder = match dataset.is_file() {
        true => dataset.parent().unwrap_or(Path::new("")),
        false => dataset,
    };
    folder.join("myxtts")
}

/// Every core unless told otherwise: there is no model to leave one for.
fn workers(chosen: Option<u32>) -> NonZeroUsize {
    let chosen = chosen.and_then(|workers| NonZeroUsize::new(workers as usize));
    chosen
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}

pub(super) fn failure(error: PrepareError) -> Failure {
    match error {
        PrepareError::Layout(_) | PrepareError::Language(_) | PrepareError::SameFolder { .. } => {
            Failure::usage(error)
        }
        other => Failure::Job(other.to_string()),
    }
}
