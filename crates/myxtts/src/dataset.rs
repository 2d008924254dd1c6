//! The dataset of a command: where it is, and its preparation.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use myxtts_audio::units::Frames;
use myxtts_config::Settings as Resolved;
use myxtts_data::config::DatasetConfig;
use myxtts_data::layout::Columns;
use myxtts_data::prepare::{
    Event, Place, PrepareError, Ready, Request, Settings, Watch, place, ready,
};
use myxtts_data::sample_corpus;
use myxtts_data::units::Tokens;
use myxtts_infer::{ModelCard, Pick, resolve};
use myxtts_run::observer::{Observer, Preparing};
use myxtts_run::signals::StopRequest;
use myxtts_text::Vocabulary;
use myxtts_train::session::PreparedDataset;

use crate::error::Error;
use crate::settings::Config;

/// The configured one, else the sample corpus.
pub(crate) fn dataset(train_data: Option<&str>) -> Result<PathBuf, Error> {
    if let Some(dataset) = train_data {
        return Ok(PathBuf::from(dataset));
    }
    let folder = sample_corpus::default_folder().map_err(Error::failed)?;
    sample_corpus::unpack(&folder).map_err(Error::failed)?;
    Ok(folder)
}

/// Which of the two datasets of a training.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The recordings to train on.
    Training,
    /// The recordings to validate on.
    Validation,
}

/// Where the results go: the folder that was given; else `myxtts` in the
/// dataset's folder, with the dataset and not hidden; else, where that may not
/// be written to, the user's cache.
pub(crate) fn output_folder(
    prepared: Option<&str>,
    dataset: &Path,
    part: Part,
    observer: &dyn Observer,
) -> Result<PathBuf, Error> {
    if let Some(folder) = prepared {
        let folder = PathBuf::from(folder);
        return Ok(match part {
            Part::Training => folder,
            Part::Validation => folder.join("validation"),
        });
    }
    let Place { folder, refused } = place(dataset).map_err(Error::failed)?;
    if let Some((beside, why)) = refused {
        observer.line(&format!(
            "{} is not writable ({why}): the prepared files go to {}",
            beside.display(),
            folder.display()
        ));
    }
    Ok(folder)
}

/// Prepares the recordings of a training, those to validate on included: every clip is read once,
/// and indexed, or left out with its reason. What was prepared earlier and still fits is taken as
/// it is.
///
/// ```
/// use myxtts::{Given, Silent, StopRequest};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let voice = folder.path().join("voice");
/// // A voice to try; a dataset of your own has a folder `wavs` and a `metadata.csv`.
/// myxtts::unpack_sample_corpus(&voice)?;
/// # // A few clips of it are enough here.
/// # let metadata = voice.join("metadata.csv");
/// # let text = std::fs::read_to_string(&metadata)?;
/// # let few: Vec<&str> = text.lines().take(12).collect();
/// # std::fs::write(&metadata, few.join("\n") + "\n")?;
/// let settings = Given::default()
///     .with("data.train_data", voice.display())
///     .load(&myxtts::cpu())?;
/// let dataset = myxtts::prepare(&settings, &StopRequest::new(), &Silent)?;
/// assert!(dataset.folder.join("manifest.jsonl").is_file());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When there is no dataset, its language cannot be told, or too many of its clips are bad.
pub fn prepare(
    settings: &Resolved<Config>,
    stop: &StopRequest,
    observer: &dyn Observer,
) -> Result<PreparedDataset, Error> {
    let configured = &settings.config.data.dataset;
    let vocabulary = vocabulary(settings)?;
    let folder = dataset(configured.train_data.as_deref())?;
    let out = output_folder(
        configured.prepared.as_deref(),
        &folder,
        Part::Training,
        observer,
    )?;
    let ready = prepare_folder(settings, folder, out, vocabulary.as_deref(), stop, observer)?;
    let prepared = PreparedDataset {
        folder: ready.folder,
        validation: None,
        vocabulary,
        language: Some(ready.report.language),
        reading: ready.reading,
    };
    with_validation(settings, prepared, stop, observer)
}

/// The same where the recordings to train on are prepared already, in `folder`.
pub(crate) fn prepared_in(
    settings: &Resolved<Config>,
    folder: PathBuf,
    stop: &StopRequest,
    observer: &dyn Observer,
) -> Result<PreparedDataset, Error> {
    let prepared = PreparedDataset {
        folder,
        vocabulary: vocabulary(settings)?,
        ..PreparedDataset::default()
    };
    with_validation(settings, prepared, stop, observer)
}

fn with_validation(
    settings: &Resolved<Config>,
    prepared: PreparedDataset,
    stop: &StopRequest,
    observer: &dyn Observer,
) -> Result<PreparedDataset, Error> {
    let configured = &settings.config.data.dataset;
    let Some(folder) = configured.val_data.as_ref().map(PathBuf::from) else {
        return Ok(prepared);
    };
    let out = output_folder(
        configured.prepared.as_deref(),
        &folder,
        Part::Validation,
        observer,
    )?;
    let vocabulary = prepared.vocabulary.as_deref();
    let ready = prepare_folder(settings, folder, out, vocabulary, stop, observer)?;
    prepared.reading.join(&ready.reading);
    Ok(PreparedDataset {
        validation: Some(ready.folder),
        ..prepared
    })
}

/// The vocabulary that `training.vocab` names.
fn vocabulary(settings: &Resolved<Config>) -> Result<Option<Arc<Vocabulary>>, Error> {
    let named = settings.config.training.run.vocab.as_ref();
    let read = named.map(|path| Vocabulary::read(path.as_ref()).map(Arc::new));
    read.transpose().map_err(Error::refused)
}

/// A dataset, prepared now or earlier, with what that wrote in `out`.
pub(crate) fn prepare_folder(
    settings: &Resolved<Config>,
    dataset: PathBuf,
    out: PathBuf,
    vocabulary: Option<&Vocabulary>,
    stop: &StopRequest,
    observer: &dyn Observer,
) -> Result<Ready, Error> {
    let request = request(settings, dataset, out, vocabulary)?;
    let ready = with_progress(observer, stop, |watch| ready(&request, watch))?;
    let report = &ready.report;
    report.check().map_err(Error::failed)?;
    let split = report.split.as_ref().filter(|split| split.pieces > 0);
    let split = split.map(|split| {
        format!(
            " ({} of them split into {})",
            split.clips.count, split.pieces
        )
    });
    observer.line(&format!(
        "dataset {}: {} clips{}, {} left out, language {}",
        report.dataset,
        report.kept,
        split.unwrap_or_default(),
        report.quarantined,
        report.language
    ));
    for table in &report.tables {
        observer.line(&format!("  columns of {}: {}", table.file, table.columns));
    }
    for limit in report.limits_in_words() {
        observer.line(&format!("  {limit}"));
    }
    Ok(ready)
}

/// What a configuration asks of a preparation.
#[deny(unused_variables)]
pub(crate) fn request<'v>(
    settings: &Resolved<Config>,
    dataset: PathBuf,
    out: PathBuf,
    vocabulary: Option<&'v Vocabulary>,
) -> Result<Request<'v>, Error> {
    let chosen_workers = settings.is_chosen("data.num_workers");
    let Config { data, training, .. } = &settings.config;
    // Every key by its name: one that nothing is made of does not compile.
    let DatasetConfig {
        // Made into `dataset` and `out` before.
        train_data: _,
        prepared: _,
        // A training's.
        cache: _,
        val_data,
        language,
        columns,
        split_long,
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
            columns: columns.transpose().map_err(Error::refused)?,
            max_text: Tokens(data.shapes.max_text_length),
            max_frames: Frames(data.shapes.max_mel_frames as usize),
            buckets: data.shapes.buckets,
            split_long: *split_long,
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
pub(crate) fn with_progress<T>(
    observer: &dyn Observer,
    stop: &StopRequest,
    prepare: impl FnOnce(Watch<'_>) -> Result<T, PrepareError>,
) -> Result<T, Error> {
    let begin = Instant::now();
    let mut is_told = false;
    let prepared = prepare(&mut |event| {
        match event {
            Event::Row(progress) => {
                observer.preparing(&Preparing {
                    done: progress.done,
                    about: progress.about,
                    quarantined: progress.quarantined,
                    elapsed: begin.elapsed(),
                });
            }
            Event::Waiting(waiting) if !is_told => {
                observer.line(&waiting.to_string());
                is_told = true;
            }
            Event::Waiting(_) => {}
        }
        match stop.is_asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    observer.progress_ended();
    prepared.map_err(|error| match (error, stop.asked()) {
        (error @ PrepareError::Stopped, Some(signal)) => Error::Stopped(signal, error.to_string()),
        (error, _) => error.into(),
    })
}

/// Every core unless told otherwise: there is no model to leave one for.
fn workers(chosen: Option<u32>) -> NonZeroUsize {
    let chosen = chosen.and_then(|workers| NonZeroUsize::new(workers as usize));
    chosen
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}
