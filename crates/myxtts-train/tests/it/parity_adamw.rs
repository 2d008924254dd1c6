//! The optimizer against the reference's own numbers.

use burn::tensor::Tensor;
use myxtts_device::MomentBits;
use myxtts_model::gpt::{Gpt, GptBatch, Quirks};
use myxtts_model::params;
use myxtts_train::optim::{AdamW, AdamWConfig, NamedGradients};

use crate::fixtures::{Part, norm, scalar};
use crate::gpt_fixture::{batch, number, training_gpt};
use crate::place::cases;

const LOSS: f64 = 1e-4;
const PARAMETERS: f64 = 1e-4;

fn loss(gpt: &Gpt, batch: &GptBatch) -> Tensor<1> {
    let output = gpt.forward(batch, Quirks::Compat, None).unwrap();
    output.losses(0.0).total(0.01, 1.0)
}

#[test]
fn three_steps() {
    for (set, device) in cases(Part::Gpt) {
        let file = set.tensors("fx_gpt");
        let expected = &set.manifest["gpt"]["adamw"];
        let config = AdamWConfig {
            beta_1: expected["betas"][0].as_f64().unwrap(),
            beta_2: expected["betas"][1].as_f64().unwrap(),
            epsilon: number(expected, "eps"),
            weight_decay: number(expected, "weight_decay"),
            moments: MomentBits::F32,
        };
        assert_eq!(config, AdamWConfig::default());
        let rate = number(expected, "lr");
        let losses = expected["losses_before_each_step_then_final"]
            .as_array()
            .unwrap();
        let batch = batch(&set, &file, &device);
        let mut gpt = training_gpt(&set, &device);
        let mut optimizer = AdamW::new(config);
        for (step, reference) in losses.iter().enumerate() {
            let loss = loss(&gpt, &batch);
            let ours = scalar(loss.clone());
            let what = format!("adamw loss before step {step}");
            set.scalar(&what, ours, reference.as_f64().unwrap(), LOSS);
            if step + 1 == losses.len() {
                break;
            }
            let gradients = NamedGradients::collect(&gpt, loss.backward());
            gpt = optimizer.step(gpt, gradients, rate);
            // Through the host and back, as a checkpoint does.
            let state = optimizer.state_dict().unwrap();
            optimizer = AdamW::from_state(
                config,
                state.keys().map(String::as_str),
                &state,
                &device.clone().autodiff(),
            )
            .unwrap();
        }
        let after = params::state_dict(&gpt).unwrap();
        let host = |name: &str| after[name].clone().try_into_vec::<f32>().unwrap();
        for (name, reference) in expected["param_norms_after"].as_object().unwrap() {
            set.scalar(
                &format!("adamw |{name}|"),
                norm(&host(name)),
                reference.as_f64().unwrap(),
                PARAMETERS,
            );
        }
        let stored = &file.0;
        for name in stored.keys().filter_map(|key| key.strip_prefix("adamw3.")) {
            let reference = file.values(&format!("adamw3.{name}"));
            set.relative_norm(
                &format!("adamw {name}"),
                &host(name),
                &reference,
                PARAMETERS,
            );
        }
    }
}
