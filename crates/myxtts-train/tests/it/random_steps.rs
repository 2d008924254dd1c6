//! A run goes on at any step with the batches it would have had: whatever the
//! devices, whatever the number of workers.

use std::sync::Arc;

use burn::tensor::Device;
use myxtts_data::host_stage::HostFeed;
use myxtts_data::schedule::Schedule;
use myxtts_model::gpt::GptBatch;
use myxtts_model::init::mix;
use myxtts_pipeline::{Bounds, Ledger, Make, Pipeline, Ticket, Wiring};
use myxtts_train::feed::{DeviceFeed, FrontEnd, LargestBatch, RingBytes};
use myxtts_train::placement::DeviceHop;

use crate::feed::{Values, values};
use crate::small_stage::{clips, knobs, schedule};
use crate::world::{CONDITIONING, device, stage};

const RESUMES: u64 = 20;
const EPOCHS: u64 = 3;

/// Lanes, whether they share the data device, whether batches go on from it.
const WIRINGS: [(usize, bool, bool); 5] = [
    (1, true, false),
    (1, true, true),
    (2, false, false),
    (2, true, false),
    (2, true, true),
];

/// Batches of all lanes, one after the other, in one thread.
fn plain(schedule: &Arc<Schedule>, lanes: usize, steps: u64) -> Vec<Vec<Values>> {
    let host = HostFeed::new(stage(clips(), CONDITIONING), schedule.clone(), None).unwrap();
    let mut feed = device(None, Arc::default());
    let mut batch = |step, lane| {
        let filled = host.prepare(Ticket { step, lane }, None).unwrap();
        values(feed.batch(&filled).unwrap())
    };
    (0..steps)
        .map(|step| (0..lanes).map(|lane| batch(step, lane)).collect())
        .collect()
}

/// Two steps of a run that goes on at `first`.
fn resumed(
    schedule: &Arc<Schedule>,
    (lanes, shared_data_device, hop): (usize, bool, bool),
    workers: usize,
    first: u64,
) -> Vec<Vec<Values>> {
    let knobs = knobs(workers, lanes);
    let bounds = Bounds {
        least: knobs,
        most: knobs,
    };
    let largest = LargestBatch::of(schedule, CONDITIONING, &FrontEnd::XTTS.conditioning);
    let wiring = Wiring {
        lanes,
        shared_data_device,
    };
    let setup = largest.setup(
        wiring,
        first..first + 2,
        knobs,
        bounds,
        RingBytes::default(),
    );
    let host = HostFeed::new(stage(clips(), CONDITIONING), schedule.clone(), None).unwrap();
    let device_stage = |_| -> Make<DeviceFeed> { Box::new(|| Ok(device(None, Arc::default()))) };
    let device_stages = (0..if shared_data_device { 1 } else { lanes })
        .map(device_stage)
        .collect();
    let carry = |_| -> Make<DeviceHop<GptBatch>> { Box::new(|| Ok(DeviceHop::to(Device::flex()))) };
    let hops = (0..if hop { lanes } else { 0 }).map(carry).collect();
    let (pipeline, mut ends) =
        Pipeline::start(&setup, host, device_stages, hops, Ledger::in_memory()).unwrap();
    let mut seen = vec![];
    for step in first..first + 2 {
        let lanes = ends.iter_mut().map(|lane| {
            let delivered = lane.next().unwrap().unwrap();
            assert_eq!(delivered.step, step);
            values(delivered.batch.batch)
        });
        seen.push(lanes.collect());
    }
    for lane in &mut ends {
        assert!(lane.next().unwrap().is_none(), "a batch too many");
    }
    drop(ends);
    assert_eq!(pipeline.finish().failure, None);
    seen
}

#[test]
fn resumed_at_twenty_random_steps() {
    for wiring in WIRINGS {
        let lanes = wiring.0;
        let schedule = schedule(2, lanes as u32);
        let steps = EPOCHS * schedule.steps_per_epoch();
        let plain = plain(&schedule, lanes, steps);
        for workers in [1, 2, 8] {
            for resume in 0..RESUMES {
                let first = mix(resume ^ mix(workers as u64)) % (steps - 1);
                let from = usize::try_from(first).unwrap();
                let seen = resumed(&schedule, wiring, workers, first);
                assert!(
                    seen == plain[from..from + 2],
                    "{wiring:?}, {workers} workers, from step {first}"
                );
            }
        }
    }
}
