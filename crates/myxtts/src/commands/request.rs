//! What a configuration asks of a training.

use myxtts_config::Settings;
use myxtts_device::Plan;
use myxtts_train::TrainError;
use myxtts_train::session::{PreparedDataset, SegmentSizes, TrainRequest};

use crate::config::{self, Config};
use crate::output::Failure;

/// What a configuration asks of a training on a prepared dataset. `config_text`
/// is the configuration as the run's folder keeps it.
pub(super) fn train_request(
    settings: &Settings<Config>,
    plan: &Plan,
    dataset: PreparedDataset,
    config_text: String,
) -> Result<TrainRequest, Failure> {
    Ok(TrainRequest {
        config: settings.config.clone(),
        chosen: config::chosen(settings),
        config_text,
        plan: plan.clone(),
        dataset,
        sizes: config::sizes(settings).map_err(Failure::usage)?,
        segments: SegmentSizes::default(),
    })
}

/// What a training that failed is to a person.
pub(super) fn train_failure(error: TrainError) -> Failure {
    match error {
        TrainError::Usage(message) => Failure::Usage(message),
        other => Failure::job(other),
    }
}
