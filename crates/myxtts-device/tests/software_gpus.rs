//! Real Vulkan devices on a machine without a GPU: what training needs of two of them.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "test code"
)]
#![cfg(not(feature = "vulkan"))]

use burn::tensor::activation::softmax;
use burn::tensor::module::conv1d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Tensor, TensorData};
use myxtts_device::open;
use myxtts_testkit_model::software;

fn ramp(count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i * 37 % 19) as f32 - 9.0) / 10.0)
        .collect()
}

fn matrix(rows: usize, columns: usize, device: &Device) -> Tensor<2> {
    Tensor::from_data(
        TensorData::new(ramp(rows * columns), [rows, columns]),
        device,
    )
}

/// matmul, convolution, softmax and one step of gradient descent.
fn work(device: &Device) -> Vec<(&'static str, Vec<f32>)> {
    let product = matrix(8, 16, device).matmul(matrix(16, 8, device));
    let signal = matrix(4, 32, device).reshape([1, 4, 32]);
    let kernel = matrix(6, 12, device).reshape([6, 4, 3]);
    let convolved = conv1d(signal, kernel, None, ConvOptions::new([2], [1], [1], 1));
    let attention = softmax(product.clone(), 1);
    let training = device.clone().autodiff();
    let weights = matrix(16, 8, &training).require_grad();
    let loss = (matrix(8, 16, &training).matmul(weights.clone()) - 0.5)
        .powf_scalar(2.0)
        .mean();
    let gradients = loss.backward();
    let gradient = weights.grad(&gradients).unwrap();
    let stepped = weights.inner() - gradient.mul_scalar(0.1);
    let read = |data: TensorData| data.try_to_vec::<f32>().unwrap();
    vec![
        ("matmul", read(product.into_data())),
        ("convolution", read(convolved.into_data())),
        ("softmax", read(attention.into_data())),
        ("gradient step", read(stepped.into_data())),
    ]
}

#[test]
fn two_software_gpus_do_what_training_needs() {
    let Some((data, model)) = software::two() else {
        return;
    };
    let again = open(&software::planned().unwrap().data_device).unwrap();
    assert_eq!(again, data, "opening again gives the same");
    assert_ne!(data, model, "two logical devices");
    let expected = work(&Device::flex());
    for device in [&data, &model] {
        for ((name, ours), (_, reference)) in work(device).into_iter().zip(&expected) {
            assert_eq!(ours.len(), reference.len(), "{name}");
            for (a, b) in ours.iter().zip(reference) {
                assert!(
                    (a - b).abs() < 1e-4,
                    "{name}: {a} on the device, {b} on the CPU"
                );
            }
        }
    }
    let source = matrix(32, 32, &data);
    let copied = source.clone().to_device(&model);
    assert_eq!(copied.device(), model);
    let doubled = copied.mul_scalar(2.0).to_device(&data) - source.mul_scalar(2.0);
    assert_eq!(
        doubled.abs().max().into_scalar::<f32>(),
        0.0,
        "a copy there and back is exact"
    );
}

/// The driver was there when devices were listed, and is gone when one is opened.
#[test]
fn a_driver_that_vanished_is_a_message() {
    if software::planned().is_none() {
        return;
    }
    let nowhere = "/nonexistent.json";
    let variables = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].map(|name| (name, nowhere));
    software::alone("without_a_driver", &variables);
}

#[test]
#[ignore = "run by the test above, without a driver"]
fn without_a_driver() {
    let planned = myxtts_device::PlannedDevice {
        logical: 0,
        physical: 0,
        backend: myxtts_device::Backend::Wgpu,
        name: "llvmpipe as software GPU 0".into(),
        memory_budget_mb: None,
        adapter: myxtts_device::Adapter::Software(0),
    };
    insta::assert_snapshot!(open(&planned).unwrap_err(), @r"
    GPU 0 (llvmpipe as software GPU 0) cannot be opened
      asked: backend wgpu
      found: no software rasteriser is installed
      fix:   see `myxtts devices`; close programs that hold the GPU, reinstall its driver, or choose another
    ");
}
