//! What a few measured steps say about a configuration.

use myxtts_device::Plan;
use myxtts_doctor::Signals;
use myxtts_pipeline::PipelineStage;
use myxtts_train::probe::Probe;
use serde::{Deserialize, Serialize};

/// The measured steps of the GPT stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepFigures {
    /// The number of steps.
    pub(crate) steps: usize,
    /// The mean seconds of a step, its waits included.
    pub(crate) step_s: f64,
    /// Seconds of audio trained on per second: configurations with different batches are
    /// compared by this.
    pub(crate) audio_per_s: f64,
    /// The clips trained on per second.
    pub(crate) clips_per_s: f64,
    /// The percentage of the steps' time that the model waited for data.
    pub(crate) data_wait_pct: f64,
    /// The percentage of it that was spent averaging between replicas.
    pub(crate) averaging_pct: f64,
    /// The kernels that a step launches on all devices; absent if none is a GPU.
    pub(crate) kernels_per_step: Option<f64>,
    /// The number of times that a step waits for the device.
    pub(crate) syncs_per_step: f64,
    /// The most bytes per step that go from the host to the data device (cached codes are not
    /// computed from the waves that come with them), and from there to the model devices.
    pub(crate) moved_bytes_per_step: f64,
    /// The percentage of positions that are padding.
    pub(crate) padding_pct: f64,
    /// The strategy by which the work was spread over devices.
    pub(crate) strategy: String,
    /// The rows of the longest bucket, on each model device.
    pub(crate) batch_size: u32,
    /// The batches per step.
    pub(crate) accumulation: u32,
    /// The number of model devices.
    pub(crate) replicas: u32,
    /// The number of host threads at the start.
    pub(crate) workers: u32,
    /// The largest number of batches on the device.
    pub(crate) ring: u32,
    /// The precision that products are computed in.
    pub(crate) precision: String,
    /// The peak memory of the process; absent if the system does not report it.
    pub(crate) peak_rss_bytes: Option<u64>,
    /// The most memory that the engine holds on a model device at the end, or the process on the
    /// CPU; absent if neither is known.
    pub(crate) device_bytes: Option<u64>,
    /// The rows, text tokens and codes of every batch shape.
    pub(crate) shapes: Vec<[usize; 3]>,
}

/// The figures, and the signals that the doctor's models use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub(crate) figures: StepFigures,
    pub(crate) signals: Signals,
}

impl StepFigures {
    pub(super) fn of(probe: &Probe, plan: &Plan) -> Self {
        let sum = |of: fn(&myxtts_train::probe::StepTiming) -> f64| -> f64 {
            probe.steps.iter().map(of).sum()
        };
        let wall = sum(|step| step.step.as_secs_f64()).max(1e-9);
        let mut shapes: Vec<[usize; 3]> = probe
            .shapes
            .iter()
            .map(|shapes| [shapes.rows, shapes.text, shapes.codes])
            .collect();
        shapes.sort_by_key(|[_, text, codes]| (*codes, *text));
        Self {
            steps: probe.steps.len(),
            step_s: probe.step_s(),
            audio_per_s: sum(|step| step.audio.0) / wall,
            clips_per_s: sum(|step| step.clips as f64) / wall,
            data_wait_pct: 100.0 * sum(|step| step.data_wait.as_secs_f64()) / wall,
            averaging_pct: 100.0 * sum(|step| step.collective.as_secs_f64()) / wall,
            kernels_per_step: probe.launches.as_ref().map(|kernels| {
                let launches: u64 = kernels.iter().map(|kernel| kernel.launches).sum();
                launches as f64 / probe.steps.len().max(1) as f64
            }),
            syncs_per_step: sum(|step| step.syncs as f64) / probe.steps.len().max(1) as f64,
            moved_bytes_per_step: moved_bytes(probe),
            padding_pct: probe.padding_pct,
            strategy: format!("{:?}", plan.strategy),
            batch_size: plan.batch_size,
            accumulation: plan.gradient_accumulation_steps,
            replicas: probe.replicas,
            workers: plan.workers,
            ring: plan.ring_depth,
            precision: plan.precision.name().to_owned(),
            peak_rss_bytes: probe.peak_rss_bytes,
            device_bytes: probe.device_bytes.iter().flatten().max().copied(),
            shapes,
        }
    }

    /// Returns the memory that the training holds where memory is short: on the device, or in
    /// the process if the device is the host.
    pub(crate) fn held_bytes(&self) -> Option<u64> {
        self.device_bytes.or(self.peak_rss_bytes)
    }
}

/// Returns the bytes moved for the batches of the measured steps, by their numbers: those made
/// ahead of them and those made for later ones do not count.
fn moved_bytes(probe: &Probe) -> f64 {
    let first = (probe.first_step() - 1) * probe.accumulation;
    let batches = first..first + probe.steps.len() as u64 * probe.accumulation;
    let moved = probe.entries.iter().filter(|entry| {
        matches!(entry.stage, PipelineStage::Host | PipelineStage::Hop)
            && batches.contains(&entry.step)
    });
    let bytes: u64 = moved.map(|entry| entry.bytes).sum();
    bytes as f64 / probe.steps.len().max(1) as f64
}

#[cfg(test)]
impl StepFigures {
    /// Figures of a configuration that trains on so many seconds of audio per second, for tests
    /// of what is made of them.
    pub(crate) fn sample(audio_per_s: f64) -> Self {
        Self {
            steps: 20,
            step_s: 10.0 / audio_per_s,
            audio_per_s,
            clips_per_s: audio_per_s / 3.0,
            data_wait_pct: 1.25,
            averaging_pct: 0.5,
            kernels_per_step: Some(812.0),
            syncs_per_step: 1.0,
            moved_bytes_per_step: 2.5e6,
            padding_pct: 4.0,
            strategy: "Cpu".to_owned(),
            batch_size: 8,
            accumulation: 1,
            replicas: 1,
            workers: 1,
            ring: 8,
            precision: "f32".to_owned(),
            peak_rss_bytes: None,
            device_bytes: None,
            shapes: vec![],
        }
    }
}
