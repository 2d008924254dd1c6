//! Measures how long values take to reach a device.

use std::cell::Cell;
use std::thread::sleep;
use std::time::{Duration, Instant};

use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_model::mel::Upload;

/// Uploads values to one device, and adds up the time this takes on the calling thread. What a
/// backend copies later, after the call has returned, is not counted.
#[derive(Debug)]
pub(super) struct Uploads {
    device: Device,
    spent: Cell<Duration>,
}

impl Uploads {
    /// Uploads values to `device`.
    pub(super) fn to(device: &Device) -> Self {
        Self {
            device: device.clone(),
            spent: Cell::default(),
        }
    }

    /// Uploads integers as a tensor of `shape`.
    pub(super) fn integers<const D: usize>(
        &self,
        values: Vec<i32>,
        shape: [usize; D],
    ) -> Tensor<D, Int> {
        self.timed(|device| Tensor::from_data(TensorData::new(values, shape), device))
    }

    /// Injects a fault that makes an upload take this much longer.
    pub(super) fn delay(&self, delay: Duration) {
        if !delay.is_zero() {
            self.timed(|_| sleep(delay));
        }
    }

    /// Returns the time spent since the last call.
    pub(super) fn take_spent(&self) -> Duration {
        self.spent.take()
    }

    fn timed<R>(&self, upload: impl FnOnce(&Device) -> R) -> R {
        let begin = Instant::now();
        let there = upload(&self.device);
        self.spent.set(self.spent.get() + begin.elapsed());
        there
    }
}

impl Upload for &Uploads {
    fn upload<const D: usize>(self, data: TensorData) -> Tensor<D> {
        self.timed(|device| Tensor::from_data(data, device))
    }
}
