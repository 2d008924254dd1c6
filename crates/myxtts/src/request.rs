//! What a configuration asks of a training.

use myxtts_config::Settings;
use myxtts_device::Plan;
use myxtts_train::session::{PreparedDataset, SegmentSizes, TrainRequest};

use crate::error::Error;
use crate::settings::{self as config, Config};

/// What a configuration asks of a training on a prepared dataset. `config_text`
/// is the configuration as the run's folder keeps it.
pub(crate) fn train_request(
    settings: &Settings<Config>,
    plan: &Plan,
    dataset: PreparedDataset,
    config_text: String,
) -> Result<TrainRequest, Error> {
    Ok(TrainRequest {
        config: settings.config.clone(),
        chosen: config::chosen(settings),
        config_text,
        plan: plan.clone(),
        dataset,
        sizes: config::sizes(settings)?,
        segments: SegmentSizes::default(),
    })
}
