//! Times DVAE training on the CPU: `cargo run --release -p myxtts-bench --example dvae [steps]`.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a measurement, run by hand"
)]

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Gradients, Tensor};
use myxtts_bench::clock::Clock;
use myxtts_model::dvae::{Dvae, DvaeConfig, MovingAverage, Reconstruction};
use myxtts_model::init::Init;

/// Plain gradient descent: the cheapest step that uses every gradient.
struct Descend<'a>(&'a Gradients);

impl ModuleMapper for Descend<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(gradient) = param.val().grad(self.0) else {
            return param;
        };
        param.map(|x| Tensor::from_inner(x.inner() - gradient * 1e-3).require_grad())
    }
}

fn main() {
    let steps = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let steps: u32 = steps.unwrap_or(20);
    let device = Device::flex().autodiff();
    let init = Init::new(1, &device);
    let mel_bct = init.normal([16, 80, 64], 1.0).val().detach();
    let new = Dvae::new(&init, &DvaeConfig::TINY).expect("the tiny sizes are possible");
    let mut dvae = new.with_seeded_codebook(mel_bct.clone(), 1);
    let (mut forward, mut backward, mut update) = (0.0, 0.0, 0.0);
    for _ in 0..steps {
        let clock = Clock::of_thread();
        let step = dvae
            .step(mel_bct.clone(), Reconstruction::Mse)
            .expect("64 frames are a multiple of 4");
        let loss = step.reconstruction_bct.clone().mean() + step.commitment.clone();
        forward += clock.wall().as_secs_f64();
        let clock = Clock::of_thread();
        let gradients = loss.backward();
        backward += clock.wall().as_secs_f64();
        let clock = Clock::of_thread();
        dvae = dvae.map(&mut Descend(&gradients));
        dvae = dvae.with_moved_codebook(&step, MovingAverage::default());
        update += clock.wall().as_secs_f64();
    }
    let each = |seconds: f64| 1e3 * seconds / f64::from(steps);
    println!(
        "DVAE width 128, 16 segments of 64 frames, per step: \
         forward {:.1} ms, backward {:.1} ms, update {:.1} ms",
        each(forward),
        each(backward),
        each(update)
    );
}
