//! A whole training on every placement, against the same on the CPU.

use burn::tensor::Device;
use myxtts_device::discover::{discover, probe};
use myxtts_device::{PlanRequest, SoftwareGpus, plan};
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::run::{Job, run};

use crate::{mini, software};

fn losses(name: &str, placement: &Placement) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let job = Job {
        run: folder.path().join(name),
        ..mini::job(folder.path())
    };
    let finished = run(&job, placement, StopRequest::install().unwrap()).unwrap();
    assert_eq!(finished.steps, 4, "{name}");
    assert_eq!(finished.shapes_after_warmup, 0, "{name}");
    let log = std::fs::read_to_string(job.run.join("train.log")).unwrap();
    assert!(log.contains("Model training starting now"), "{name}: {log}");
    assert_eq!(
        log.contains("Multi-GPU configuration completed successfully"),
        placement.has_hop,
        "{name}: {log}"
    );
    mini::losses(&job.run)
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

#[test]
fn every_placement_trains_as_the_cpu_does() {
    if software::planned().is_none() {
        return;
    }
    let machine = |gpus: &str| discover(SoftwareGpus::from_value(Some(gpus)).unwrap(), probe);
    let request = |data: Option<u32>, model: Option<u32>, multi_gpu: bool| {
        let mut request = PlanRequest::default();
        request.pipeline.data_gpu = data;
        request.pipeline.model_gpu = model;
        request.strategy.multi_gpu = multi_gpu;
        request
    };
    let placements = [
        ("one", "1", request(None, None, false)),
        ("split", "2", request(Some(1), Some(0), false)),
        ("mirrored", "2", request(None, None, true)),
        ("split_mirrored", "3", request(Some(2), None, true)),
    ];
    for (name, gpus, request) in placements {
        let planned = plan(&request, &machine(gpus)).unwrap();
        let placement = Placement::of(&planned).unwrap();
        let (ours, theirs) = (
            losses(name, &placement),
            losses(name, &on_the_cpu(&placement)),
        );
        assert_eq!(ours.len(), 4);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let off = (ours - theirs).abs() / theirs.abs();
            assert!(off < 0.02, "{name}: {ours} on GPUs, {theirs} on the CPU");
        }
    }
}
