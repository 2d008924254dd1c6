//! Gradients, clipping and AdamW.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use myxtts_model::gpt::{Gpt, GptBatch, Quirks};
use myxtts_model::init::Init;
use myxtts_model::layers::Linear;
use myxtts_model::params::{self, StateDict};
use myxtts_train::optim::{AdamW, AdamWConfig, NamedGradients, decay_groups};

use crate::fixtures::{sets, values};
use crate::gpt_fixture::{batch, gpt, norm, number, training_gpt};

const LOSS: f64 = 1e-4;
const PARAMETERS: f64 = 1e-4;

fn device() -> Device {
    Device::flex()
}

fn loss(gpt: &Gpt, batch: &GptBatch) -> Tensor<1> {
    let output = gpt.forward(batch, Quirks::Compat, None).unwrap();
    output.losses(0.0).total(0.01, 1.0)
}

fn names(value: &serde_json::Value) -> Vec<String> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn decay_groups_are_the_reference_s() {
    for set in sets() {
        let mut groups = decay_groups(&gpt(&set, &device()));
        groups.decayed.sort();
        groups.kept.sort();
        let expected = &set.manifest["gpt"]["adamw"];
        assert_eq!(groups.decayed, names(&expected["decayed"]));
        assert_eq!(groups.kept, names(&expected["not_decayed"]));
    }
}

#[test]
fn three_steps() {
    for set in sets() {
        let file = set.file("fx_gpt");
        let expected = &set.manifest["gpt"]["adamw"];
        let config = AdamWConfig {
            beta_1: expected["betas"][0].as_f64().unwrap(),
            beta_2: expected["betas"][1].as_f64().unwrap(),
            epsilon: number(expected, "eps"),
            weight_decay: number(expected, "weight_decay"),
        };
        assert_eq!(config, AdamWConfig::default());
        let rate = number(expected, "lr");
        let losses = expected["losses_before_each_step_then_final"]
            .as_array()
            .unwrap();
        let batch = batch(&set, &file, &device());
        let mut gpt = training_gpt(&set, &device());
        let mut optimiser = AdamW::new(config);
        for (step, reference) in losses.iter().enumerate() {
            let loss = loss(&gpt, &batch);
            let ours = f64::from(loss.clone().into_scalar::<f32>());
            let what = format!("adamw loss before step {step}");
            set.compare_number(&what, ours, reference.as_f64().unwrap(), LOSS);
            if step + 1 == losses.len() {
                break;
            }
            let gradients = NamedGradients::collect(&gpt, loss.backward());
            gpt = optimiser.step(gpt, gradients, rate);
            // Through the host and back, as a checkpoint does.
            let state = optimiser.state_dict();
            optimiser = AdamW::from_state(config, &state, &device().autodiff()).unwrap();
        }
        let after = params::state_dict(&gpt);
        let host = |name: &str| after[name].clone().try_into_vec::<f32>().unwrap();
        for (name, reference) in expected["param_norms_after"].as_object().unwrap() {
            set.compare_number(
                &format!("adamw |{name}|"),
                norm(&host(name)),
                reference.as_f64().unwrap(),
                PARAMETERS,
            );
        }
        let stored = file.state_dict();
        for name in stored.keys().filter_map(|key| key.strip_prefix("adamw3.")) {
            let reference = file.floats(&format!("adamw3.{name}"));
            set.compare_norms(
                &format!("adamw {name}"),
                &host(name),
                &reference,
                PARAMETERS,
            );
        }
    }
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
    let before = params::state_dict(&layer);
    let gradients = gradients_of(&layer, [[1.0, 1.0, 1.0]]);
    let after = AdamW::new(AdamWConfig::default()).step(layer, gradients, 0.1);
    let after = params::state_dict(&after);
    assert_eq!(after["weight"], before["weight"]);
    assert_ne!(after["bias"], before["bias"]);
}

#[test]
fn a_stepped_module_goes_on_asking_for_gradients() {
    let checkpointing = device().autodiff().gradient_checkpointing();
    let mut layer = Linear::new(&Init::new(1, &checkpointing), 3, 2, true);
    let mut optimiser = AdamW::new(AdamWConfig::default());
    for _ in 0..2 {
        let gradients = gradients_of(&layer, [[1.0, 2.0, 3.0]]);
        assert_eq!(gradients.iter().count(), 2);
        layer = optimiser.step(layer, gradients, 0.1);
    }
}

#[test]
fn damaged_states_are_refused() {
    let layer = line();
    let gradients = gradients_of(&layer, [[1.0, 2.0, 3.0]]);
    let mut optimiser = AdamW::new(AdamWConfig::default());
    let _stepped = optimiser.step(layer, gradients, 0.1);
    let whole = optimiser.state_dict();
    let refusal = |edit: &dyn Fn(&mut StateDict)| -> String {
        let mut state = whole.clone();
        edit(&mut state);
        let read = AdamW::from_state(AdamWConfig::default(), &state, &device());
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
    AdamW::from_state(AdamWConfig::default(), &StateDict::new(), &device()).unwrap();
}
