//! `myxtts devices`

use std::fmt::{self, Display};

use myxtts::machine::{
    Backend, Gpu, Machine, Reading, Readings, SystemTelemetry, Telemetry, this_machine,
};
use serde_json::{Value, json};

use crate::output::{Failure, Output};

pub(super) fn run(output: &Output) -> Result<(), Failure> {
    let machine = this_machine()?;
    let telemetry = SystemTelemetry::new();
    let listing = Listing {
        machine: &machine,
        telemetry: &telemetry,
    };
    output.result(&listing.document(), listing)
}

struct Listing<'a> {
    machine: &'a Machine,
    telemetry: &'a dyn Telemetry,
}

impl Listing<'_> {
    /// Returns every backend in the same form, the CPU first.
    fn document(&self) -> Value {
        let host = &self.machine.host;
        let cpu = json!({
            "backend": Backend::Cpu,
            "devices": [{
                "id": 0,
                "name": host.name,
                "kind": "cpu",
                "memory": Reading::Value(host.memory),
                "driver": "none",
                "cores": host.cores,
            }],
            "unavailable": null,
            "note": null,
        });
        let gpus = self.machine.backends.iter().map(|report| {
            let devices = report.gpus.iter().map(|gpu| {
                let mut document = json!(gpu);
                document["now"] = json!(self.telemetry.read(gpu));
                document
            });
            json!({
                "backend": report.backend,
                "devices": devices.collect::<Vec<_>>(),
                "unavailable": report.unavailable,
                "note": report.note,
            })
        });
        json!({ "backends": std::iter::once(cpu).chain(gpus).collect::<Vec<_>>() })
    }
}

impl Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = &self.machine.host;
        writeln!(
            f,
            "cpu\n  {}: {} cores, {}",
            host.name, host.cores, host.memory
        )?;
        for report in &self.machine.backends {
            match &report.unavailable {
                Some(why) => writeln!(f, "{}\n  unavailable: {why}", report.backend)?,
                None => writeln!(f, "{}", report.backend)?,
            }
            if let Some(note) = &report.note {
                writeln!(f, "  note: {note}")?;
            }
            for gpu in &report.gpus {
                describe(f, gpu, &self.telemetry.read(gpu))?;
            }
        }
        Ok(())
    }
}

fn describe(f: &mut fmt::Formatter<'_>, gpu: &Gpu, now: &Readings) -> fmt::Result {
    let precisions: Vec<&str> = gpu
        .precisions
        .iter()
        .map(|precision| precision.name())
        .collect();
    writeln!(f, "  GPU {}: {} ({})", gpu.id, gpu.name, gpu.kind)?;
    writeln!(f, "    memory: {}", gpu.memory)?;
    writeln!(f, "    driver: {}", gpu.driver)?;
    if !gpu.other_drivers.is_empty() {
        let others = gpu.other_drivers.join(", ");
        writeln!(f, "    the same card, not used: through {others}")?;
    }
    writeln!(f, "    precision: {}", precisions.join(", "))?;
    if let Some(address) = &gpu.pci_address {
        writeln!(f, "    PCI address: {address}")?;
    }
    writeln!(
        f,
        "    busy: {}",
        now.busy_percent.clone().map(|busy| format!("{busy} %"))
    )?;
    writeln!(f, "    memory in use: {}", now.memory_used_mb)?;
    writeln!(
        f,
        "    temperature: {}",
        now.temperature_celsius.clone().map(|t| format!("{t} C"))
    )?;
    writeln!(
        f,
        "    power: {}",
        now.power_watts.clone().map(|power| format!("{power} W"))
    )
}
