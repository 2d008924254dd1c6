//! The probe: real steps on every placement, and faults that show where they are.

use std::time::Duration;

use burn::tensor::Device;
use myxtts_data::config::CacheKind;
use myxtts_pipeline::{Entry, PipelineStage};
use myxtts_train::faults::{Faults, StepFaults};
use myxtts_train::placement::Placement;
use myxtts_train::probe::{BatchSource, Probe, ProbeCodes, ProbeRequest, probe};
use myxtts_train::session::TrainRequest;

use crate::mini;
use crate::small_stage::{mirrored, one, split};

const STEPS: u64 = 6;

fn request() -> ProbeRequest {
    ProbeRequest {
        warm_up_steps: 1,
        steps: STEPS,
        ..ProbeRequest::default()
    }
}

fn with(faults: Faults) -> ProbeRequest {
    ProbeRequest {
        faults,
        ..request()
    }
}

fn sum<'a>(probe: &'a Probe, stage: PipelineStage, part: impl Fn(&Entry) -> u64 + 'a) -> Duration {
    let entries = probe.entries.iter().filter(|entry| entry.stage == stage);
    Duration::from_micros(entries.map(part).sum())
}

#[test]
fn steps_are_measured_on_every_placement() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    for (name, placement) in [
        ("single", one()),
        ("split", split()),
        ("mirrored", mirrored()),
    ] {
        let live = probe(&job, &placement, &request()).unwrap();
        assert_eq!(live.steps.len() as u64, STEPS, "{name}");
        let numbers: Vec<u64> = live.steps.iter().map(|step| step.number).collect();
        let first = live.first_step();
        assert_eq!(
            numbers,
            (first..first + STEPS).collect::<Vec<_>>(),
            "{name}"
        );
        // Steps and pauses are all the time there was.
        let steps: Duration = live.steps.iter().map(|step| step.step + step.pause).sum();
        let part = steps.as_secs_f64() / live.wall.as_secs_f64();
        assert!((0.98..=1.001).contains(&part), "{name}: {part}");
        assert!(live.steps.iter().all(|step| step.clips > 0), "{name}");
        assert_eq!(live.new_shapes, [], "{name}");
        let has = |stage| live.entries.iter().any(|entry| entry.stage == stage);
        assert!(
            has(PipelineStage::Host) && has(PipelineStage::Device) && has(PipelineStage::Model),
            "{name}"
        );
        assert_eq!(has(PipelineStage::Hop), placement.has_hop, "{name}");
        let replicas = if placement.models.len() > 1 { 2 } else { 0 };
        assert!(
            live.steps
                .iter()
                .all(|step| step.replicas.len() == replicas),
            "{name}"
        );

        let cached = ProbeRequest {
            keep: BatchSource::Cached,
            begin_at: first - 2,
            ..request()
        };
        let cached = probe(&job, &placement, &cached).unwrap();
        let same: Vec<u64> = cached.steps.iter().map(|step| step.number).collect();
        assert_eq!(same, numbers, "{name}");
        let waited: Duration = cached.steps.iter().map(|step| step.data_wait).sum();
        assert!(
            waited < cached.wall / 20,
            "{name}: {waited:?} of {:?}",
            cached.wall
        );
    }
}

#[test]
fn a_probe_ends_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    let request = ProbeRequest {
        steps: 1_000_000,
        at_most: Duration::from_millis(300),
        ..request()
    };
    let found = probe(&job, &one(), &request).unwrap();
    assert!(found.wall < Duration::from_secs(10), "{:?}", found.wall);
    assert!(!found.steps.is_empty());
    let request = ProbeRequest {
        warm_up_steps: 1_000_000,
        ..request
    };
    // Half of the time is kept for steps that count.
    let found = probe(&job, &one(), &request).unwrap();
    assert!(found.wall < Duration::from_secs(10), "{:?}", found.wall);
    assert!(!found.steps.is_empty());
}

/// Each delay is large beside everything else of its part.
#[test]
fn a_fault_shows_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    let mut made = job.clone();
    made.config.data.dataset.cache = CacheKind::None;
    let long = Duration::from_millis(30);
    let seen = |job: &TrainRequest, placement: &Placement, faults: Faults| {
        probe(job, placement, &with(faults)).unwrap()
    };
    let batches = |probe: &Probe, stage: PipelineStage| {
        let entries = probe.entries.iter().filter(|entry| entry.stage == stage);
        u32::try_from(entries.count()).unwrap()
    };

    let faults = Faults {
        read: long,
        ..Faults::default()
    };
    let slow = seen(&job, &one(), faults);
    let read = sum(&slow, PipelineStage::Host, |entry| entry.read_us.unwrap());
    // Two clips a batch.
    assert!(
        read >= 2 * long * batches(&slow, PipelineStage::Host),
        "{read:?}"
    );

    let faults = Faults {
        decodes: 100,
        ..Faults::default()
    };
    let slow = seen(&job, &one(), faults);
    let decode = sum(&slow, PipelineStage::Host, |entry| entry.decode_us.unwrap());
    let busy = sum(&slow, PipelineStage::Host, |entry| entry.busy_us);
    assert!(decode > busy / 2, "{decode:?} of {busy:?}");

    let faults = Faults {
        upload: long,
        ..Faults::default()
    };
    let slow = seen(&job, &one(), faults);
    let upload = sum(&slow, PipelineStage::Device, |entry| {
        entry.upload_us.unwrap()
    });
    assert!(
        upload >= long * batches(&slow, PipelineStage::Device),
        "{upload:?}"
    );

    let faults = Faults {
        encode: long,
        ..Faults::default()
    };
    let slow = seen(&made, &one(), faults.clone());
    let busy = sum(&slow, PipelineStage::Device, |entry| entry.busy_us);
    assert!(
        busy >= long * batches(&slow, PipelineStage::Device),
        "{busy:?}"
    );
    // Codes that are kept are not made again.
    let kept = seen(&job, &one(), faults);
    let busy = sum(&kept, PipelineStage::Device, |entry| entry.busy_us);
    assert!(
        busy < long * batches(&kept, PipelineStage::Device),
        "{busy:?}"
    );

    let straggler = StepFaults {
        straggler: Some((1, 4 * long)),
        ..StepFaults::default()
    };
    let faults = Faults {
        step: straggler,
        ..Faults::default()
    };
    let slow = seen(&job, &mirrored(), faults);
    let of = |rank: usize| -> Duration {
        let own = slow.steps.iter().map(|step| step.replicas[rank]);
        own.sum::<Duration>() / u32::try_from(slow.steps.len()).unwrap()
    };
    assert!(of(1) >= of(0) + 2 * long, "{:?} {:?}", of(0), of(1));

    let reads = StepFaults {
        reads: 2,
        ..StepFaults::default()
    };
    let healthy = seen(&job, &one(), Faults::default());
    let slow = seen(
        &job,
        &one(),
        Faults {
            step: reads,
            ..Faults::default()
        },
    );
    assert_eq!(slow.steps[0].syncs, healthy.steps[0].syncs + 2);

    let slow = seen(
        &job,
        &one(),
        Faults {
            pause: Some((2, long)),
            ..Faults::default()
        },
    );
    let paused = slow.steps.iter().filter(|step| step.pause >= long).count();
    assert_eq!(paused as u64, STEPS / 2);
    assert!(
        slow.steps
            .iter()
            .all(|step| step.number.is_multiple_of(2) == (step.pause >= long))
    );
}

#[test]
fn an_epoch_may_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    let request = ProbeRequest {
        codes: ProbeCodes::AfterAnEpoch,
        ..request()
    };
    let found = probe(&job, &Placement::on(&Device::flex()), &request).unwrap();
    // Eight clips, two a batch.
    assert!(found.first_step() > 4, "{}", found.first_step());
    assert_eq!(found.clips, 8);
}
