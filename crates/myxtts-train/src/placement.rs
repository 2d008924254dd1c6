//! Where the work of a training happens.

use std::fmt;
use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use myxtts_device::{
    Backend, CollectiveChoice, Gpu, Machine, OpenError, Plan, PlannedDevice, Strategy, has_nccl,
    open, set_fusion,
};
use myxtts_pipeline::{Hop, Wiring};

use crate::feed::{DecoderBatch, DeviceBatch, SegmentBatch};
use myxtts_model::gpt::GptBatch;

/// The devices of a training, opened.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Devices on which batches are made: one for all replicas, or one for each.
    pub data: Vec<Device>,
    /// Devices on which replicas train, one each.
    pub models: Vec<Device>,
    /// Whether one data device works for all replicas.
    pub shared_data_device: bool,
    /// Whether batches move from the data device to another one.
    pub has_hop: bool,
    /// How the gradients of replicas are averaged.
    pub all_reduce: AllReducePath,
    /// The GPUs among the devices, by their number in the run, to be read while they work.
    pub gpus: Vec<(u32, Gpu)>,
}

/// How the gradients of replicas are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllReducePath {
    /// By the host, which reads them and writes the mean back, for the reason given.
    Host(&'static str),
    /// By the GPUs among themselves, through the engine's use of NCCL.
    Nccl,
}

impl AllReducePath {
    const ALONE: Self = Self::Host("there is one replica");

    fn of(plan: &Plan) -> Self {
        let mut devices = plan.model_devices.iter();
        if devices.len() == 1 {
            return Self::ALONE;
        }
        match (
            plan.collective,
            devices.all(|device| device.backend == Backend::Cuda),
        ) {
            (CollectiveChoice::Host, _) => Self::Host("training.collective says so"),
            (CollectiveChoice::Auto, true) if has_nccl() => Self::Nccl,
            (CollectiveChoice::Auto, true) => Self::Host("libnccl is not installed"),
            (CollectiveChoice::Auto, false) => Self::Host("only CUDA has a collective"),
        }
    }
}

impl fmt::Display for AllReducePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(why) => write!(f, "through the host: {why}"),
            Self::Nccl => f.write_str("by NCCL, from GPU to GPU"),
        }
    }
}

impl Placement {
    /// Puts all work on one device.
    pub fn on(device: &Device) -> Self {
        Self {
            data: vec![device.clone()],
            models: vec![device.clone()],
            shared_data_device: true,
            has_hop: false,
            all_reduce: AllReducePath::ALONE,
            gpus: vec![],
        }
    }

    /// Looks up the plan's GPUs in `machine`, so that they can be read during the run.
    #[must_use]
    pub fn reading(mut self, plan: &Plan, machine: &Machine) -> Self {
        let gpu = |device: &PlannedDevice| {
            let mut of_backend = machine
                .backends
                .iter()
                .filter(|report| report.backend == device.backend);
            let gpus = &of_backend.next()?.gpus;
            let gpu = gpus.iter().find(|gpu| gpu.id == device.physical)?;
            Some((device.logical, gpu.clone()))
        };
        let devices = std::iter::once(&plan.data_device).chain(&plan.model_devices);
        self.gpus = devices.filter_map(gpu).collect();
        // On one device, data and model share a GPU.
        self.gpus.dedup_by_key(|(_, gpu)| gpu.id);
        self
    }

    /// Whether any device is a GPU.
    pub fn has_gpu(&self) -> bool {
        let mut devices = self.data.iter().chain(&self.models);
        devices.any(|device| *device != Device::flex())
    }

    /// Opens the devices of a plan.
    pub fn of(plan: &Plan) -> Result<Self, OpenError> {
        if let Some(on) = plan.graph_mode {
            set_fusion(on)?;
        }
        let models: Result<Vec<Device>, OpenError> = plan.model_devices.iter().map(open).collect();
        let models = models?;
        let all_reduce = AllReducePath::of(plan);
        Ok(match plan.strategy {
            Strategy::Cpu | Strategy::OneDevice => Self {
                data: models.clone(),
                models,
                shared_data_device: true,
                has_hop: false,
                all_reduce,
                gpus: vec![],
            },
            Strategy::Mirrored => Self {
                data: models.clone(),
                models,
                shared_data_device: false,
                has_hop: false,
                all_reduce,
                gpus: vec![],
            },
            Strategy::Split | Strategy::SplitMirrored => Self {
                data: vec![open(&plan.data_device)?],
                models,
                shared_data_device: true,
                has_hop: true,
                all_reduce,
                gpus: vec![],
            },
        })
    }

    /// Returns the devices that average gradients among themselves, if they do.
    pub(crate) fn collective(&self) -> Option<Arc<[Device]>> {
        let is_theirs = self.all_reduce == AllReducePath::Nccl && self.models.len() > 1;
        is_theirs.then(|| self.models.as_slice().into())
    }

    /// Counts the copies of the model.
    pub fn replicas(&self) -> u32 {
        u32::try_from(self.models.len()).unwrap_or(u32::MAX)
    }

    /// Returns the wiring that the pipeline needs.
    pub(crate) fn wiring(&self) -> Wiring {
        Wiring {
            lanes: self.models.len(),
            shared_data_device: self.shared_data_device,
        }
    }
}

/// A batch that can move to another device.
pub trait ToDevice: Sized + Send + 'static {
    /// Moves the batch to `device`.
    fn moved_to(self, device: &Device) -> Self;
    /// Waits until the batch has arrived.
    fn synchronize(&self) -> Result<(), String>;
}

impl ToDevice for GptBatch {
    fn moved_to(self, device: &Device) -> Self {
        self.to_device(device)
    }

    fn synchronize(&self) -> Result<(), String> {
        arrived(&self.conditioning_bcs)
    }
}

impl ToDevice for SegmentBatch {
    fn moved_to(self, device: &Device) -> Self {
        self.to_device(device)
    }

    fn synchronize(&self) -> Result<(), String> {
        arrived(&self.mel_bct)
    }
}

impl ToDevice for DecoderBatch {
    fn moved_to(self, device: &Device) -> Self {
        self.to_device(device)
    }

    fn synchronize(&self) -> Result<(), String> {
        arrived(&self.wave_b1t)
    }
}

/// Reads one number of the tensor, which waits for all of it.
pub(crate) fn arrived(x_bct: &Tensor<3>) -> Result<(), String> {
    let one = x_bct.clone().slice([0..1, 0..1, 0..1]);
    one.try_into_data()
        .map(|_| ())
        .map_err(|why| why.to_string())
}

/// Moves batches to a model device.
#[derive(Debug)]
pub struct DeviceHop<B> {
    device: Device,
    batch: std::marker::PhantomData<fn(B)>,
}

impl<B> DeviceHop<B> {
    /// Moves batches to `device`.
    pub fn to(device: Device) -> Self {
        Self {
            device,
            batch: std::marker::PhantomData,
        }
    }
}

impl<B: ToDevice> Hop for DeviceHop<B> {
    type Batch = DeviceBatch<B>;

    fn hop(&mut self, device_batch: DeviceBatch<B>) -> Result<DeviceBatch<B>, String> {
        let batch = device_batch.batch.moved_to(&self.device);
        batch.synchronize()?;
        Ok(DeviceBatch {
            batch,
            stats: device_batch.stats,
        })
    }
}

#[cfg(test)]
mod tests {
    use myxtts_device::discover::host;
    use myxtts_device::{Machine, PlanRequest, plan};

    use super::*;

    #[test]
    fn who_averages_is_told_and_can_be_chosen() {
        let replicas = Placement {
            models: vec![Device::flex(); 2],
            all_reduce: AllReducePath::Nccl,
            ..Placement::on(&Device::flex())
        };
        assert_eq!(replicas.all_reduce.to_string(), "by NCCL, from GPU to GPU");
        assert_eq!(replicas.collective().map(|devices| devices.len()), Some(2));
        // Imaginary GPUs are not CUDA's, and the choice comes before that.
        let memory = PlanRequest::default().pipeline.data_gpu_memory;
        let machine = Machine::assume(host(), 2, memory);
        let all_reduce = |choice: CollectiveChoice| {
            let mut request = PlanRequest::default();
            request.strategy.multi_gpu = true;
            request.strategy.collective = choice;
            AllReducePath::of(&plan(&request, &machine).unwrap())
        };
        assert_eq!(
            all_reduce(CollectiveChoice::Auto).to_string(),
            "through the host: only CUDA has a collective"
        );
        let host = all_reduce(CollectiveChoice::Host);
        assert_eq!(
            host.to_string(),
            "through the host: training.collective says so"
        );
        let host = Placement {
            all_reduce: host,
            ..replicas
        };
        assert_eq!(host.collective(), None);
    }
}
