//! `plan.json`: what was decided before a device was touched.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::Note;
use crate::peak_flops;
use crate::signal::Signal;
use crate::signals::{DeviceRole, DeviceSignals, Estimate, Signals};
use crate::units::Megabytes;

/// Fills in what the plan says.
pub(super) fn fill(path: &Path, signals: &mut Signals, notes: &mut Vec<Note>) {
    let read = fs::read(path).map_err(|why| why.to_string());
    let plan: Result<Value, String> =
        read.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|why| why.to_string()));
    let plan = plan.unwrap_or_else(|why| {
        notes.push(Note::Unreadable {
            file: "plan.json",
            why,
        });
        Value::Null
    });
    let missing = |key: &str| match plan {
        Value::Null => "there is no readable plan.json".to_owned(),
        _ => format!("plan.json has no {key} that this version knows"),
    };
    fn of<T: serde::de::DeserializeOwned>(plan: &Value, key: &str, why: String) -> Signal<T> {
        let value = plan.get(key).cloned();
        Signal::from_option(
            value.and_then(|value| serde_json::from_value(value).ok()),
            why,
        )
    }
    let settings = &mut signals.settings;
    settings.strategy = of(&plan, "strategy", missing("strategy"));
    settings.workers = of(&plan, "workers", missing("workers"));
    settings.batch_size = of(&plan, "batch_size", missing("batch_size"));
    let key = "gradient_accumulation_steps";
    settings.accumulation = of(&plan, key, missing(key));
    settings.device_ring = of(&plan, "device_prefetch", missing("device_prefetch"));
    settings.precision = of(&plan, "precision", missing("precision"));
    settings.static_shapes = of(&plan, "static_shapes", missing("static_shapes"));
    settings.fusion = match plan.get("graph_mode") {
        Some(Value::Null) => Signal::Known(None),
        Some(Value::Bool(fused)) => Signal::Known(Some(*fused)),
        _ => Signal::unavailable(missing("graph_mode")),
    };
    signals.machine.cores = Signal::from_option(cores(&plan), missing("number of cores"));
    signals.devices = devices(&plan);
}

/// Finds the number of cores in the plan's sentence on workers: "one of the host's 2
/// cores is left to launch kernels", "the host has 2 cores".
fn cores(plan: &Value) -> Option<u32> {
    let reasons = plan.get("reasons")?.as_array()?;
    let number = |text: &str| {
        let (number, rest) = text.split_once(' ')?;
        rest.starts_with("core")
            .then(|| number.parse().ok())
            .flatten()
    };
    reasons.iter().filter_map(Value::as_str).find_map(|reason| {
        ["the host's ", "the host has "]
            .iter()
            .find_map(|words| number(reason.split_once(words)?.1))
    })
}

fn devices(plan: &Value) -> Vec<DeviceSignals> {
    let models: Vec<&Value> = match plan.get("model_devices").and_then(Value::as_array) {
        Some(devices) => devices.iter().collect(),
        None => Vec::new(),
    };
    let number = |device: &Value| device.get("logical").and_then(Value::as_u64);
    let data = plan
        .get("data_device")
        .filter(|data| models.iter().all(|model| number(model) != number(data)));
    let data = data.map(|device| (DeviceRole::Data, device));
    let models = models.into_iter().map(|device| (DeviceRole::Model, device));
    data.into_iter()
        .chain(models)
        .map(|(role, device)| one(plan, role, device))
        .collect()
}

fn one(plan: &Value, role: DeviceRole, device: &Value) -> DeviceSignals {
    let text = |key: &str| {
        device
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or("?")
            .to_owned()
    };
    let logical = device.get("logical").and_then(Value::as_u64);
    let budget = device
        .get("memory_budget_mb")
        .and_then(Value::as_u64)
        .map(Megabytes);
    let name = text("name");
    let precision = plan
        .get("precision")
        .and_then(Value::as_str)
        .unwrap_or("f32");
    let peak = peak_flops::of(&name).map(|peak| peak.at(precision));
    DeviceSignals {
        logical: logical
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(0),
        backend: text("backend"),
        role,
        busy: Signal::default(),
        budget: Signal::from_option(budget, "the plan does not know the device's memory"),
        memory: Signal::default(),
        estimate: Signal::from_option(
            estimate(plan, logical),
            "plan.json has no estimate of its memory",
        ),
        throttled: Signal::default(),
        clock: Signal::default(),
        pcie: Signal::default(),
        precisions: Signal::unavailable(
            "a run folder does not hold which precisions the device supports",
        ),
        peak_flops: Signal::from_option(peak, "its peak is not in the table of known cards"),
        name,
    }
}

/// Returns what the plan estimated for the device: bytes that stay whatever the
/// batch, and bytes that grow with it.
fn estimate(plan: &Value, logical: Option<u64>) -> Option<Estimate> {
    let memory = plan.get("memory")?.as_array()?;
    let own = memory
        .iter()
        .find(|memory| memory.get("logical").and_then(Value::as_u64) == logical)?;
    let needs = own.get("needs")?;
    let sum = |names: &[&str]| -> Option<Megabytes> {
        let bytes = names.iter().map(|name| needs.get(name)?.as_u64());
        Some(Megabytes::from_bytes(bytes.sum::<Option<u64>>()?))
    };
    Some(Estimate {
        fixed: sum(&["weights", "gradients", "moments", "copies", "overhead"])?,
        growing: sum(&["activations", "batches", "data_work"])?,
    })
}
