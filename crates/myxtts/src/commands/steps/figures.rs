//! What some measured steps say of a configuration.

use myxtts_device::Plan;
use myxtts_doctor::Signals;
use myxtts_pipeline::Stage;
use myxtts_train::probe::Probe;
use serde::{Deserialize, Serialize};

/// Steps of the GPT's stage, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepFigures {
    /// How many.
    pub(crate) steps: usize,
    /// Mean seconds of one, its waits included.
    pub(crate) step_s: f64,
    /// Seconds of sound trained on in a second: what configurations of
    /// different batches are compared by.
    pub(crate) audio_per_s: f64,
    /// Clips a second.
    pub(crate) clips_per_s: f64,
    /// Percent of the steps' time that the model waited for data.
    pub(crate) data_wait_pct: f64,
    /// Percent of it inside the averaging between replicas.
    pub(crate) averaging_pct: f64,
    /// Kernels that a step launches, on all devices; absent where none is a GPU.
    pub(crate) kernels_per_step: Option<f64>,
    /// Times that a step waits for the device.
    pub(crate) syncs_per_step: f64,
    /// Bytes of a step that go from the host to the data device, at most (codes that are
    /// cached are not computed from the waves that come with them), and from there to
    /// model devices.
    pub(crate) moved_bytes_per_step: f64,
    /// Percent of positions that are padding.
    pub(crate) padding_pct: f64,
    /// How the work was spread.
    pub(crate) strategy: String,
    /// Rows of the longest bucket, on each model device.
    pub(crate) batch_size: u32,
    /// Batches of a step.
    pub(crate) accumulation: u32,
    /// Model devices.
    pub(crate) replicas: u32,
    /// Host threads to begin with.
    pub(crate) workers: u32,
    /// Most batches on the device.
    pub(crate) ring: u32,
    /// What products are computed in.
    pub(crate) precision: String,
    /// Most memory of the process; absent where the system does not say.
    pub(crate) peak_rss_bytes: Option<u64>,
    /// Most memory that the engine holds on a model device at the end, on the CPU the
    /// process; absent where neither is known.
    pub(crate) device_bytes: Option<u64>,
    /// Rows, text tokens and codes of every batch shape.
    pub(crate) shapes: Vec<[usize; 3]>,
}

/// Figures, and what the doctor's models can say more of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
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
            ring: plan.device_prefetch,
            precision: plan.precision.name().to_owned(),
            peak_rss_bytes: probe.peak_rss_bytes,
            device_bytes: probe.device_bytes.iter().flatten().max().copied(),
            shapes,
        }
    }

    /// What the training holds of memory where that is short: on the device,
    /// or in the process where the device is the host.
    pub(crate) fn held_bytes(&self) -> Option<u64> {
        self.device_bytes.or(self.peak_rss_bytes)
    }
}

/// Of the batches of the measured steps, by their numbers: those that were made ahead
/// of them and those made for later ones do not count.
fn moved_bytes(probe: &Probe) -> f64 {
    let first = (probe.first_step() - 1) * probe.accumulation;
    let batches = first..first + probe.steps.len() as u64 * probe.accumulation;
    let moved = probe.entries.iter().filter(|entry| {
        matches!(entry.stage, Stage::Host | Stage::Hop) && batches.contains(&entry.step)
    });
    let bytes: u64 = moved.map(|entry| entry.bytes).sum();
    bytes as f64 / probe.steps.len().max(1) as f64
}
