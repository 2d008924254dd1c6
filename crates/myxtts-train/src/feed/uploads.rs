//! How long values take on their way to a device.

use std::cell::Cell;
use std::thread::sleep;
use std::time::{Duration, Instant};

use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_model::mel::Upload;

/// Brings values to one device, and adds up what that takes this thread. What a
/// backend copies later, while its caller goes on, is not in it.
#[derive(Debug)]
pub(super) struct Uploads {
    device: Device,
    spent: Cell<Duration>,
}

impl Uploads {
    /// To `device`.
    pub(super) fn to(device: &Device) -> Self {
        Self {
            device: device.clone(),
            spent: Cell::default(),
        }
    }

    /// Whole numbers.
    pub(super) fn integers<const D: usize>(
        &self,
        values: Vec<i32>,
        shape: [usize; D],
    ) -> Tensor<D, Int> {
        self.timed(|device| Tensor::from_data(TensorData::new(values, shape), device))
    }

    /// A fault: so much longer.
    pub(super) fn delay(&self, delay: Duration) {
        if !delay.is_zero() {
            self.timed(|_| sleep(delay));
        }
    }

    /// What was spent since this was last asked.
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
