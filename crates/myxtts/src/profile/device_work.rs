//! What a step needs of the devices: kernels, bytes, waits.

use std::fmt;

use myxtts_doctor::Signal;
use myxtts_pipeline::PipelineStage;
use myxtts_profile::Profile;
use myxtts_train::probe::Probe;
use serde::Serialize;

/// The number of kernels that are listed.
const TOP: usize = 8;

/// The work of one step, over all devices.
#[derive(Debug, Serialize)]
pub(super) struct DeviceWork {
    /// The number of kernels launched.
    kernels_per_step: Signal<f64>,
    /// The kernels with the most device time, from steps in which each was timed alone.
    top_kernels: Signal<Vec<TopKernel>>,
    /// The number of times the training thread waits for its device.
    syncs_per_step: f64,
    /// The most bytes that the host stage hands to the data device: cached codes are not
    /// computed from the waves that come with them.
    host_bytes_per_step: f64,
    /// Bytes of the batches that the model is given.
    batch_bytes_per_step: f64,
    /// Bytes carried from the data device to the model devices.
    hop_bytes_per_step: f64,
}

#[derive(Debug, Serialize)]
struct TopKernel {
    kernel: String,
    launches_per_step: f64,
    ms_per_step: f64,
    /// The share of the device time of all kernels, in percent.
    share_pct: f64,
}

impl DeviceWork {
    pub(super) fn of(
        probe: &Probe,
        timed: Option<&Probe>,
        profile: &Profile,
        is_gpu: bool,
    ) -> Self {
        let steps = probe.steps.len().max(1) as f64;
        let syncs: u64 = probe.steps.iter().map(|step| step.syncs).sum();
        let bytes = |stage: PipelineStage| {
            let stage = profile.stages.iter().find(|found| found.stage == stage);
            stage.map_or(0.0, |stage| stage.bytes as f64 / steps)
        };
        let launches = probe.launches.as_ref().map(|kernels| {
            let launches: u64 = kernels.iter().map(|kernel| kernel.launches).sum();
            launches as f64 / steps
        });
        let none = match is_gpu {
            true => "the engine did not report its launches",
            false => "the CPU launches no kernels",
        };
        Self {
            kernels_per_step: Signal::from_option(launches, none),
            top_kernels: top(timed, is_gpu),
            syncs_per_step: syncs as f64 / steps,
            host_bytes_per_step: bytes(PipelineStage::Host),
            batch_bytes_per_step: bytes(PipelineStage::Device),
            hop_bytes_per_step: bytes(PipelineStage::Hop),
        }
    }
}

fn top(timed: Option<&Probe>, is_gpu: bool) -> Signal<Vec<TopKernel>> {
    if !is_gpu {
        return Signal::unavailable("the CPU launches no kernels");
    }
    let Some(probe) = timed else {
        return Signal::unavailable(
            "kernels are timed one by one, and several model devices wait for each other meanwhile; \
             profile one GPU",
        );
    };
    let kernels = probe.launches.as_deref().unwrap_or_default();
    let (launches, timed) = kernels.iter().fold((0, 0), |(launches, timed), kernel| {
        (launches + kernel.launches, timed + kernel.timed)
    });
    if timed == 0 {
        return Signal::unavailable("the backend has no device timestamps");
    }
    if timed * 10 < launches * 9 {
        return Signal::unavailable(format!(
            "the device timed only {timed} of {launches} launches"
        ));
    }
    let steps = probe.steps.len().max(1) as f64;
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let all: f64 = kernels.iter().map(|kernel| ms(kernel.time)).sum();
    let top = kernels.iter().take(TOP).map(|kernel| TopKernel {
        kernel: kernel.kernel.clone(),
        launches_per_step: kernel.launches as f64 / steps,
        ms_per_step: ms(kernel.time) / steps,
        share_pct: 100.0 * ms(kernel.time) / all.max(1e-9),
    });
    Signal::Known(top.collect())
}

fn megabytes(bytes: f64) -> String {
    format!("{:.2} MB", bytes / 1e6)
}

impl fmt::Display for DeviceWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nper step")?;
        let mut line = |name: &str, value: String| writeln!(f, "  {name:<34} {value}");
        line(
            "waits for the device",
            format!("{:.1}", self.syncs_per_step),
        )?;
        line(
            "bytes from the host stage",
            megabytes(self.host_bytes_per_step),
        )?;
        line(
            "bytes of batches on the device",
            megabytes(self.batch_bytes_per_step),
        )?;
        if self.hop_bytes_per_step > 0.0 {
            line(
                "bytes carried between devices",
                megabytes(self.hop_bytes_per_step),
            )?;
        }
        let kernels = match &self.kernels_per_step {
            Signal::Known(kernels) => format!("{kernels:.0}"),
            missing => missing.to_string(),
        };
        line("kernels launched", kernels)?;
        let top = match &self.top_kernels {
            Signal::Known(top) => top,
            Signal::Unavailable { unavailable } => {
                return line("kernels by time", format!("unavailable: {unavailable}"));
            }
        };
        writeln!(
            f,
            "\n{:<36} {:>9} {:>9} {:>8}",
            "kernels by time, timed one by one", "launches", "ms", "share"
        )?;
        for kernel in top {
            writeln!(
                f,
                "  {:<34} {:>9.0} {:>9.2} {:>6.1} %",
                kernel.kernel, kernel.launches_per_step, kernel.ms_per_step, kernel.share_pct
            )?;
        }
        Ok(())
    }
}
