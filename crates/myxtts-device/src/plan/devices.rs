//! Which devices do the work, and how much of their memory each may use.

use super::{PlanError, PlanRequest, PlannedDevice, Record, budget};
use super::{choose_backend, cpu_device, gpu_device};
use crate::config::{PipelineConfig, StrategyConfig};
use crate::machine::{Gpu, Machine};
use crate::strategy::{Asked, Placement, Strategy, place};

/// The devices of a plan, with their budgets.
pub(super) struct Devices<'m> {
    pub(super) placement: Placement,
    pub(super) has_data_gpu: bool,
    pub(super) data: PlannedDevice,
    pub(super) models: Vec<PlannedDevice>,
    /// The GPUs among the model devices.
    pub(super) model_gpus: Vec<&'m Gpu>,
}

impl<'m> Devices<'m> {
    /// Chooses the devices, or says why they do not fit the request.
    pub(super) fn choose(
        request: &PlanRequest,
        machine: &'m Machine,
        record: &mut Record,
    ) -> Result<Self, PlanError> {
        let StrategyConfig {
            multi_gpu,
            ref visible_gpus,
            backend,
            allow_fallback,
            ..
        } = request.strategy;
        let gpus = choose_backend(request, backend, machine, record)?;
        let ids: Vec<u32> = gpus.iter().map(|gpu| gpu.id).collect();
        let asked = Asked {
            multi_gpu,
            visible_gpus: visible_gpus.as_deref(),
            data_gpu: request.pipeline.data_gpu,
            model_gpu: request.pipeline.model_gpu,
            allow_fallback,
        };
        let mut placement = place(asked, &ids)?;
        record.reasons.insert(0, placement.reason.clone());
        record.given_up.append(&mut placement.given_up);

        let gpu_of = |id: &u32| gpus.iter().find(|gpu| gpu.id == *id);
        let model_gpus: Vec<&Gpu> = placement.models.iter().filter_map(gpu_of).collect();
        let data_gpu = placement.data.as_ref().and_then(gpu_of);
        let first = u32::from(data_gpu.is_some());
        let models: Vec<PlannedDevice> = match model_gpus.as_slice() {
            [] => vec![cpu_device(machine)],
            gpus => (first..)
                .zip(gpus)
                .map(|(logical, gpu)| gpu_device(logical, gpu))
                .collect(),
        };
        let data = match data_gpu {
            Some(gpu) => gpu_device(0, gpu),
            None => models[0].clone(),
        };
        if placement.strategy == Strategy::Mirrored {
            record.because("each replica prepares the data of its own shard on its own GPU");
        }
        Ok(Self {
            has_data_gpu: data_gpu.is_some(),
            placement,
            data,
            models,
            model_gpus,
        })
    }

    /// Gives every device its budget.
    pub(super) fn within(
        mut self,
        request: &PlanRequest,
        record: &mut Record,
    ) -> Result<Self, PlanError> {
        let PipelineConfig {
            enable_memory_isolation,
            data_gpu_memory,
            model_gpu_memory,
            ..
        } = request.pipeline;
        let budgets = enable_memory_isolation.then_some(budget::Budgets {
            data: data_gpu_memory,
            model: model_gpu_memory,
        });
        budget::assign(request, budgets, &mut self.data, &mut self.models, record)?;
        Ok(self)
    }

    /// Returns the number of model devices, each with a replica.
    pub(super) fn replicas(&self) -> u32 {
        u32::try_from(self.models.len()).unwrap_or(u32::MAX)
    }
}
