//! Initial weights, drawn on the host: the same on every device.

use std::cell::Cell;

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use myxtts_base::GAMMA;
pub use myxtts_base::splitmix64 as mix;

/// Draws the parameters of a new model, in the order they are asked for.
#[derive(Debug)]
pub struct Init {
    seed: u64,
    drawn: Cell<u64>,
    device: Device,
    blank: bool,
}

impl Init {
    /// Draws parameters on `device`, as a pure function of `seed`.
    pub fn new(seed: u64, device: &Device) -> Self {
        Self {
            seed,
            drawn: Cell::new(0),
            device: device.clone(),
            blank: false,
        }
    }

    /// Makes zeros instead of drawing, for a module whose weights are about to be loaded: drawing
    /// those of the largest size takes many seconds.
    pub fn blank(device: &Device) -> Self {
        Self {
            blank: true,
            ..Self::new(0, device)
        }
    }

    /// Returns the device on which parameters are made.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Draws from a normal distribution with mean 0.
    pub fn normal<const D: usize>(&self, shape: [usize; D], std: f64) -> Param<Tensor<D>> {
        self.draw(shape, |a, b| {
            // Box-Muller; `1 - a` is never 0.
            std * (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
        })
    }

    /// Draws uniformly from `[-bound, bound)`.
    pub(crate) fn uniform<const D: usize>(
        &self,
        shape: [usize; D],
        bound: f64,
    ) -> Param<Tensor<D>> {
        self.draw(shape, |a, _| bound * (2.0 * a - 1.0))
    }

    /// Fills a parameter with one value.
    pub(crate) fn constant<const D: usize>(
        &self,
        shape: [usize; D],
        value: f64,
    ) -> Param<Tensor<D>> {
        Param::from_tensor(Tensor::full(shape, value, &self.device))
    }

    /// Makes a tensor that moves with the module and that no gradient changes.
    pub(crate) fn buffer<const D: usize>(&self, values: Tensor<D>) -> Param<Tensor<D>> {
        Param::from_tensor(values).set_require_grad(false)
    }

    #[expect(clippy::cast_possible_truncation, reason = "parameters are f32")]
    fn draw<const D: usize>(
        &self,
        shape: [usize; D],
        value: impl Fn(f64, f64) -> f64,
    ) -> Param<Tensor<D>> {
        if self.blank {
            return Param::from_tensor(Tensor::zeros(shape, &self.device));
        }
        let stream = self.drawn.get();
        self.drawn.set(stream + 1);
        let key = mix(self.seed ^ mix(stream));
        let count = shape.iter().product::<usize>() as u64;
        let values: Vec<f32> = (0..count)
            .map(|index| value(unit(key, 2 * index), unit(key, 2 * index + 1)) as f32)
            .collect();
        Param::from_tensor(Tensor::from_data(
            TensorData::new(values, shape),
            &self.device,
        ))
    }
}

/// Draws a number in `[0, 1)`.
pub(crate) fn unit(key: u64, index: u64) -> f64 {
    (mix(key.wrapping_add(index.wrapping_mul(GAMMA))) >> 11) as f64 / (1_u64 << 53) as f64
}
