//! A whole training on every placement, against the same on the CPU.

use std::sync::Arc;

use burn::tensor::Device;
use myxtts_device::discover::{discover, probe};
use myxtts_device::{PlanRequest, SoftwareGpus, plan};
use myxtts_run::observer::Silent;
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::session::run;

use crate::{mini, place, software};

/// Steps of the stage whose shapes are warmed up; what follows the first few
/// is launched otherwise than they are.
const GPT_STEPS: u64 = 8;
const STEPS: u64 = 2 * GPT_STEPS;

/// Kernels that may come after the warm-up where there are several devices.
///
/// Proven is that the warm-up meets every shape, that no kernel is new in its
/// last round, and that on one device none is afterwards. Not proven is that
/// none can be elsewhere: one was seen once, mirrored and beside other work.
/// Batches are whole before they are handed over (`DeviceFeed` waits for them),
/// so no step cuts short what a data thread has queued. But the engine writes
/// into a tensor's memory only while nobody else holds the tensor, and keeps
/// one store of fused kernels for all threads of a device: what it launches
/// depends on when another thread lets go, which is the scheduler's to say. A
/// kernel that is late for that reason costs one step its compilation, once,
/// and is told (`kernels after warm-up`). The faults that this test has caught
/// gave 8 or 16, in every run.
const LATE: u64 = 4;

fn losses(name: &str, placement: &Placement) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let mut job = mini::kept_in(&folder.path().join(name), &mini::job(folder.path()));
    job.config.training.run.max_steps = Some(GPT_STEPS);
    let finished = run(
        &job,
        placement,
        StopRequest::install().unwrap(),
        Arc::new(Silent),
    )
    .unwrap();
    assert_eq!(finished.steps, STEPS, "{name}");
    assert_eq!(finished.shapes_after_warmup, 0, "{name}");
    let late = finished.kernels_after_warmup;
    let allowed = match placement.data.len() + placement.models.len() {
        2 if !placement.has_hop => 0,
        _ => LATE,
    };
    assert!(late <= allowed, "{name}: {late} kernels after the warm-up");
    let log = std::fs::read_to_string(job.folder().join("train.log")).unwrap();
    assert!(log.contains("Model training starting now"), "{name}: {log}");
    // One bucket, met once where batches are made and twice where steps are taken;
    // then in rounds, the last of which found nothing new.
    let [data, models] = match placement.has_gpu() {
        true => [placement.data.len(), placement.models.len()],
        false => [0, 0],
    };
    let later = log.matches("round 2, 4 of 4: ").count();
    assert_eq!(later, models, "{name}: {log}");
    let met = log.matches("warm-up, ").count() - log.matches(": round ").count();
    assert_eq!(met, data + 2 * models, "{name}: {log}");
    // Once, and not for each of the two stages.
    let configured = "Multi-GPU configuration completed successfully";
    assert_eq!(
        log.matches(configured).count(),
        usize::from(placement.has_hop),
        "{name}: {log}"
    );
    mini::losses(&job.folder())
}

/// The same wiring, all of it on the CPU.
fn on_the_cpu(placement: &Placement) -> Placement {
    let cpu = |devices: &[Device]| vec![Device::flex(); devices.len()];
    Placement {
        data: cpu(&placement.data),
        models: cpu(&placement.models),
        ..placement.clone()
    }
}

/// Placements by name: software GPUs, those that may be used, the data GPU, the
/// model GPU, and whether replicas are allowed.
type Wanted = (
    &'static str,
    &'static str,
    Option<Vec<u32>>,
    Option<u32>,
    Option<u32>,
    bool,
);

/// So many replicas train, on GPUs of their own.
fn compare((name, gpus, visible_gpus, data_gpu, model_gpu, multi_gpu): Wanted, replicas: usize) {
    if software::planned().is_none() {
        return;
    }
    let _alone = place::COUNTED.lock();
    let mut request = PlanRequest::default();
    request.pipeline.data_gpu = data_gpu;
    request.pipeline.model_gpu = model_gpu;
    request.strategy.multi_gpu = multi_gpu;
    request.strategy.visible_gpus = visible_gpus;
    let machine = discover(SoftwareGpus::from_value(Some(gpus)).unwrap(), probe);
    let placement = Placement::of(&plan(&request, &machine).unwrap()).unwrap();
    assert_eq!(placement.models.len(), replicas, "{name}");
    let ours = losses(name, &placement);
    let theirs = losses(name, &on_the_cpu(&placement));
    assert_eq!([ours.len(), theirs.len()], [STEPS as usize; 2]);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let off = (ours - theirs).abs() / theirs.abs();
        assert!(off < 0.02, "{name}: {ours} on GPUs, {theirs} on the CPU");
    }
}

#[test]
fn one_device_trains_as_the_cpu_does() {
    compare(("one", "1", None, None, None, false), 1);
}

#[test]
fn split_trains_as_the_cpu_does() {
    compare(("split", "2", None, Some(1), Some(0), false), 1);
}

#[test]
fn mirrored_trains_as_the_cpu_does() {
    // `--visible-gpus 0,2`: two of the three that are there.
    compare(("mirrored", "3", Some(vec![0, 2]), None, None, true), 2);
}

#[test]
fn split_and_mirrored_trains_as_the_cpu_does() {
    compare(("split_mirrored", "3", None, Some(2), None, true), 2);
}
