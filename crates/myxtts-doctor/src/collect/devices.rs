//! Lines of `devices.jsonl`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Mean, Newest};
use crate::signal::Signal;
use crate::signals::{Clock, DeviceSignals, Memory, PcieLink, Signals, Throttled};
use crate::stats;
use crate::units::{Megabytes, Share};

/// The number of newest readings whose median is the latest memory.
const LATEST: usize = 5;

/// One line of `devices.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DeviceLine {
    /// When it was written, in seconds since 1970.
    pub wall_time: f64,
    /// What was read of the host.
    pub host: HostReading,
    /// What was read of the run's devices.
    pub devices: Vec<DeviceReading>,
}

/// What was read of the host.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HostReading {
    /// How busy all cores are, in percent.
    pub cpu_pct: Signal<f64>,
    /// The number of cores that the run may use.
    pub cores: Signal<u32>,
    /// Memory in use by all programs, in MB.
    pub memory_mb: Signal<f64>,
}

/// What was read of one device.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "`DeviceSignals` says what each field is")]
pub struct DeviceReading {
    pub device: u32,
    pub utilisation_pct: Signal<f64>,
    pub memory_used_mb: Signal<f64>,
    pub memory_total_mb: Signal<f64>,
    pub clock_mhz: Signal<f64>,
    pub clock_max_mhz: Signal<f64>,
    pub throttle: Signal<Vec<String>>,
    pub pcie_gen: Signal<u32>,
    pub pcie_gen_max: Signal<u32>,
    pub pcie_width: Signal<u32>,
    pub pcie_width_max: Signal<u32>,
}

/// All readings of the stage, folded.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceFold {
    cpu: Mean,
    cores: Option<u32>,
    devices: BTreeMap<u32, OneDevice>,
}

#[derive(Clone, Debug, Default)]
struct OneDevice {
    busy: Mean,
    memory: Newest,
    baseline: Option<f64>,
    peak: Option<f64>,
    total: Option<f64>,
    clock: Mean,
    max_clock: Option<f64>,
    /// Readings that told whether the device is throttled, and those that said so.
    throttle_readings: u64,
    throttled: u64,
    reasons: Vec<String>,
    link: Option<PcieLink>,
    /// Why each value could not be read: the newest reason.
    why: Whys,
}

#[derive(Clone, Debug, Default)]
struct Whys {
    busy: Option<String>,
    memory: Option<String>,
    clock: Option<String>,
    throttle: Option<String>,
    pcie: Option<String>,
}

impl DeviceFold {
    pub(super) fn add(&mut self, line: &DeviceLine) {
        self.cpu.add(line.host.cpu_pct.known().copied());
        self.cores = line.host.cores.known().copied().or(self.cores);
        for reading in &line.devices {
            self.devices.entry(reading.device).or_default().add(reading);
        }
    }

    pub(super) fn fill(&self, signals: &mut Signals) {
        const NONE: &str = "devices.jsonl has no reading of this stage";
        let busy = self.cpu.get().map(|percent| Share(percent / 100.0));
        if busy.is_some() || signals.machine.cpu_busy.known().is_none() {
            signals.machine.cpu_busy = Signal::from_option(busy, NONE);
        }
        if let Some(cores) = self.cores {
            signals.machine.cores = cores.into();
        }
        for device in &mut signals.devices {
            match self.devices.get(&device.logical) {
                Some(found) => found.fill(device),
                None if device.backend == "cpu" => {
                    let why = "the processor is read as the host, not as a device";
                    unread(device, why);
                }
                None => unread(device, NONE),
            }
        }
    }
}

fn unread(device: &mut DeviceSignals, why: &str) {
    device.busy = Signal::unavailable(why);
    device.memory = Signal::unavailable(why);
    device.throttled = Signal::unavailable(why);
    device.clock = Signal::unavailable(why);
    device.pcie = Signal::unavailable(why);
}

fn why<T>(signal: &Signal<T>) -> Option<String> {
    signal.need().err().map(|silent| silent.0)
}

impl OneDevice {
    fn add(&mut self, reading: &DeviceReading) {
        self.busy.add(reading.utilisation_pct.known().copied());
        self.clock.add(reading.clock_mhz.known().copied());
        self.max_clock = reading.clock_max_mhz.known().copied().or(self.max_clock);
        self.total = reading.memory_total_mb.known().copied().or(self.total);
        if let Some(used) = reading.memory_used_mb.known() {
            self.memory.push(*used);
            self.baseline.get_or_insert(*used);
            self.peak = Some(self.peak.map_or(*used, |peak| peak.max(*used)));
        }
        if let Some(reasons) = reading.throttle.known() {
            self.throttle_readings += 1;
            self.throttled += u64::from(!reasons.is_empty());
            for reason in reasons {
                if !self.reasons.contains(reason) {
                    self.reasons.push(reason.clone());
                }
            }
        }
        if let (Some(generation), Some(width), Some(max_generation), Some(max_width)) = (
            reading.pcie_gen.known(),
            reading.pcie_width.known(),
            reading.pcie_gen_max.known(),
            reading.pcie_width_max.known(),
        ) {
            // An idle link is slow to save power: the best that was seen counts.
            let best = self.link;
            self.link = Some(PcieLink {
                generation: best.map_or(*generation, |best| best.generation.max(*generation)),
                width: best.map_or(*width, |best| best.width.max(*width)),
                max_generation: *max_generation,
                max_width: *max_width,
            });
        }
        self.why = Whys {
            busy: why(&reading.utilisation_pct),
            memory: why(&reading.memory_used_mb),
            clock: why(&reading.clock_mhz).or(why(&reading.clock_max_mhz)),
            throttle: why(&reading.throttle),
            pcie: why(&reading.pcie_gen).or(why(&reading.pcie_width)),
        };
    }

    fn fill(&self, device: &mut DeviceSignals) {
        let because = |why: &Option<String>| {
            why.clone()
                .unwrap_or_else(|| "it was never read".to_owned())
        };
        device.busy = Signal::from_option(
            self.busy.get().map(|percent| Share(percent / 100.0)),
            because(&self.why.busy),
        );
        let clock = self.clock.get().zip(self.max_clock);
        device.clock = Signal::from_option(
            clock.map(|(mean_mhz, max_mhz)| Clock { mean_mhz, max_mhz }),
            because(&self.why.clock),
        );
        let throttled = (self.throttle_readings > 0).then(|| Throttled {
            share: Share(self.throttled as f64 / self.throttle_readings as f64),
            reasons: self.reasons.clone(),
        });
        device.throttled = Signal::from_option(throttled, because(&self.why.throttle));
        device.pcie = Signal::from_option(self.link, because(&self.why.pcie));
        let budget = device.budget.known().copied();
        let budget = budget.or(self.total.map(megabytes));
        device.memory = match (self.peak, budget) {
            (Some(peak), Some(budget)) => {
                let newest = self.memory.to_vec();
                let latest = newest.len().checked_sub(LATEST).map(|from| &newest[from..]);
                Signal::Known(Memory {
                    peak: megabytes(peak),
                    budget,
                    baseline: self.baseline.map(megabytes),
                    latest: latest.and_then(stats::median).map(megabytes),
                })
            }
            (None, _) => Signal::unavailable(because(&self.why.memory)),
            (_, None) => Signal::unavailable("the device's memory is not known"),
        };
    }
}

fn megabytes(mb: f64) -> Megabytes {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "megabytes of a device"
    )]
    let mb = mb.clamp(0.0, 1e12).round() as u64;
    Megabytes(mb)
}
