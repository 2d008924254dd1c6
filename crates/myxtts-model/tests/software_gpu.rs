//! The GPT's numbers on a real Vulkan device.
//!
//! Where no software rasteriser is installed the test says that it was
//! skipped; with `REQUIRE_SOFTWARE_GPUS=1`, as in CI, that is a failure.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "test code"
)]

#[path = "it/fixtures.rs"]
mod fixtures;
#[path = "it/gpt_fixture.rs"]
mod gpt_fixture;

use burn::tensor::{Device, Tensor};
use myxtts_device::discover::{discover, probe};
use myxtts_device::{Backend, PlanRequest, SoftwareGpus, open, plan};
use myxtts_model::gpt::Quirks;

use fixtures::{Set, values};
use gpt_fixture::{batch, gradients, norm, number, training_gpt};

/// Ten times what the CPU is allowed.
const ACTIVATIONS: f64 = 1e-3;
const GRADIENTS: f64 = 1e-2;

fn software_gpu() -> Option<Device> {
    let one = SoftwareGpus::from_value(Some("1")).unwrap();
    match plan(&PlanRequest::default(), &discover(one, probe)) {
        Ok(plan) if plan.model_devices[0].backend != Backend::Cpu => {
            Some(open(&plan.model_devices[0]).unwrap())
        }
        other => {
            let required = std::env::var_os("REQUIRE_SOFTWARE_GPUS").is_some();
            let why = other.err().map(|error| error.to_string());
            assert!(!required, "a software GPU is required here: {why:?}");
            eprintln!("SKIPPED: no software GPU on this machine (Debian: mesa-vulkan-drivers)");
            None
        }
    }
}

/// Autotuning a software rasteriser takes minutes and chooses nothing better.
fn keep_autotune_quick() {
    // SAFETY: the only test of this file, before any other thread exists.
    #[expect(
        unsafe_code,
        reason = "the engine reads its settings from the environment"
    )]
    unsafe {
        std::env::set_var("CUBECL_AUTOTUNE_LEVEL", "minimal");
    }
}

/// A run may go on another device: the elements dropped are the same.
fn drops_like_the_cpu(device: &Device) {
    let drop = myxtts_ops::Dropout {
        probability: 0.1,
        key: u64::MAX - 5,
    };
    let [gpu, cpu] = [device.clone(), Device::flex()].map(|device| {
        let ones = Tensor::<2>::ones([7, 1001], &device);
        values(myxtts_ops::dropout(ones, &drop))
    });
    assert_eq!(gpu, cpu);
    assert!(gpu.contains(&0.0) && gpu.iter().any(|&x| x > 1.0));
}

#[test]
fn a_training_step_on_a_software_gpu() {
    keep_autotune_quick();
    let Some(device) = software_gpu() else {
        return;
    };
    drops_like_the_cpu(&device);
    for set in Set::all() {
        let file = set.tensors("fx_gpt");
        let gpt = training_gpt(&set, &device);
        let output = gpt
            .forward(&batch(&set, &file, &device), Quirks::Compat, None)
            .unwrap();
        let losses = output.losses(0.0);
        let mel_bvm = output.mel_logits_bmv.swap_dims(1, 2);
        for (name, ours) in [
            ("text_logits_b_t_v", values(&output.text_logits_btv)),
            ("mel_logits_b_v_t", values(&mel_bvm)),
        ] {
            set.relative(name, &ours, &file.values(name), ACTIVATIONS);
        }
        let expected = &set.manifest["gpt"]["nomask"];
        for (name, loss) in [("loss_text", &losses.text), ("loss_mel", &losses.mel)] {
            let ours = f64::from(loss.clone().into_scalar::<f32>());
            set.scalar(name, ours, number(expected, name), ACTIVATIONS);
        }
        let ours = gradients(&gpt, &losses);
        // All of them before failing: which ones differ says where the fault is.
        let norms = expected["grad_norms"].as_object().unwrap();
        let wrong: Vec<String> = norms
            .iter()
            .filter_map(|(name, reference)| {
                let reference = reference.as_f64().unwrap();
                let found = (norm(&ours[name]) - reference).abs() / reference;
                println!("{}: |grad {name}| {found:.2e}", set.name());
                (found > GRADIENTS).then(|| format!("{name} by {found:.1e}"))
            })
            .collect();
        assert!(wrong.is_empty(), "gradients differ: {wrong:#?}");
    }
}
