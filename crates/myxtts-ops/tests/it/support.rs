//! Inputs, and the comparison of two ways to compute.

use burn::tensor::{Device, Tensor, TensorData};

/// The CPU with gradients.
pub fn device() -> Device {
    Device::flex().autodiff()
}

/// Numbers about 1 in size, a function of the seed.
pub fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    (0..count)
        .map(|_| {
            let mut total = 0.0;
            for _ in 0..4 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                total += (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5;
            }
            total * 1.7
        })
        .collect()
}

pub fn random<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<D> {
    let count = shape.iter().product();
    Tensor::from_data(TensorData::new(numbers(count, seed), shape), &device())
}

pub fn values<const D: usize>(x: &Tensor<D>) -> Vec<f32> {
    x.clone().into_data().iter::<f32>().collect()
}

/// Fails unless `a` and `b` differ by less than `tolerance` of the larger of 1 and their size.
#[track_caller]
pub fn assert_close(what: &str, a: &[f32], b: &[f32], tolerance: f32) {
    assert_eq!(a.len(), b.len(), "{what}: lengths");
    let size = b.iter().fold(1.0_f32, |m, x| m.max(x.abs()));
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        let off = (a - b).abs() / size;
        assert!(
            off <= tolerance,
            "{what}: element {i} is {a}, and {b} is right"
        );
    }
}

/// An operation on tensors of one rank each.
pub type Operation<'a> = &'a dyn Fn(&[Flat]) -> Flat;

/// A tensor whose rank is data.
#[derive(Clone, Debug)]
pub struct Flat {
    pub shape: Vec<usize>,
    pub values: Tensor<1>,
}

impl Flat {
    pub fn of<const D: usize>(x: Tensor<D>) -> Self {
        let shape = x.dims().to_vec();
        let count: usize = shape.iter().product();
        Self {
            shape,
            values: x.reshape([count]),
        }
    }

    pub fn random(shape: &[usize], seed: u64) -> Self {
        Self {
            shape: shape.to_vec(),
            values: random([shape.iter().product()], seed),
        }
    }

    pub fn get<const D: usize>(&self) -> Tensor<D> {
        let shape: [usize; D] = self.shape.clone().try_into().unwrap();
        self.values.clone().reshape(shape)
    }
}

/// The output of an operation, and the gradients of a weighted sum of it.
pub fn run(inputs: &[Flat], operation: Operation) -> (Vec<f32>, Vec<Vec<f32>>) {
    let leaves: Vec<Flat> = inputs
        .iter()
        .map(|x| Flat {
            shape: x.shape.clone(),
            values: x.values.clone().detach().require_grad(),
        })
        .collect();
    let out = operation(&leaves);
    let output = values(&out.values);
    let weights = random([output.len()], 99);
    let gradients = (out.values * weights).sum().backward();
    let found = leaves
        .iter()
        .map(|leaf| values(&leaf.values.grad(&gradients).expect("a gradient")))
        .collect();
    (output, found)
}

/// Two ways to compute the same, forward and backward.
#[track_caller]
pub fn assert_same(inputs: &[Flat], fast: Operation, plain: Operation, tolerance: f32) {
    let (fast_out, fast_gradients) = run(inputs, fast);
    let (plain_out, plain_gradients) = run(inputs, plain);
    assert_close("output", &fast_out, &plain_out, tolerance);
    for (i, (fast, plain)) in fast_gradients.iter().zip(&plain_gradients).enumerate() {
        assert_close(&format!("gradient of input {i}"), fast, plain, tolerance);
    }
}

/// The gradients against differences of the output.
#[track_caller]
pub fn assert_slopes(inputs: &[Flat], operation: Operation, tolerance: f32) {
    let (output, gradients) = run(inputs, operation);
    let weights = numbers(output.len(), 99);
    let weighted = |inputs: &[Flat]| -> f64 {
        let out = values(&operation(inputs).values);
        out.iter()
            .zip(&weights)
            .map(|(o, w)| f64::from(*o) * f64::from(*w))
            .sum()
    };
    let step = 1e-2_f32;
    for (which, gradient) in gradients.iter().enumerate() {
        for (i, &found) in gradient.iter().enumerate() {
            let moved = |by: f32| {
                let mut inputs = inputs.to_vec();
                let mut data = values(&inputs[which].values);
                data[i] += by;
                let shape = [data.len()];
                inputs[which].values = Tensor::from_data(TensorData::new(data, shape), &device());
                weighted(&inputs)
            };
            let slope = ((moved(step) - moved(-step)) / f64::from(2.0 * step)) as f32;
            let off = (slope - found).abs() / slope.abs().max(1.0);
            assert!(
                off < tolerance,
                "input {which}, element {i}: {found}, but {slope} by differences"
            );
        }
    }
}
