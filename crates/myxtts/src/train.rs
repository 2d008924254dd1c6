//! Plans a training and runs it.

use std::sync::Arc;

use myxtts_config::Settings;
use myxtts_device::{Machine, Plan};
use myxtts_run::observer::Observer;
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::session::{Finished, PreparedDataset, run};

use crate::error::Error;
use crate::memory::training_request;
use crate::request::train_request;
use crate::settings::{Config, effective_yaml, keys};

/// Decides devices, precision, buffers and batch of a training. No device is touched.
///
/// # Errors
/// When the machine does not have what the configuration asks for, or not enough memory for it.
pub fn plan(settings: &Settings<Config>, machine: &Machine) -> Result<Plan, Error> {
    let request = training_request(settings, None)?;
    Ok(myxtts_device::plan(&request, machine)?)
}

/// Trains a voice, from wherever its run folder left off, and returns how that ended.
///
/// A [`StopRequest`] ends a training in order: with a checkpoint, and as [`Finished`] rather than
/// as an error. Messages, progress, steps and samples go to `observer`; the run's folder holds
/// them too.
///
/// ```
/// use std::sync::Arc;
/// use myxtts::{Given, Silent, StopRequest};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (folder, stop) = (tempfile::tempdir()?, StopRequest::new());
/// let [voice, run] = ["voice", "run"].map(|name| folder.path().join(name));
/// myxtts::unpack_sample_corpus(&voice)?;
/// # // A few clips of it are enough here.
/// # let metadata = voice.join("metadata.csv");
/// # let text = std::fs::read_to_string(&metadata)?;
/// # let few: Vec<&str> = text.lines().take(12).collect();
/// # std::fs::write(&metadata, few.join("\n") + "\n")?;
/// let machine = myxtts::cpu();
/// let settings = Given::default()
///     .with("data.train_data", voice.display())
///     .with("data.batch_size", 2)
///     .with("training.max_steps", 2)
///     .with("training.sample_count", 0)
///     .with("training.checkpoint_dir", run.display())
///     .load(&machine)?;
/// let plan = myxtts::plan(&settings, &machine)?;
/// let dataset = myxtts::prepare(&settings, &stop, &Silent)?;
/// let finished = myxtts::train(&settings, &machine, &plan, dataset, &stop, Arc::new(Silent))?;
/// // Two of the DVAE and two of the GPT.
/// assert_eq!(finished.steps, 4);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When a device cannot be opened, the run folder cannot be used, or a step fails.
pub fn train(
    settings: &Settings<Config>,
    machine: &Machine,
    plan: &Plan,
    dataset: PreparedDataset,
    stop: &StopRequest,
    observer: Arc<dyn Observer>,
) -> Result<Finished, Error> {
    let text = effective_yaml(&keys(), settings);
    let training = train_request(settings, plan, dataset, text)?;
    let placement = Placement::of(plan).map_err(Error::failed)?;
    let placement = placement.reading(plan, machine);
    Ok(run(&training, &placement, stop.clone(), observer)?)
}
