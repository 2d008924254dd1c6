//! Gradients, clipping and AdamW.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use myxtts_model::init::Init;
use myxtts_model::layers::Linear;
use myxtts_model::params::{self, StateDict};
use myxtts_train::optim::{AdamW, AdamWConfig, NamedGradients};

use crate::fixtures::{norm, values};

fn device() -> Device {
    Device::flex()
}

fn line() -> Linear {
    Linear::new(&Init::new(1, &device()), 3, 2, true).train()
}

/// Gradients of the mean of squares of what the layer makes of `inputs`.
fn gradients_of(layer: &Linear, inputs: [[f32; 3]; 1]) -> NamedGradients {
    let x = Tensor::<2>::from_data(inputs, &device());
    NamedGradients::collect(layer, layer.forward(x).square().mean().backward())
}

fn flat(gradients: &NamedGradients) -> Vec<f32> {
    gradients
        .iter()
        .flat_map(|(_, gradient_n)| values(gradient_n))
        .collect()
}

#[test]
fn clipping_shortens_only_what_is_too_long() {
    let layer = line();
    let gradients = gradients_of(&layer, [[1.0, -2.0, 3.0]]);
    let before = flat(&gradients);
    let length = norm(&before);
    let (clipped, found) = gradients.clone().clip(length / 4.0);
    assert!((f64::from(found.unwrap().into_scalar::<f32>()) - length).abs() < 1e-5);
    for (short, whole) in flat(&clipped).iter().zip(&before) {
        assert!((short * 4.0 - whole).abs() < 1e-4, "{short} of {whole}");
    }
    let (left, _) = gradients.clip(length * 2.0);
    assert_eq!(flat(&left), before);
    let (_, nothing) = NamedGradients::default().clip(1.0);
    assert!(nothing.is_none());
}

#[test]
fn accumulated_gradients_are_those_of_the_sum() {
    let layer = line();
    let [one, other] = [[[1.0, -2.0, 3.0]], [[0.5, 0.25, -1.0]]];
    let mut sum = gradients_of(&layer, one);
    sum.add(gradients_of(&layer, other));
    let sum = sum.scale(0.5);
    let both = Tensor::<2>::from_data([one[0], other[0]], &device());
    let at_once = NamedGradients::collect(&layer, layer.forward(both).square().mean().backward());
    for (a, b) in flat(&sum).iter().zip(flat(&at_once)) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
    assert!(sum.get("weight").is_some() && sum.get("nobody").is_none());
}

#[test]
fn a_parameter_without_gradient_stays() {
    let mut layer = line();
    layer.weight = layer.weight.set_require_grad(false);
    let before = params::state_dict(&layer).unwrap();
    let gradients = gradients_of(&layer, [[1.0, 1.0, 1.0]]);
    let after = AdamW::new(AdamWConfig::default()).step(layer, gradients, 0.1);
    let after = params::state_dict(&after).unwrap();
    assert_eq!(after["weight"], before["weight"]);
    assert_ne!(after["bias"], before["bias"]);
}

#[test]
fn a_stepped_module_goes_on_asking_for_gradients() {
    let checkpointing = device().autodiff().gradient_checkpointing();
    let mut layer = Linear::new(&Init::new(1, &checkpointing), 3, 2, true);
    let mut optimizer = AdamW::new(AdamWConfig::default());
    for _ in 0..2 {
        let gradients = gradients_of(&layer, [[1.0, 2.0, 3.0]]);
        assert_eq!(gradients.iter().count(), 2);
        layer = optimizer.step(layer, gradients, 0.1);
    }
}

#[test]
fn damaged_states_are_refused() {
    let layer = line();
    let gradients = gradients_of(&layer, [[1.0, 2.0, 3.0]]);
    let mut optimizer = AdamW::new(AdamWConfig::default());
    let _stepped = optimizer.step(layer, gradients, 0.1);
    let whole = optimizer.state_dict().unwrap();
    let refusal = |edit: &dyn Fn(&mut StateDict)| -> String {
        let mut state = whole.clone();
        edit(&mut state);
        let read = AdamW::from_state(
            AdamWConfig::default(),
            state.keys().map(String::as_str),
            &state,
            &device(),
        );
        read.map(|_| ()).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refusal(&|state| {
        state.remove("exp_avg_sq.bias");
    }));
    insta::assert_snapshot!(refusal(&|state| {
        state.remove("step.weight");
    }));
    insta::assert_snapshot!(refusal(&|state| {
        state.insert("weight".into(), TensorData::new(vec![1.0_f32], [1]));
    }));
    AdamW::from_state(AdamWConfig::default(), [], &StateDict::new(), &device()).unwrap();
}
