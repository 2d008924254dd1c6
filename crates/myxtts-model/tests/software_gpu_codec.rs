//! The codec on a software GPU: the CPU's numbers, within ten times its tolerances.
//!
//! Where no software rasteriser is installed the test says that it was
//! skipped; with `REQUIRE_SOFTWARE_GPUS=1`, as in CI, that is a failure.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "test code"
)]

use burn::tensor::{Device, Tensor};
use myxtts_audio::MelSpec;
use myxtts_device::discover::{discover, probe};
use myxtts_device::{PlanRequest, SoftwareGpus, open, plan};
use myxtts_model::dvae::{Dvae, DvaeConfig, MovingAverage, Reconstruction};
use myxtts_model::hifigan::{HifiganConfig, HifiganDecoder};
use myxtts_model::init::Init;
use myxtts_model::mel::{DeviceMel, Transform};
use myxtts_model::speaker::{SpeakerConfig, SpeakerEncoder};

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

fn software_gpu() -> Option<Device> {
    let two = SoftwareGpus::from_value(Some("2")).unwrap();
    let machine = discover(two, probe);
    let mut request = PlanRequest::default();
    request.pipeline.data_gpu = Some(1);
    request.pipeline.model_gpu = Some(0);
    match plan(&request, &machine) {
        Ok(plan) => Some(open(&plan.model_devices[0]).unwrap()),
        Err(error) => {
            let required = std::env::var_os("REQUIRE_SOFTWARE_GPUS").is_some();
            assert!(!required, "software GPUs are required here: {error}");
            eprintln!("SKIPPED: no software GPU on this machine (Debian: mesa-vulkan-drivers)");
            None
        }
    }
}

/// Every result of a small codec, with how far it may be off.
fn work(device: &Device) -> Vec<(&'static str, f32, Vec<f32>)> {
    fn read<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_to_vec().unwrap()
    }
    let training = device.clone().autodiff();
    let init = Init::new(1, &training);
    let draw = |shape: [usize; 2]| Init::new(2, device).normal(shape, 0.1).val().detach();
    let wave = draw([2, 4_096]);
    let mel = |transform, spec| {
        let front_end = DeviceMel::by(transform, spec, None, device).unwrap();
        front_end.forward(wave.clone()).unwrap()
    };
    let mel_bct = mel(Transform::Fft, MelSpec::DVAE).narrow(2, 0, 16);
    let sizes = DvaeConfig {
        hidden: 8,
        codes: 16,
        codebook_dim: 8,
        resnet_blocks: 1,
        ..DvaeConfig::RELEASED
    };
    let trained_bct = Tensor::from_inner(mel_bct);
    let dvae = Dvae::new(&init, &sizes).unwrap();
    let dvae = dvae.with_seeded_codebook(trained_bct.clone(), 3);
    let step = dvae.step(trained_bct, Reconstruction::Mse).unwrap();
    let loss = step.reconstruction_bct.clone().mean() + step.commitment.clone();
    let gradients = loss.backward();
    let myxtts_model::dvae::Layer::Halve(first) = &dvae.encoder[0] else {
        panic!("the first layer halves");
    };
    let gradient = first._0.weight.val().grad(&gradients).unwrap();
    let codes = step.codes_n.clone().float().inner();
    let book = dvae.with_moved_codebook(&step, MovingAverage::default());
    let plain = Init::new(4, device);
    let sizes = HifiganConfig {
        channels: 16,
        ..HifiganConfig::tiny(8, 8)
    };
    let decoder = HifiganDecoder::new(&plain, &sizes).unwrap();
    let latents = draw([1, 3 * 8]).reshape([1, 3, 8]);
    let speaker = draw([1, 8]).reshape([1, 8, 1]);
    let spoken = decoder.forward(latents, speaker);
    let encoder = SpeakerEncoder::new(&plain, &SpeakerConfig::TINY).unwrap();
    let front_end = DeviceMel::new(MelSpec::SPEAKER, None, device).unwrap();
    let voice = encoder.embed(&front_end, wave.clone()).unwrap();
    vec![
        (
            "mel, FFT",
            1e-3,
            read(mel(Transform::Fft, MelSpec::CONDITIONING)),
        ),
        (
            "mel, matrix",
            1e-3,
            read(mel(Transform::Matrix, MelSpec::DVAE)),
        ),
        ("codes", 0.0, read(codes)),
        ("losses", 1e-3, read(loss.inner())),
        ("gradient", 1e-3, read(gradient)),
        ("codebook", 1e-3, read(book.codebook.embed.val().inner())),
        ("waveform", 1e-2, read(spoken)),
        ("speaker", 1e-3, read(voice)),
    ]
}

#[test]
fn a_software_gpu_gives_the_cpus_numbers() {
    keep_autotune_quick();
    let Some(device) = software_gpu() else { return };
    let expected = work(&Device::flex());
    for ((name, most, ours), (_, _, reference)) in work(&device).into_iter().zip(expected) {
        assert_eq!(ours.len(), reference.len(), "{name}");
        let pairs = ours.iter().zip(&reference);
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        eprintln!("{name:<12} largest difference {worst:.2e} of {most:.0e} allowed");
        assert!(
            worst <= most && ours.iter().all(|x| x.is_finite()),
            "{name}"
        );
    }
    // Ties: the first code, on the GPU as on the CPU.
    let rows = Tensor::<2>::ones([4, 3], &device);
    assert_eq!(
        rows.argmin(1).try_into_vec_as::<i64>().unwrap(),
        [0, 0, 0, 0]
    );
}
