//! What the devices hold once training goes, and whether that is within the
//! budgets a person set.

use burn::tensor::Device;
use myxtts_base::process::resident_memory;
use myxtts_base::report;
use myxtts_device::DeviceMemory;

use crate::error::TrainError;
use crate::placement::Placement;
use crate::session::Job;

const MEGABYTE: u64 = 1024 * 1024;

/// Converts to megabytes, rounding up, so that a budget of the number shown is enough.
fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(MEGABYTE)
}

/// A memory budget that the user has set, and its device.
#[derive(Clone, Debug)]
struct Budget {
    label: String,
    device: Device,
    bytes: u64,
    /// The flags that would raise the budget.
    flags: String,
}

/// Returns the budgets of a training under memory isolation, by device. Two budgets of one device
/// add up, because the engine does not tell data work from the model.
fn budgets(job: &Job, placement: &Placement) -> Vec<Budget> {
    let mut budgets: Vec<Budget> = vec![];
    for memory in &job.plan.memory {
        let (Some(flag), Some(limit)) = (memory.budget, memory.memory_mb) else {
            continue;
        };
        let of_data = !memory.share.trains;
        let devices = match of_data {
            true => &placement.data,
            false => &placement.models,
        };
        // Model devices come in the order of their logical numbers.
        let before = |other: &&DeviceMemory| {
            other.share.trains == memory.share.trains && other.logical < memory.logical
        };
        let index = job.plan.memory.iter().filter(before).count();
        let Some(device) = devices.get(index) else {
            continue;
        };
        let bytes = limit.0 * MEGABYTE;
        match budgets.iter_mut().find(|budget| budget.device == *device) {
            Some(budget) => {
                budget.bytes += bytes;
                budget.flags = format!("{} or {flag}", budget.flags);
            }
            None => budgets.push(Budget {
                label: memory.device.clone(),
                device: device.clone(),
                bytes,
                flags: flag.to_owned(),
            }),
        }
    }
    budgets
}

/// Steps after which a device holds what it needs: the first allocates the moments.
const SETTLED: u64 = 2;
/// Steps between two looks after that; budgets are checked every `ENFORCE_EVERY` steps.
const LOOK_EVERY: u64 = 50;
const ENFORCE_EVERY: u64 = 10;
/// How much growth is worth a warning.
const GROWTH_PERCENT: u64 = 20;

/// Watches the memory that the engine holds on the devices, over all threads that use them. On
/// the CPU, where the engine has no pools, it watches that of the process.
#[derive(Debug, Default)]
pub(crate) struct PoolMonitor {
    steps: u64,
    settled: Option<u64>,
    held: Option<u64>,
    warned: bool,
    budgets: Vec<Budget>,
}

impl PoolMonitor {
    /// Watches the budgets of a job.
    pub(crate) fn new(job: &Job, placement: &Placement) -> Self {
        Self {
            budgets: budgets(job, placement),
            ..Self::default()
        }
    }

    /// Looks after a step, and returns a line for the log if there is one. Exceeding a budget is
    /// an error.
    pub(crate) fn after(&mut self, device: &Device) -> Result<Option<String>, TrainError> {
        self.steps += 1;
        let settles = self.steps == SETTLED;
        if settles || self.steps.is_multiple_of(ENFORCE_EVERY) {
            for budget in &self.budgets {
                budget.keep(held(&budget.device))?;
            }
        }
        if !settles && !self.steps.is_multiple_of(LOOK_EVERY) {
            return Ok(None);
        }
        let usage = device.clone().inner().memory_pool_usage();
        Ok(usage.and_then(|usage| {
            self.held = Some(usage.bytes_reserved);
            self.see(usage.bytes_reserved)
        }))
    }

    /// Returns the bytes held on the device at the last look; `None` if the device is the host.
    pub(crate) fn held(&self) -> Option<u64> {
        self.held
    }

    fn see(&mut self, reserved: u64) -> Option<String> {
        let Some(settled) = self.settled else {
            self.settled = Some(reserved);
            return Some(format!(
                "device memory after the warm-up: {} MB reserved by the engine",
                megabytes(reserved)
            ));
        };
        if self.warned {
            return None;
        }
        self.warned = reserved > settled + settled * GROWTH_PERCENT / 100;
        self.warned.then(|| {
            format!(
                "device memory has grown from {} MB to {} MB since the warm-up: shapes that were \
                 not warmed up, or a leak; `shapes after warm-up` at the end tells them apart",
                megabytes(settled),
                megabytes(reserved)
            )
        })
    }
}

/// Returns the bytes held on a device, where that is known.
pub(crate) fn held(device: &Device) -> Option<u64> {
    match device.clone().inner() == Device::flex() {
        true => resident_memory(),
        false => device.memory_pool_usage().map(|usage| usage.bytes_reserved),
    }
}

impl Budget {
    fn keep(&self, held: Option<u64>) -> Result<(), TrainError> {
        match held.filter(|held| *held > self.bytes) {
            None => Ok(()),
            Some(held) => Err(TrainError::Failed(report!(
                "{} holds more than its memory budget", self.label;
                asked: "{} MB in all (memory isolation is on)", self.bytes / MEGABYTE;
                found: "{} MB held by the training", megabytes(held);
                fix: "raise {}, or take a smaller --batch-size", self.flags
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_told_once() {
        let mut watch = PoolMonitor::default();
        insta::assert_snapshot!(watch.see(100 * MEGABYTE).unwrap());
        assert_eq!(watch.see(119 * MEGABYTE), None);
        insta::assert_snapshot!(watch.see(130 * MEGABYTE).unwrap());
        assert!(watch.warned);
    }

    #[test]
    fn a_budget_is_kept_to_the_byte() {
        let budget = Budget {
            label: "GPU 1".to_owned(),
            device: Device::flex(),
            bytes: 64 * MEGABYTE,
            flags: "--model-gpu-memory".to_owned(),
        };
        budget.keep(None).unwrap();
        budget.keep(Some(64 * MEGABYTE)).unwrap();
        let over = budget.keep(Some(64 * MEGABYTE + 1)).unwrap_err();
        insta::assert_snapshot!(over, @r"
        GPU 1 holds more than its memory budget
          asked: 64 MB in all (memory isolation is on)
          found: 65 MB held by the training
          fix:   raise --model-gpu-memory, or take a smaller --batch-size
        ");
    }
}
