//! What a training step costs on a card, with all that somebody else needs to believe it.
//!
//! The report of `myxtts bench gpu`: people who have a card run it and post what it prints. So
//! beside the profile of the steps it names the card, its driver, the program and the work, sets
//! the memory held against the plan's estimate, and says why a figure is missing.

use std::fmt;

use myxtts_base::MEGABYTE;
use myxtts_config::units::Megabytes;
use myxtts_device::{DeviceMemory, Machine, Plan, PlannedDevice};
use myxtts_doctor::{Signal, peak_flops};
use myxtts_model::ModelSize;
use myxtts_train::probe::Probe;
use serde::Serialize;

use super::Report;

/// The figures of a training step on the devices of a plan.
#[derive(Serialize)]
pub struct GpuReport {
    program: String,
    cards: Vec<Card>,
    work: Work,
    start: Start,
    speed: Speed,
    #[serde(flatten)]
    profile: Report,
}

/// A device that trains: what it is, and what it holds against what the plan foresaw.
#[derive(Debug, Serialize)]
struct Card {
    name: String,
    backend: &'static str,
    driver: Signal<String>,
    memory_mb: Signal<Megabytes>,
    /// What the engine's pools hold after the steps. They keep what they once had, so this is
    /// their peak; on the CPU, the peak of the process.
    held_mb: Signal<Megabytes>,
    /// The plan's estimate, without the copies for validation, which no measured step makes.
    predicted_mb: Signal<Megabytes>,
}

/// What was trained, and how.
#[derive(Debug, Serialize)]
struct Work {
    model: ModelSize,
    parameters: usize,
    gradient_accumulation_steps: u32,
    recompute: bool,
    moments: &'static str,
    /// Whether kernels were fused; `None` on the CPU.
    graph_mode: Option<bool>,
    /// The rows, text tokens and codes of every batch shape.
    shapes: Vec<[usize; 3]>,
    clips: usize,
    padding_pct: f64,
    /// The loss of the last step.
    loss: f32,
}

/// What a start costs.
#[derive(Debug, Serialize)]
struct Start {
    /// Seconds of loading and opening, until the model could start.
    ready_s: f64,
    /// Kernels compiled before the measured steps.
    kernels_before: usize,
    /// Kernels compiled during them: 0 where the warm-up saw every shape.
    kernels_during: usize,
}

/// What comes of a step.
#[derive(Debug, Serialize)]
struct Speed {
    audio_per_s: f64,
    clips_per_s: f64,
    /// Operations per second, by the model's own count.
    flop_per_s: Signal<f64>,
    /// The percentage of what the makers state for the cards: an estimate.
    flop_share_pct: Signal<f64>,
}

impl GpuReport {
    pub(super) fn new(
        size: ModelSize,
        machine: &Machine,
        plan: &Plan,
        probe: &Probe,
        flop: &Signal<f64>,
        profile: Report,
    ) -> Self {
        let cards = plan.model_devices.iter().enumerate();
        let cards = cards.map(|(index, device)| {
            let held = probe.device_bytes.get(index).copied().flatten();
            Card::of(machine, plan, device, held.or(probe.peak_rss_bytes))
        });
        Self {
            program: format!("myxtts {}", env!("CARGO_PKG_VERSION")),
            cards: cards.collect(),
            work: Work::of(size, plan, probe),
            start: Start {
                ready_s: probe.made_ready.as_secs_f64(),
                kernels_before: probe.kernels[0],
                kernels_during: probe.kernels[1],
            },
            speed: Speed::of(plan, probe, flop),
            profile,
        }
    }
}

impl Card {
    fn of(machine: &Machine, plan: &Plan, device: &PlannedDevice, held: Option<u64>) -> Self {
        let megabytes = |bytes: u64| Megabytes(bytes.div_ceil(MEGABYTE));
        let of_device = |memory: &&DeviceMemory| memory.logical == device.logical;
        let needs = plan.memory.iter().filter(of_device);
        let needs: Vec<u64> = needs
            .map(|memory| memory.needs.total().saturating_sub(memory.needs.copies))
            .collect();
        let predicted = (!needs.is_empty()).then(|| megabytes(needs.iter().sum()));
        let gpus = machine.backends.iter().flat_map(|backend| &backend.gpus);
        let mut same =
            gpus.filter(|gpu| gpu.backend == device.backend && gpu.id == device.physical);
        let driver = same.next().map(|gpu| gpu.driver.clone());
        Self {
            name: device.name.clone(),
            backend: device.backend.name(),
            driver: Signal::from_option(driver, "the device has none"),
            memory_mb: Signal::from_option(
                device.memory_budget_mb,
                "the driver does not report memory",
            ),
            held_mb: Signal::from_option(
                held.map(megabytes),
                "neither the engine nor the system reports it",
            ),
            predicted_mb: Signal::from_option(predicted, "the plan made no estimate"),
        }
    }

    /// Says what is held against what was foreseen.
    fn memory(&self) -> String {
        let of = match &self.memory_mb {
            Signal::Known(memory) => format!(" of {memory}"),
            Signal::Unavailable { .. } => String::new(),
        };
        match (&self.held_mb, &self.predicted_mb) {
            (Signal::Known(held), Signal::Known(predicted)) => format!(
                "{held}{of} held, {predicted} predicted ({:.2} x)",
                predicted.0 as f64 / held.0.max(1) as f64
            ),
            (Signal::Known(held), missing) => format!("{held}{of} held, predicted {missing}"),
            (missing, _) => format!("held {missing}"),
        }
    }
}

impl Work {
    fn of(size: ModelSize, plan: &Plan, probe: &Probe) -> Self {
        let shapes = probe.shapes.iter();
        let mut shapes: Vec<[usize; 3]> = shapes
            .map(|shapes| [shapes.rows, shapes.text, shapes.codes])
            .collect();
        shapes.sort_by_key(|[_, text, codes]| (*codes, *text));
        Self {
            model: size,
            parameters: probe.parameters,
            gradient_accumulation_steps: plan.gradient_accumulation_steps,
            recompute: plan.savings.recompute,
            moments: plan.savings.moments.name(),
            graph_mode: plan.graph_mode,
            shapes,
            clips: probe.clips,
            padding_pct: probe.padding_pct,
            loss: probe.loss,
        }
    }
}

impl Speed {
    fn of(plan: &Plan, probe: &Probe, flop: &Signal<f64>) -> Self {
        let steps = probe.steps.iter();
        let wall: f64 = steps.clone().map(|step| step.step.as_secs_f64()).sum();
        let wall = wall.max(1e-9);
        let flop_per_s = flop.clone().map(|flop| flop / probe.step_s().max(1e-9));
        let precision = plan.precision.name();
        let peaks = plan.model_devices.iter().map(|device| {
            let peak = peak_flops::of(&device.name)?;
            Some(peak.at(precision).0)
        });
        let share = match (&flop_per_s, peaks.sum::<Option<f64>>()) {
            (Signal::Known(flop), Some(peak)) => Signal::Known(100.0 * flop / peak.max(1.0)),
            (Signal::Known(_), None) => {
                Signal::unavailable("no figure of the maker's is known for this device")
            }
            (Signal::Unavailable { unavailable }, _) => Signal::unavailable(unavailable.clone()),
        };
        Self {
            audio_per_s: steps.clone().map(|step| step.audio.0).sum::<f64>() / wall,
            clips_per_s: steps.map(|step| step.clips as f64).sum::<f64>() / wall,
            flop_per_s,
            flop_share_pct: share,
        }
    }
}

impl fmt::Display for GpuReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            program,
            cards,
            work,
            start,
            speed,
            profile,
        } = self;
        writeln!(f, "{program}")?;
        for card in cards {
            writeln!(
                f,
                "{} by {}, driver {}",
                card.name, card.backend, card.driver
            )?;
            writeln!(f, "  memory: {}", card.memory())?;
        }
        writeln!(
            f,
            "model {}: {} parameters; {} batches a step, moments in {}, blocks {}",
            work.model.name(),
            work.parameters,
            work.gradient_accumulation_steps,
            work.moments,
            match work.recompute {
                true => "computed again",
                false => "kept",
            }
        )?;
        writeln!(
            f,
            "  {} clips in {} shapes, {:.1} % padding, loss {:.4} at the last step",
            work.clips,
            work.shapes.len(),
            work.padding_pct,
            work.loss
        )?;
        writeln!(
            f,
            "start: ready after {:.1} s; {} kernels compiled before the measured steps, {} during them",
            start.ready_s, start.kernels_before, start.kernels_during
        )?;
        let tera = speed
            .flop_per_s
            .clone()
            .map(|flop| format!("{:.3} TFLOP/s", flop / 1e12));
        let share = speed.flop_share_pct.clone();
        let share = share.map(|share| format!("{share:.1} % of the maker's figure, an estimate"));
        writeln!(
            f,
            "speed: {:.2} s of audio and {:.2} clips per second; {tera}; share {share}\n",
            speed.audio_per_s, speed.clips_per_s
        )?;
        write!(f, "{profile}")
    }
}
