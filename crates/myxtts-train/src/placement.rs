//! Where the work of a training happens.

use burn::tensor::{Device, Tensor};
use myxtts_device::{OpenError, Plan, Strategy, open};
use myxtts_pipeline::{Hop, Wiring};

use crate::feed::{DecoderBatch, Fed, SegmentBatch};
use myxtts_model::gpt::GptBatch;

/// The devices of a training, opened.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Where batches are made: one for all replicas, or one for each.
    pub data: Vec<Device>,
    /// Where replicas train.
    pub models: Vec<Device>,
    /// Whether one data device works for all.
    pub shared_site: bool,
    /// Whether batches go from one device to another.
    pub has_hop: bool,
}

impl Placement {
    /// Everything on one device.
    pub fn on(device: &Device) -> Self {
        Self {
            data: vec![device.clone()],
            models: vec![device.clone()],
            shared_site: true,
            has_hop: false,
        }
    }

    /// Whether any of it is on a GPU.
    pub fn has_gpu(&self) -> bool {
        let mut devices = self.data.iter().chain(&self.models);
        devices.any(|device| *device != Device::flex())
    }

    /// The devices of a plan.
    pub fn of(plan: &Plan) -> Result<Self, OpenError> {
        let models: Result<Vec<Device>, OpenError> = plan.model_devices.iter().map(open).collect();
        let models = models?;
        Ok(match plan.strategy {
            Strategy::Cpu | Strategy::OneDevice => Self {
                data: models.clone(),
                models,
                shared_site: true,
                has_hop: false,
            },
            Strategy::Mirrored => Self {
                data: models.clone(),
                models,
                shared_site: false,
                has_hop: false,
            },
            Strategy::Split | Strategy::SplitMirrored => Self {
                data: vec![open(&plan.data_device)?],
                models,
                shared_site: true,
                has_hop: true,
            },
        })
    }

    /// Copies of the model.
    pub fn replicas(&self) -> u32 {
        u32::try_from(self.models.len()).unwrap_or(u32::MAX)
    }

    /// As the pipeline sees it.
    pub fn wiring(&self) -> Wiring {
        Wiring {
            lanes: self.models.len(),
            shared_site: self.shared_site,
        }
    }

    /// Whether kernels are compiled for shapes: everywhere but on the CPU.
    pub fn compiles(&self) -> bool {
        self.models.iter().any(|device| *device != Device::flex())
    }
}

/// A batch that can go to another device.
pub trait Portable: Sized + Send + 'static {
    /// It, there.
    fn carried(self, device: &Device) -> Self;
    /// Waits until it has arrived.
    fn settled(&self) -> Result<(), String>;
}

impl Portable for GptBatch {
    fn carried(self, device: &Device) -> Self {
        self.to_device(device)
    }

    fn settled(&self) -> Result<(), String> {
        arrived(&self.conditioning_bcs)
    }
}

impl Portable for SegmentBatch {
    fn carried(self, device: &Device) -> Self {
        self.to_device(device)
    }

    fn settled(&self) -> Result<(), String> {
        arrived(&self.mel_bct)
    }
}

impl Portable for DecoderBatch {
    fn carried(self, device: &Device) -> Self {
        self.to_device(device)
    }

    fn settled(&self) -> Result<(), String> {
        arrived(&self.wave_b1t)
    }
}

/// Reads one number: that waits for all of it.
pub(crate) fn arrived(x_bct: &Tensor<3>) -> Result<(), String> {
    let one = x_bct.clone().slice([0..1, 0..1, 0..1]);
    one.try_into_data()
        .map(|_| ())
        .map_err(|why| why.to_string())
}

/// The way to a model device.
#[derive(Debug)]
pub struct Carry<B> {
    device: Device,
    batch: std::marker::PhantomData<fn(B)>,
}

impl<B> Carry<B> {
    /// To `device`.
    pub fn to(device: Device) -> Self {
        Self {
            device,
            batch: std::marker::PhantomData,
        }
    }
}

impl<B: Portable> Hop for Carry<B> {
    type Batch = Fed<B>;

    fn hop(&mut self, fed: Fed<B>) -> Result<Fed<B>, String> {
        let batch = fed.batch.carried(&self.device);
        batch.settled()?;
        Ok(Fed {
            batch,
            facts: fed.facts,
        })
    }
}
