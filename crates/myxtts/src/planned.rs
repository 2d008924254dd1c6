//! A plan as a person looks at it before a training: with its outline, and what the model needs.

use std::fmt;

use myxtts_config::Settings;
use myxtts_device::{Backend, Machine, Plan};
use serde::Serialize;

use crate::error::Error;
use crate::figures::ModelFigures;
use crate::memory::{clips, training_request};
use crate::outline::Outline;
use crate::relief::Relief;
use crate::settings::{Config, sizes};

/// A plan, and what it is for.
#[derive(Serialize)]
pub struct Planned {
    #[serde(flatten)]
    plan: Plan,
    training: Outline,
    model: ModelFigures,
    /// What would free most of the memory of each device that trains.
    relief: Vec<Relief>,
}

impl Planned {
    /// Plans a training as [`plan`](crate::plan()) does; where its dataset is prepared already, the
    /// plan also says how many clips a step has.
    ///
    /// # Errors
    /// When the machine does not have what the configuration asks for, or not enough memory for it.
    pub fn of(settings: &Settings<Config>, machine: &Machine) -> Result<Self, Error> {
        let request = training_request(settings, clips(settings))?;
        let plan = myxtts_device::plan(&request, machine)?;
        let on_cpu = plan.data_device.backend == Backend::Cpu;
        let sizes = sizes(settings)?;
        let relief = |workload| {
            let trains = plan.memory.iter().filter(|memory| memory.share.trains);
            trains
                .filter_map(|memory| Relief::of(memory, workload))
                .collect()
        };
        Ok(Self {
            relief: request.workload.as_deref().map(relief).unwrap_or_default(),
            model: ModelFigures::of(
                &settings.config,
                &sizes,
                plan.precision,
                plan.savings,
                on_cpu,
            ),
            training: Outline::of(settings)?,
            plan,
        })
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            plan,
            training,
            model,
            relief,
        } = self;
        write!(f, "{plan}\n{training}\n{model}")?;
        relief
            .iter()
            .try_for_each(|relief| writeln!(f, "  {relief}"))
    }
}
