//! Measures speed, and says on what machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use myxtts_base::report;
use myxtts_bench::data_path::{self, DataPathError, DataPathReport};
use myxtts_bench::frame::Framed;
use myxtts_bench::pipeline::{self, PipelineReport};
use myxtts_bench::step::{self, PeerSteps, StepReport};
use myxtts_bench::synth::{self, SynthError, SynthReport};
use myxtts_bench::telemetry::{TelemetryReport, measure_telemetry};
use myxtts_bench::train::{self, PeerTraining, TrainReport};
use myxtts_data::generated_corpus::generate;
use myxtts_device::Machine;
use myxtts_run::observer::Observer;
use myxtts_run::signals::StopRequest;
use myxtts_text::Vocabulary;
use myxtts_train::placement::Placement;
use myxtts_train::session::TrainRequest;

pub use myxtts_bench::pipeline::PipelineRequest;
pub use myxtts_bench::synth::SynthRequest;
pub use myxtts_model::ModelSize;

use crate::dataset::prepare;
use crate::error::Error;
use crate::request::train_request;
use crate::settings::{Given, plan_request};

/// The clips that the data path is measured with.
#[derive(Clone, Debug)]
pub enum Clips {
    /// Those of a dataset.
    Of(PathBuf),
    /// So many generated ones.
    Generated(u32),
}

/// Writes so many generated clips to a folder, as a dataset.
///
/// # Errors
/// When the folder cannot be written.
pub fn make_corpus(folder: &Path, clips: u32) -> Result<(), Error> {
    generate(folder, clips).map_err(Error::failed)
}

/// Measures decoding, log-mel and the whole host stage on one core. Without a vocabulary one is
/// trained on the transcripts.
///
/// # Errors
/// When the dataset or the vocabulary cannot be read.
pub fn data_path(
    clips: Clips,
    vocabulary: Option<&Path>,
    passes: usize,
) -> Result<Framed<DataPathReport>, Error> {
    let vocabulary = vocabulary.map(Vocabulary::read);
    let vocabulary = vocabulary.transpose().map_err(Error::refused)?;
    let measure = |corpus: &Path| {
        let measured = data_path::measure(corpus, vocabulary, passes);
        measured.map_err(|error| match error {
            DataPathError::Layout(error) => Error::refused(error),
            error => Error::failed(error),
        })
    };
    let report = match clips {
        Clips::Of(folder) => measure(&folder)?,
        Clips::Generated(clips) => {
            let folder = tempfile::tempdir().map_err(|why| {
                Error::Failed(report!(
                    "cannot make a folder for the generated corpus: {why}"
                ))
            })?;
            make_corpus(folder.path(), clips)?;
            measure(folder.path())?
        }
    };
    Ok(Framed::new(report))
}

/// Measures how long a step that only sleeps waits for its batch, on the CPU.
///
/// # Errors
/// When the corpus cannot be generated, or the pipeline fails.
pub fn pipeline(request: &PipelineRequest) -> Result<Framed<PipelineReport>, Error> {
    let report = pipeline::measure(request).map_err(Error::failed)?;
    Ok(Framed::new(report))
}

/// Measures one training step of the GPT on the CPU, in several cases. `peer` is a record of
/// PyTorch doing the same.
///
/// # Errors
/// When the record cannot be read, or a case does not fit its model.
pub fn step(
    steps: usize,
    peer: Option<&Path>,
    observer: &dyn Observer,
) -> Result<Framed<StepReport>, Error> {
    let peer = peer.map(|path| step::PEER.read::<PeerSteps>(path));
    let peer = peer.transpose().map_err(Error::refused)?;
    let tell = |case: &step::Case| observer.line(&format!("{}: {steps} steps", case.name));
    let report = step::measure(steps, &peer.unwrap_or_default(), tell);
    Ok(Framed::new(report.map_err(Error::failed)?))
}

/// Measures speaking on the CPU, beside the public implementation if its Python is named.
///
/// # Errors
/// When one of the two cannot speak.
pub fn speech(
    request: &SynthRequest,
    observer: &dyn Observer,
) -> Result<Framed<SynthReport>, Error> {
    let report = synth::measure(request, &|line| observer.line(line));
    let report = report.map_err(|error| match error {
        SynthError::Python { .. } => Error::refused(error),
        error => Error::failed(error),
    })?;
    Ok(Framed::new(report))
}

/// Measures training of the GPT on the sample corpus with cached codes, in these sizes. `peer` is
/// a record of the Python reference.
///
/// # Errors
/// When the record cannot be read, there is no size, or a training fails.
pub fn training(
    sizes: &[String],
    steps: u32,
    batch_size: u32,
    peer: Option<&Path>,
    machine: impl Fn() -> Result<Machine, Error>,
    observer: &dyn Observer,
) -> Result<Framed<TrainReport>, Error> {
    let peer = peer.map(|path| train::PEER.read::<PeerTraining>(path));
    let peer = peer.transpose().map_err(Error::refused)?;
    let mut measured = vec![];
    for size in sizes {
        observer.line(&format!("{size}: an epoch, then {steps} steps"));
        let (training, placement) = opened(size, batch_size, &machine()?, observer)?;
        let figures = train::measure(&training, &placement, u64::from(steps));
        measured.push((size.clone(), figures.map_err(Error::failed)?));
    }
    let report = TrainReport::of(batch_size, measured, peer.as_ref());
    let report = report.ok_or_else(|| Error::Refused("no size was given".into()))?;
    Ok(Framed::new(report))
}

/// Measures what it costs a training to record itself, in pairs of epochs that hold the same
/// clips. `shown` is the observer of the recorded ones.
///
/// # Errors
/// When the training fails.
pub fn telemetry(
    size: &str,
    pairs: u32,
    batch_size: u32,
    machine: &Machine,
    observer: &dyn Observer,
    shown: Arc<dyn Observer>,
) -> Result<Framed<TelemetryReport>, Error> {
    let (training, placement) = opened(size, batch_size, machine, observer)?;
    observer.line(&format!(
        "{size}: two epochs, then {pairs} pairs of epochs, one of each recorded"
    ));
    let figures = measure_telemetry(&training, &placement, pairs as usize, shown);
    Ok(Framed::new(TelemetryReport {
        size: size.to_owned(),
        batch_size,
        figures: figures.map_err(Error::failed)?,
    }))
}

/// Returns a training of a preset on the sample corpus, and its devices.
fn opened(
    size: &str,
    batch_size: u32,
    machine: &Machine,
    observer: &dyn Observer,
) -> Result<(TrainRequest, Placement), Error> {
    let settings = Given::default()
        .with("model.size", size)
        .with("data.batch_size", batch_size)
        // The sample corpus has short clips, whatever the size.
        .with("data.conditioning_min", 1)
        .with("data.conditioning_max", 1)
        .load(machine)?;
    let plan = myxtts_device::plan(&plan_request(&settings), machine)?;
    // Signals end a benchmark as they end any program: it keeps nothing.
    let stop = StopRequest::new();
    let dataset = prepare(&settings, &stop, observer)?;
    let training = train_request(&settings, &plan, dataset, String::new())?;
    let placement = Placement::of(&plan).map_err(Error::failed)?;
    Ok((training, placement.reading(&plan, machine)))
}
