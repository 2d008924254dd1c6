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

use std::time::Instant;

use burn::tensor::{Device, Tensor};
use myxtts_audio::MelSpec;
use myxtts_device::discover::{discover, probe};
use myxtts_device::{PlanRequest, SoftwareGpus, open, plan};
use myxtts_model::dvae::{Dvae, DvaeConfig, Layer, MovingAverage, Reconstruction};
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

/// Results, with how far each may be off, as a share of its largest value.
type Results = Vec<(&'static str, f32, Vec<f32>)>;

fn read<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

fn draw<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Init::new(2, device).normal(shape, 0.1).val().detach()
}

fn mels(device: &Device) -> Results {
    let mel = |transform| {
        let front_end = DeviceMel::by(transform, MelSpec::DVAE, None, device).unwrap();
        read(front_end.forward(draw([2, 4_096], device)).unwrap())
    };
    vec![
        ("mel, FFT", 1e-3, mel(Transform::Fft)),
        ("mel, matrix", 1e-3, mel(Transform::Matrix)),
    ]
}

/// One training step. Every kernel is compiled for its shapes, so the model is
/// the smallest that has each kind of layer.
fn dvae(device: &Device) -> Results {
    let device = device.clone().autodiff();
    let sizes = DvaeConfig {
        channels: 8,
        hidden: 8,
        layers: 1,
        codes: 16,
        codebook_dim: 8,
        resnet_blocks: 1,
        ..DvaeConfig::RELEASED
    };
    let mel_bct = draw([2, 8, 16], &device);
    let dvae = Dvae::new(&Init::new(1, &device), &sizes).unwrap();
    let dvae = dvae.with_seeded_codebook(mel_bct.clone(), 3);
    let step = dvae.step(mel_bct, Reconstruction::Mse).unwrap();
    let loss = step.reconstruction_bct.clone().mean() + step.commitment.clone();
    let gradients = loss.backward();
    let Layer::Halve(first) = &dvae.encoder[0] else {
        panic!("the first layer halves");
    };
    let gradient = first._0.weight.val().grad(&gradients).unwrap();
    let codes = step.codes_n.clone().float().inner();
    let moved = dvae.with_moved_codebook(&step, MovingAverage::default());
    vec![
        ("codes", 0.0, read(codes)),
        ("loss", 1e-3, read(loss.inner())),
        ("gradient", 1e-3, read(gradient)),
        ("codebook", 1e-3, read(moved.codebook.embed.val().inner())),
    ]
}

fn waveform(device: &Device) -> Results {
    let sizes = HifiganConfig {
        channels: 16,
        upsample_rates: vec![8],
        upsample_kernels: vec![16],
        resblock_kernels: vec![3],
        resblock_dilations: vec![vec![3]],
        ..HifiganConfig::tiny(8, 8)
    };
    let decoder = HifiganDecoder::new(&Init::new(4, device), &sizes).unwrap();
    let wave = decoder.forward(draw([1, 3, 8], device), draw([1, 8, 1], device));
    vec![("waveform", 1e-2, read(wave))]
}

fn speaker(device: &Device) -> Results {
    let sizes = SpeakerConfig {
        bands: 16,
        filters: [8; 4],
        ..SpeakerConfig::TINY
    };
    let encoder = SpeakerEncoder::new(&Init::new(4, device), &sizes).unwrap();
    let voice = encoder.forward(draw([1, 16, 20], device));
    vec![("speaker", 1e-3, read(voice))]
}

/// The first of equal values, as a code is chosen.
fn ties(device: &Device) -> Results {
    let first = Tensor::<2>::ones([4, 30], device).argmin(1).float();
    vec![("ties", 0.0, read(first))]
}

#[test]
fn a_software_gpu_gives_the_cpus_numbers() {
    keep_autotune_quick();
    let Some(device) = software_gpu() else { return };
    for part in [mels, dvae, waveform, speaker, ties] {
        let start = Instant::now();
        for ((name, most, ours), (_, _, reference)) in
            part(&device).into_iter().zip(part(&Device::flex()))
        {
            assert_eq!(ours.len(), reference.len(), "{name}");
            let pairs = ours.iter().zip(&reference);
            let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            let scale = reference
                .iter()
                .fold(f32::MIN_POSITIVE, |m, x| m.max(x.abs()));
            let worst = worst / scale;
            let seconds = start.elapsed().as_secs_f64();
            eprintln!(
                "{name:<12} largest difference {worst:.2e} of {most:.0e} allowed, {seconds:.1} s"
            );
            let finite = ours.iter().all(|x| x.is_finite());
            assert!(worst <= most && finite, "{name}");
        }
    }
}
