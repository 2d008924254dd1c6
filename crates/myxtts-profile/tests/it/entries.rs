//! A ledger by the hand of a simple machine: times are known exactly.

use myxtts_pipeline::{Entry, PipelineStage};

/// An entry of these times, in microseconds.
pub(crate) fn entry(
    stage: PipelineStage,
    worker: usize,
    step: u64,
    at_us: u64,
    times: [u64; 3],
) -> Entry {
    let [wait_in_us, busy_us, wait_out_us] = times;
    Entry {
        at_us,
        wait_in_us,
        busy_us,
        wait_out_us,
        bytes: 1000,
        ..Entry::new(stage, worker, step, 0)
    }
}

/// One worker, one data device, one model, rings of `room` batches: when each
/// batch is worked on follows from what each stage takes.
pub(crate) fn machine(steps: u64, [host, device, model]: [u64; 3], room: usize) -> Vec<Entry> {
    let mut entries = vec![];
    // When the batch before left each stage, and when batches were taken.
    let (mut host_free, mut device_free, mut model_free) = (0, 0, 0);
    let (mut device_took, mut model_took) = (vec![], vec![]);
    let room_at = |took: &[u64], step: usize| match step.checked_sub(room) {
        Some(before) => took.get(before).copied().unwrap_or(0),
        None => 0,
    };
    for step in 0..steps {
        let index = step as usize;
        let made = host_free + host;
        let put = made.max(room_at(&device_took, index));
        entries.push(entry(
            PipelineStage::Host,
            0,
            step,
            put,
            [0, host, put - made],
        ));
        host_free = put;

        let begin = device_free.max(put);
        device_took.push(begin);
        let made = begin + device;
        let on_device = made.max(room_at(&model_took, index));
        let waited = begin - device_free;
        let times = [waited, device, on_device - made];
        entries.push(entry(PipelineStage::Device, 0, step, on_device, times));
        device_free = on_device;

        let begin = model_free.max(on_device);
        model_took.push(begin);
        let done = begin + model;
        let times = [begin - model_free, model, 0];
        entries.push(entry(PipelineStage::Model, 0, step, done, times));
        model_free = done;
    }
    entries
}
