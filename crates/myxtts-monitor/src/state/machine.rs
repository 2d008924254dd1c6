//! The devices, and what they did so far.

use std::collections::BTreeMap;

use super::series::Series;
use crate::sample::{DeviceSample, HostSample, MachineSample};
use crate::units::{Seconds, WallTime};

/// A device that has not shown up for this long is not expected back.
const FORGET: Seconds = Seconds(600.0);
/// Samples are taken every 2 s; after this long somebody does not answer.
const STALE: Seconds = Seconds(12.0);

/// Who reads the devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReadBy {
    /// The run, which records them in its folder.
    Run,
    /// The monitor, by asking the drivers.
    #[default]
    Monitor,
}

/// The machine over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MachineHistory {
    pub(crate) read_by: ReadBy,
    /// When the machine was last read; `None` before the first time.
    pub(crate) at: Option<WallTime>,
    pub(crate) host: HostSample,
    pub(crate) cpu: Series,
    pub(crate) devices: BTreeMap<u32, DeviceHistory>,
    /// Why there are no GPUs.
    pub(crate) note: Option<String>,
    count: u64,
}

/// A device over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DeviceHistory {
    pub(crate) last: DeviceSample,
    /// When it was last in a sample.
    pub(crate) at: WallTime,
    pub(crate) utilisation: Series,
    pub(crate) memory: Series,
    pub(crate) power: Series,
}

impl MachineHistory {
    pub(crate) fn add(&mut self, sample: MachineSample, read_by: ReadBy) {
        if read_by != self.read_by {
            // Two readers need not give the same card the same id.
            *self = Self {
                read_by,
                ..Self::default()
            };
        }
        self.count += 1;
        let at = self.count;
        let number = |reading: Option<&f64>| reading.copied().unwrap_or(f64::NAN);
        self.cpu.push(at, number(sample.host.cpu_pct.value()));
        self.at = Some(sample.wall_time);
        self.host = sample.host;
        self.note = sample.note;
        for device in sample.devices {
            let history = self.devices.entry(device.device).or_default();
            history
                .utilisation
                .push(at, number(device.utilisation_pct.value()));
            history
                .memory
                .push(at, number(device.memory_used_mb.value()));
            history.power.push(at, number(device.power_w.value()));
            history.at = sample.wall_time;
            history.last = device;
        }
        self.devices
            .retain(|_, device| sample.wall_time.since(device.at) <= FORGET);
    }

    /// Returns how long nothing has been heard, where that is too long.
    pub(crate) fn silence(&self, now: WallTime) -> Option<Seconds> {
        let silence = now.since(self.at?);
        (silence > STALE).then_some(silence)
    }

    /// Returns how long a device has been missing from samples that others are in.
    pub(crate) fn missing(&self, device: &DeviceHistory) -> Option<Seconds> {
        let missing = self.at?.since(device.at);
        (missing > Seconds(0.0)).then_some(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Reading;

    fn sample(at: f64, devices: &[u32]) -> MachineSample {
        MachineSample {
            wall_time: WallTime(at),
            devices: devices
                .iter()
                .map(|device| DeviceSample {
                    device: *device,
                    utilisation_pct: Reading::Value(50.0),
                    ..DeviceSample::default()
                })
                .collect(),
            ..MachineSample::default()
        }
    }

    #[test]
    fn a_device_that_is_lost_stays_listed_as_missing() {
        let mut machine = MachineHistory::default();
        machine.add(sample(10.0, &[0, 1]), ReadBy::Monitor);
        machine.add(sample(12.0, &[0]), ReadBy::Monitor);
        assert_eq!(machine.missing(&machine.devices[&0]), None);
        assert_eq!(machine.missing(&machine.devices[&1]), Some(Seconds(2.0)));
        machine.add(sample(800.0, &[0]), ReadBy::Monitor);
        assert_eq!(machine.devices.len(), 1);
    }

    #[test]
    fn another_reader_begins_anew() {
        let mut machine = MachineHistory::default();
        machine.add(sample(10.0, &[3]), ReadBy::Monitor);
        machine.add(sample(11.0, &[0]), ReadBy::Run);
        assert_eq!(machine.devices.keys().collect::<Vec<_>>(), [&0]);
        assert_eq!(machine.silence(WallTime(12.0)), None);
        assert_eq!(machine.silence(WallTime(31.0)), Some(Seconds(20.0)));
    }
}
