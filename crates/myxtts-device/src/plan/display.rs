//! The plan as a person reads it. People know the quoted lines from scripts and
//! notes, so they never change.

use std::fmt;

use myxtts_config::units::Megabytes;

use super::{ClipsPerStep, DeviceMemory, Mode, Plan, PlannedDevice, Verdict};
use crate::config::MomentBits;
use crate::machine::Backend;

impl PlannedDevice {
    /// Returns `GPU 1`, or `CPU`.
    pub fn label(&self) -> String {
        match self.backend {
            Backend::Cpu => "CPU".to_owned(),
            _ => format!("GPU {}", self.physical),
        }
    }

    fn described(&self) -> String {
        match self.backend {
            Backend::Cpu => format!("CPU ({})", self.name),
            backend => format!("{} ({}, {backend})", self.physical, self.name),
        }
    }

    fn budget(&self) -> String {
        let budget = self.memory_budget_mb.map_or_else(
            || "unknown (the driver does not report memory)".to_owned(),
            |budget: Megabytes| budget.to_string(),
        );
        format!("{}: {budget}", self.label())
    }
}

impl Plan {
    /// Returns the line that names the mode.
    fn mode_line(&self) -> &'static str {
        match self.mode {
            Mode::SingleGpuBuffered => "Intelligent GPU Pipeline: Single-GPU Buffered Mode",
            Mode::MultiGpu => "Intelligent GPU Pipeline: Multi-GPU Mode",
        }
    }

    /// Returns every device of the plan once, by logical number.
    pub fn devices(&self) -> Vec<&PlannedDevice> {
        let data = std::iter::once(&self.data_device).filter(|data| {
            self.model_devices
                .iter()
                .all(|model| model.logical != data.logical)
        });
        data.chain(&self.model_devices).collect()
    }

    fn map(&self) -> String {
        let devices = self.devices();
        let pairs = devices
            .iter()
            .map(|d| format!("{} -> {}", d.physical, d.logical));
        pairs.collect::<Vec<_>>().join(", ")
    }

    fn batch(&self) -> String {
        let rows = match self.batch_size {
            1 => "1 clip".to_owned(),
            rows => format!("{rows} clips"),
        };
        let longest = match self.longest {
            Some(longest) => format!(
                " of the greatest length ({} text tokens, {} mel frames)",
                longest.text, longest.mel_frames
            ),
            None => " of the greatest length".to_owned(),
        };
        let replicas = match self.model_devices.len() {
            1 => "1 replica".to_owned(),
            n => format!("{n} replicas"),
        };
        format!(
            "{rows}{longest}, more of shorter ones, x {} accumulated x {replicas}",
            self.gradient_accumulation_steps
        )
    }

    /// Describes the clips per step as they will be where the clips are known,
    /// and otherwise what is known without them.
    fn clips(&self) -> String {
        match self.clips_per_step {
            Some(ClipsPerStep { least, most, mean }) => {
                format!("{mean:.1} on average, {least} to {most}")
            }
            None => format!(
                "{} if all are of the greatest length, more if they are shorter; the average \
                 is known once the dataset is prepared",
                self.rows_per_step
            ),
        }
    }

    fn budgets(&self) -> String {
        let shared = self.devices().len() == self.model_devices.len();
        let models: Vec<String> = self
            .model_devices
            .iter()
            .map(PlannedDevice::budget)
            .collect();
        match (self.memory_isolation, shared) {
            (true, true) => {
                let data = self
                    .data_device
                    .memory_budget_mb
                    .map_or(0, |budget| budget.0);
                format!(
                    "{} for the model, {data} MB for data work (hard)",
                    models.join(", ")
                )
            }
            (true, false) => {
                format!(
                    "{}, {} (hard)",
                    self.data_device.budget(),
                    models.join(", ")
                )
            }
            (false, _) => {
                let all: Vec<String> = self.devices().iter().map(|d| d.budget()).collect();
                format!("{} (no isolation)", all.join(", "))
            }
        }
    }
}

/// The parts of it, from top to bottom.
impl Plan {
    fn write_devices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.data_device.backend == Backend::Cpu {
            "device"
        } else {
            "GPU"
        };
        let models: Vec<String> = self
            .model_devices
            .iter()
            .map(PlannedDevice::described)
            .collect();
        writeln!(
            f,
            "  Data processing {noun}: {}",
            self.data_device.described()
        )?;
        writeln!(f, "  Model training {noun}: {}", models.join(", "))?;
        writeln!(f, "  Physical-to-logical map: {}", self.map())
    }

    fn write_buffers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  Buffer size: {} batches in flight, all stages together{}; at most {} in host memory",
            self.in_flight,
            begun(self.in_flight_start, self.in_flight),
            self.buffer_mb
        )?;
        let whose = match self.devices().len() {
            1 => "the device",
            _ => "each GPU",
        };
        match self.ring_depth {
            0 => writeln!(f, "  Prefetch target: none on the device"),
            n => writeln!(
                f,
                "  Prefetch target: {n} batches on {whose}{}",
                begun(self.ring_depth_start, n)
            ),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for given_up in &self.given_up {
            writeln!(f, "Fallback: {given_up}")?;
        }
        for notice in &self.notices {
            writeln!(f, "Notice: {notice}")?;
        }
        for line in &self.strategy_lines {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "{}", self.mode_line())?;
        self.write_devices(f)?;
        self.write_buffers(f)?;
        writeln!(f, "  Memory budgets: {}", self.budgets())?;
        for memory in &self.memory {
            writeln!(f, "{}", memory_line(memory))?;
            writeln!(f, "    {}", memory.needs)?;
        }
        writeln!(f, "  Batch: {}", self.batch())?;
        writeln!(f, "  Clips per step: {}", self.clips())?;
        writeln!(f, "  Workers: {}", self.workers)?;
        writeln!(f, "  Precision: {}", self.precision.name())?;
        if self.savings.recompute {
            writeln!(f, "  Recomputation: the GPT's blocks, on the way back")?;
        }
        if self.savings.moments != MomentBits::F32 {
            writeln!(f, "  Optimizer moments: {}", self.savings.moments.name())?;
        }
        if self.savings.adapters > 0 {
            let rank = self.savings.adapters;
            writeln!(
                f,
                "  Adapters: of rank {rank}; the GPT's weights are frozen"
            )?;
        }
        writeln!(f, "  Static shapes: {}", on_off(self.static_shapes))?;
        let fusion = self.graph_mode.map_or("none on the CPU", on_off);
        writeln!(f, "  Kernel fusion: {fusion}")?;
        if self.mode == Mode::MultiGpu {
            writeln!(
                f,
                "  Model start: when the buffer is ready, after {} s at most",
                self.model_start_delay.0
            )?;
        }
        writeln!(f, "Why:")?;
        for reason in &self.reasons {
            writeln!(f, "  - {reason}")?;
        }
        Ok(())
    }
}

/// Describes the start value, where it is less than the most.
fn begun(start: u32, most: u32) -> String {
    match start < most {
        true => format!(" ({start} to begin with)"),
        false => String::new(),
    }
}

fn memory_line(memory: &DeviceMemory) -> String {
    let verdict = match (memory.verdict, memory.memory_mb) {
        (Verdict::Unknown, _) | (_, None) => {
            "and the driver does not report how much there is".to_owned()
        }
        (Verdict::Fits, Some(_)) => format!("of {}: fits", memory.found()),
        (Verdict::TooLarge, Some(_)) => format!("of {}: TOO LARGE", memory.found()),
    };
    format!(
        "  Memory estimate, {}, {}: {} {verdict}",
        memory.device,
        memory.work(),
        memory.needed_mb
    )
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
