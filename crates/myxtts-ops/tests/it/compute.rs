//! Products in half precision against the same in double.

use burn::tensor::{DType, Device, Tensor};
use myxtts_ops::{Compute, linear};

use crate::support::{device, random, values};

const ROWS: usize = 9;
const INPUTS: usize = 40;
const OUTPUTS: usize = 11;

/// Each half precision, with the largest relative error of one rounding.
const HALVES: [(Compute, f64); 2] = [(Compute::Bf16, 1.0 / 256.0), (Compute::F16, 1.0 / 2048.0)];

/// `sum(f(x_i, w_i))` for every row and output.
fn sums(x: &[f32], weight_oi: &[f32], term: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let row = |x: &[f32], w: &[f32]| {
        let pairs = x.iter().zip(w);
        pairs.map(|(x, w)| term(f64::from(*x), f64::from(*w))).sum()
    };
    let rows = x.chunks(INPUTS);
    rows.flat_map(|x| weight_oi.chunks(INPUTS).map(move |w| row(x, w)))
        .collect()
}

/// How far `found` is from `x w^T`, in roundings of the sum of magnitudes.
fn roundings(found: &[f32], x: &[f32], weight_oi: &[f32], unit: f64) -> f64 {
    let exact = sums(x, weight_oi, |x, w| x * w);
    let size = sums(x, weight_oi, |x, w| (x * w).abs());
    assert_eq!(found.len(), exact.len());
    let off = found.iter().zip(exact.iter().zip(size));
    off.map(|(found, (exact, size))| (f64::from(*found) - exact).abs() / (size * unit))
        .fold(0.0, f64::max)
}

/// Both inputs are rounded, then the result: three roundings, and a little for
/// the sum.
#[test]
fn a_product_is_off_by_its_roundings() {
    let x_ni = random([ROWS, INPUTS], 1);
    let weight_oi = random([OUTPUTS, INPUTS], 2);
    let [x, weight] = [values(&x_ni), values(&weight_oi)];
    for (compute, unit) in HALVES {
        let half = compute.linear(x_ni.clone(), weight_oi.clone(), None);
        assert_eq!(half.dtype(), DType::F32);
        let off = roundings(&values(&half), &x, &weight, unit);
        assert!((0.05..3.1).contains(&off), "{compute:?}: {off}");
        // The other layouts hold the same product.
        let transposed =
            compute.transposed_linear(x_ni.clone(), weight_oi.clone().transpose(), None);
        let off = roundings(&values(&transposed), &x, &weight, unit);
        assert!((0.05..3.1).contains(&off), "{compute:?}: {off}");
        let x_1in = x_ni.clone().transpose().unsqueeze::<3>();
        let conv_1on = compute.pointwise_conv(x_1in, weight_oi.clone().unsqueeze_dim(2), None);
        let conv_no = conv_1on.squeeze_dim::<2>(0).transpose();
        let off = roundings(&values(&conv_no), &x, &weight, unit);
        assert!((0.05..3.1).contains(&off), "{compute:?}: {off}");
    }
}

#[test]
fn f32_is_the_layer_itself() {
    let [x_ni, weight_oi] = [random([ROWS, INPUTS], 1), random([OUTPUTS, INPUTS], 2)];
    let bias_o = random([OUTPUTS], 3);
    let layer = linear(x_ni.clone(), weight_oi.clone(), Some(bias_o.clone()));
    let ours = Compute::F32.linear(x_ni, weight_oi, Some(bias_o));
    assert_eq!(values(&ours), values(&layer));
}

/// A bias is added after the product is f32 again.
#[test]
fn a_bias_is_not_rounded() {
    let fine = 1.0 + f32::EPSILON;
    let bias_o = || Tensor::<1>::full([OUTPUTS], fine, &device());
    for (compute, _) in HALVES {
        let (x, w) = (
            Tensor::zeros([2, INPUTS], &device()),
            random([OUTPUTS, INPUTS], 2),
        );
        let y: Tensor<2> = compute.linear(x, w.clone(), Some(bias_o()));
        assert_eq!(values(&y), vec![fine; 2 * OUTPUTS]);
        let x = Tensor::zeros([2, INPUTS], &device());
        let y: Tensor<2> = compute.transposed_linear(x, w.clone().transpose(), Some(bias_o()));
        assert_eq!(values(&y), vec![fine; 2 * OUTPUTS]);
        let x = Tensor::zeros([1, INPUTS, 2], &device());
        let y = compute.pointwise_conv(x, w.unsqueeze_dim(2), Some(bias_o()));
        assert_eq!(values(&y), vec![fine; 2 * OUTPUTS]);
    }
}

#[test]
fn gradients_are_f32_and_close() {
    let gradients = |compute: Compute| {
        let x = random([ROWS, INPUTS], 1).require_grad();
        let weight = random([OUTPUTS, INPUTS], 2).require_grad();
        let bias = random([OUTPUTS], 3).require_grad();
        let y = compute.linear(x.clone(), weight.clone(), Some(bias.clone()));
        let slopes = y.tanh().sum().backward();
        let [x, weight] = [&x, &weight].map(|leaf| leaf.grad(&slopes).unwrap());
        let bias = bias.grad(&slopes).unwrap();
        assert_eq!([x.dtype(), weight.dtype(), bias.dtype()], [DType::F32; 3]);
        [values(&x), values(&weight), values(&bias)]
    };
    let length = |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>().sqrt();
    let exact = gradients(Compute::F32);
    for (compute, unit) in HALVES {
        for (half, exact) in gradients(compute).iter().zip(&exact) {
            let off = length(&mut half.iter().zip(exact).map(|(a, b)| a - b));
            let off = f64::from(off / length(&mut exact.iter().copied()));
            assert!(off > 0.0 && off < 8.0 * unit, "{compute:?}: {off}");
        }
    }
}

#[test]
fn the_cpu_computes_in_all() {
    for compute in [Compute::F32, Compute::Bf16, Compute::F16] {
        assert!(compute.runs_on(&Device::flex()), "{compute:?}");
        assert!(compute.runs_on(&device()), "{compute:?}");
    }
}
