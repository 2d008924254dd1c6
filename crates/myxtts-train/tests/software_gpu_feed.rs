//! The feed's device stage on a real Vulkan device.
//!
//! Where no software rasteriser is installed the test says that it was
//! skipped; with `REQUIRE_SOFTWARE_GPUS=1`, as in CI, that is a failure.
#![allow(
    missing_docs,
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "test code"
)]

use std::sync::Arc;

use burn::tensor::Device;
use myxtts_audio::units::Samples;
use myxtts_data::schedule::{BucketShape, ConditioningSpec};
use myxtts_data::stage::HostBatch;
use myxtts_data::units::{Codes, Tokens};
use myxtts_device::discover::{discover, probe};
use myxtts_device::{Backend, PlanRequest, SoftwareGpus, open, plan};
use myxtts_model::dvae::{Dvae, DvaeConfig};
use myxtts_model::init::Init;
use myxtts_train::feed::{DeviceFeed, Filled, FrontEnd, ShapeWatch};

const SMALL: DvaeConfig = DvaeConfig {
    hidden: 16,
    codes: 32,
    codebook_dim: 16,
    ..DvaeConfig::TINY
};
const CONDITIONING: ConditioningSpec = ConditioningSpec {
    min: Samples(4096),
    max: Samples(8192),
};

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

/// Conditioning values and shapes of a batch of empty rows.
fn silent_batch(device: &Device) -> (Vec<f32>, [usize; 2], [usize; 3]) {
    let dvae = Dvae::new(&Init::new(3, device), &SMALL).unwrap();
    let watch = Arc::new(ShapeWatch::default());
    let mut feed = DeviceFeed::new(device, dvae, &FrontEnd::XTTS, true, watch.clone()).unwrap();
    let shape = BucketShape {
        text: Tokens(5),
        audio: Codes(6),
    };
    let empty = HostBatch::for_shape(shape, 2, CONDITIONING);
    let batch = feed.batch(&Filled::new(empty)).unwrap();
    assert_eq!(watch.shapes().len(), 1);
    let codes: Vec<i64> = batch.codes_bm.clone().into_data().iter().collect();
    assert_eq!(codes, vec![0; 12], "an empty row is all padding");
    let shapes = (batch.codes_bm.dims(), batch.conditioning_bcs.dims());
    let conditioning = batch.conditioning_bcs.into_data().iter().collect();
    (conditioning, shapes.0, shapes.1)
}

#[test]
fn a_batch_has_the_shapes_and_the_mel_it_has_on_the_cpu() {
    let Some(gpu) = software_gpu() else { return };
    let (ours, codes, mel) = silent_batch(&gpu);
    let (theirs, codes_cpu, mel_cpu) = silent_batch(&Device::flex());
    assert_eq!((codes, mel), (codes_cpu, mel_cpu));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!((ours - theirs).abs() < 1e-3, "{ours} {theirs}");
    }
}
