//! `myxtts prepare`

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts_audio::units::Frames;
use myxtts_config::Settings as Resolved;
use myxtts_config::units::Megabytes;
use myxtts_data::corpus;
use myxtts_data::layout::Columns;
use myxtts_data::prepare::{Event, Place, PrepareError, Request, Settings, Watch, place, prepare};
use myxtts_data::units::Tokens;
use myxtts_device::discover::host;
use myxtts_device::{Machine, plan};
use myxtts_infer::{ModelCard, Pick, resolve};
use myxtts_run::signals::{StopRequest, StopSignal};
use myxtts_text::Vocabulary;
use myxtts_train::placement::Placement;
use myxtts_train::session::{Encoded, encode};
use serde_json::json;

use crate::cli::flags::DATASET;
use crate::config::{self, Config, DatasetConfig, Given, GivenFlag};
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
        let place = request.out.clone();
        let encoded = codes(&settings, &machine, place, &weights, &stop, output)?;
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
    stop: &StopRequest,
    output: &Output,
) -> Result<Encoded, Failure> {
    let request = super::memory::training_request(settings, None)?;
    let plan = plan(&request, machine).map_err(Failure::usage)?;
    let job = super::train::job(settings, &plan, stop, output, String::new(), Some(prepared))?;
    let placement = Placement::of(&plan).map_err(|why| Failure::Job(why.to_string()))?;
    let Some(device) = placement.data.first() else {
        return Err(Failure::Job("the plan has no data device".to_owned()));
    };
    let replicas = placement.replicas();
    let mut bar = ProgressBar::new();
    let encoded = encode(&job, weights, device, replicas, stop, &mut |done, total| {
        bar.show(done, total, " clips encoded");
    });
    bar.clear();
    if let Some(signal) = stop.asked() {
        return Err(stopped(
            signal,
            "the encoding was stopped; the codes made so far are kept",
        ));
    }
    let encoded = encoded.map_err(super::train::train_failure)?;
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

/// What a configuration asks of a preparation.
#[deny(unused_variables)]
pub(super) fn request<'v>(
    settings: &Resolved<Config>,
    dataset: PathBuf,
    out: PathBuf,
    vocabulary: Option<&'v Vocabulary>,
) -> Result<Request<'v>, Failure> {
    let chosen_workers = settings.is_chosen("data.num_workers");
    let Config { data, training, .. } = &settings.config;
    // Every key by its name: one that nothing is made of does not compile.
    let DatasetConfig {
        // Made into `dataset` and `out` before.
        train_data: _,
        prepared: _,
        // A training's, bound in `train::job`.
        cache: _,
        val_data,
        language,
        columns,
        max_bad_fraction,
    } = &data.dataset;
    let columns = columns.as_deref().map(Columns::named);
    Ok(Request {
        dataset,
        out,
        vocabulary,
        workers: workers(data.pipeline.num_workers.filter(|_| chosen_workers)),
        next: vec![],
        settings: Settings {
            audio: data.audio.clone(),
            language: match language {
                Some(language) => Some(language.clone()),
                None => training.run.init.as_deref().and_then(language_of),
            },
            columns: columns.transpose().map_err(Failure::usage)?,
            max_text: Tokens(data.shapes.max_text_length),
            max_frames: Frames(data.shapes.max_mel_frames as usize),
            buckets: data.shapes.buckets,
            max_bad_fraction: *max_bad_fraction,
            // Validation recordings of their own leave nothing to hold out.
            held_out_fraction: match val_data {
                Some(_) => 0.0,
                None => Settings::default().held_out_fraction,
            },
            seed: training.run.seed,
            ..Settings::default()
        },
    })
}

/// The language of weights that know one alone. Weights that cannot be read
/// are told of where they are used.
fn language_of(init: &str) -> Option<String> {
    let folder = resolve(Path::new(init), Pick::Newest).ok()?;
    let checkpoint = myxtts_weights::read_ours(&folder).ok()?;
    let card = ModelCard::of(&checkpoint).ok()?;
    match card.languages.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

/// Prepares, with progress.
pub(super) fn with_progress<T>(
    output: &Output,
    stop: &StopRequest,
    prepare: impl FnOnce(Watch<'_>) -> Result<T, PrepareError>,
) -> Result<T, Failure> {
    let mut bar = ProgressBar::new();
    let mut is_told = false;
    let prepared = prepare(&mut |event| {
        match event {
            Event::Row(progress) => {
                let words = format!(", {} quarantined", progress.quarantined);
                bar.show(progress.done, progress.about, &words);
            }
            Event::Waiting(waiting) if !is_told => {
                output.log(waiting);
                is_told = true;
            }
            Event::Waiting(_) => {}
        }
        match stop.is_asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    bar.clear();
    prepared.map_err(|error| match (error, stop.asked()) {
        (error @ PrepareError::Stopped, Some(signal)) => stopped(signal, error),
        (error, _) => failure(error),
    })
}

/// The end of a command that a signal stopped before there was anything to keep.
pub(super) fn stopped(signal: StopSignal, words: impl std::fmt::Display) -> Failure {
    let code = u8::try_from(signal.exit_code()).unwrap_or(1);
    Failure::Stopped(format!("{}: {words}", signal.name()), code)
}

/// Catches the signals that ask for an orderly end.
pub(super) fn stop_request() -> Result<StopRequest, Failure> {
    StopRequest::install().map_err(|why| Failure::Job(format!("signals cannot be caught: {why}")))
}

/// The configured one, else the sample corpus.
pub(super) fn dataset(train_data: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(dataset) = train_data {
        return Ok(PathBuf::from(dataset));
    }
    let folder = corpus::default_folder().map_err(|why| Failure::Job(why.to_string()))?;
    corpus::unpack(&folder).map_err(|why| Failure::Job(why.to_string()))?;
    Ok(folder)
}

/// Which of the two datasets of a training.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Training,
    Validation,
}

/// Where the results go: the folder that was given; else `myxtts` in the
/// dataset's folder, with the dataset and not hidden; else, where that may not
/// be written to, the user's cache.
pub(super) fn output_folder(
    prepared: Option<&str>,
    dataset: &Path,
    part: Part,
    output: &Output,
) -> Result<PathBuf, Failure> {
    if let Some(folder) = prepared {
        let folder = PathBuf::from(folder);
        return Ok(match part {
            Part::Training => folder,
            Part::Validation => folder.join("validation"),
        });
    }
    let Place { folder, refused } = place(dataset).map_err(|why| Failure::Job(why.to_string()))?;
    if let Some((beside, why)) = refused {
        output.log(format_args!(
            "{} may not be written to ({why}): what preparation writes goes to {}",
            beside.display(),
            folder.display()
        ));
    }
    Ok(folder)
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
        PrepareError::Layout(_)
        | PrepareError::Language(_)
        | PrepareError::WhichLanguage { .. }
        | PrepareError::WrongScript { .. }
        | PrepareError::SameFolder { .. } => Failure::usage(error),
        other => Failure::Job(other.to_string()),
    }
}
