//! Shows a run and the devices in a terminal, and only reads.

use std::thread;
use std::time::Duration;

use myxtts_device::telemetry::{HostTelemetry, PcieLink, Readings, SystemTelemetry, Telemetry};
use myxtts_device::{BackendChoice, Gpu, Machine, Reading};
use myxtts_monitor::{DeviceSample, HostSample, MachineSample, ReadMachine, WallTime};

pub use myxtts_monitor::{Ending, MonitorError, Once, is_capable, watch};

use crate::error::Error;
use crate::machine::this_machine;

/// How long the first reading of the processor takes: its load is what it did between two
/// readings.
const FIRST_LOOK: Duration = Duration::from_millis(200);

/// Returns a reader of this machine. Finding devices and loading drivers takes a while, so the
/// first reading does it.
pub fn devices() -> ReadMachine {
    let mut asked: Option<Asked> = None;
    Box::new(move || asked.get_or_insert_with(Asked::new).look())
}

struct Asked {
    machine: Result<Machine, Error>,
    telemetry: SystemTelemetry,
    host: HostTelemetry,
}

impl Asked {
    fn new() -> Self {
        let mut host = HostTelemetry::new();
        host.read();
        let asked = Self {
            machine: this_machine(),
            telemetry: SystemTelemetry::new(),
            host,
        };
        thread::sleep(FIRST_LOOK);
        asked
    }

    fn look(&mut self) -> MachineSample {
        let host = self.host.read();
        let gpus = self.machine.as_ref().map_or(&[][..], |machine| {
            // One backend: a card seen through two is still one card.
            machine.gpus(BackendChoice::Auto)
        });
        MachineSample {
            wall_time: WallTime::now(),
            host: HostSample {
                cpu_pct: known(host.cpu_percent, |share| share),
                memory_mb: known(host.memory_used_mb, |memory| memory.0 as f64),
                memory_total_mb: known(host.memory_total_mb, |memory| memory.0 as f64),
            },
            devices: gpus
                .iter()
                .map(|gpu| device(gpu, self.telemetry.read(gpu)))
                .collect(),
            note: self.why_no_gpu(),
        }
    }

    /// Returns what each backend said, if none has a GPU. Backends that are not built in are
    /// mentioned only if there is nothing else to say.
    fn why_no_gpu(&self) -> Option<String> {
        let machine = match &self.machine {
            Ok(machine) => machine,
            Err(why) => return Some(why.to_string()),
        };
        let reasons = machine.backends.iter().filter_map(|report| {
            let why = report.unavailable.as_ref()?;
            Some((why, format!("{}: {why}", report.backend)))
        });
        let (absent, asked): (Vec<_>, Vec<_>) =
            reasons.partition(|(why, _)| why.starts_with("not built in"));
        let said = if asked.is_empty() { absent } else { asked };
        let said: Vec<String> = said.into_iter().map(|(_, said)| said).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

fn device(gpu: &Gpu, now: Readings) -> DeviceSample {
    let same = |reading: Reading<f64>| known(reading, |value| value);
    let link = |part: fn(PcieLink) -> u32| known(now.pcie.clone(), |link| f64::from(part(link)));
    DeviceSample {
        device: gpu.id,
        name: gpu.name.clone(),
        pcie_gen: link(|link| link.generation),
        pcie_gen_max: link(|link| link.max_generation),
        pcie_width: link(|link| link.width),
        pcie_width_max: link(|link| link.max_width),
        utilisation_pct: same(now.busy_percent),
        memory_used_mb: known(now.memory_used_mb, |memory| memory.0 as f64),
        memory_total_mb: known(gpu.memory.clone(), |memory| memory.0 as f64),
        power_w: same(now.power_watts),
        power_limit_w: same(now.power_limit_watts),
        temperature_c: same(now.temperature_celsius),
        clock_mhz: same(now.clock_mhz),
        clock_max_mhz: same(now.clock_max_mhz),
        throttle: known(now.throttling, |reasons| reasons),
    }
}

fn known<T, U>(reading: Reading<T>, value: impl FnOnce(T) -> U) -> myxtts_monitor::Reading<U> {
    match reading {
        Reading::Value(read) => myxtts_monitor::Reading::Value(value(read)),
        Reading::Unavailable(why) => myxtts_monitor::Reading::unavailable(why),
    }
}
