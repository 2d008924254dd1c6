//! One frame as JSON, for scripts. What is not known is
//! `{"unavailable": "why"}`, never a zero.

use serde_json::{Value, json};

use crate::reading::Reading;
use crate::source::log::Progress;
use crate::state::State;
use crate::state::ledger::WINDOW;
use crate::state::machine::ReadBy;
use crate::state::run::{RECENT, RunState};

pub(crate) fn frame(state: &State) -> Value {
    json!({
        "wall_time": state.now,
        "folder": state.folder,
        "run": state.run.as_ref().map(|run| self::run(run, state)),
        "runs": state.runs,
        "machine": machine(state),
    })
}

fn run(run: &RunState, state: &State) -> Value {
    let no_step = "metrics.jsonl does not have it";
    let number = |value: Option<f64>| {
        // NaN is not JSON; the words are those of metrics.jsonl.
        match value {
            Some(value) if !value.is_finite() => json!(value.to_string()),
            value => json!(Reading::or_reason(value, no_step)),
        }
    };
    let percent = |share: Option<f64>| number(share.map(|share| share * 100.0));
    let progress = run.progress.as_ref();
    let no_progress = "train.log has no progress line";
    let stage = progress.and_then(|progress| progress.stage.as_ref());
    let pauses = run.pauses.iter();
    json!({
        "path": run.path,
        "life": run.life,
        "written": run.written,
        "silent_s": run.written.map(|written| state.now.since(written)),
        "step": Reading::or_reason(run.step, no_step),
        "total_steps": Reading::or_reason(run.total(), no_progress),
        "stage": Reading::or_reason(run.stage.as_ref(), no_step),
        "stage_progress": stage.map(|stage| json!({
            "name": stage.name, "step": stage.step, "total": stage.total,
            "number": stage.number, "of": stage.of,
        })),
        "eta": progress.and_then(eta).unwrap_or_else(|| json!({ "unavailable": no_progress })),
        "over_steps": RECENT.min(run.loss.len()),
        "loss": number(run.loss.last()),
        "learning_rate": number(run.learning_rate),
        "step_s": number(run.step_mean()),
        "step_p95_s": number(run.step_p95()),
        "data_wait_pct": percent(run.share(&run.data_wait_s)),
        "read_back_pct": percent(run.share(&run.read_back_s)),
        "collective_pct": percent(run.share(&run.collective_s)),
        "padding_pct": percent(run.padding_mean()),
        "audio_per_s": number(run.audio_rate()),
        "pauses": pauses.map(|(name, count, seconds)| json!({
            "name": name, "count": count, "seconds": seconds,
        })).collect::<Vec<_>>(),
        "validation": run.validation.as_ref().map(|(step, values)| json!({
            "step": step,
            "values": values.iter().map(|(name, value)| (name.clone(), number(Some(*value))))
                .collect::<serde_json::Map<_, _>>(),
        })),
        "ledger": ledger(run),
        "findings": match &run.findings {
            Ok(Some(findings)) => json!(findings),
            Ok(None) => json!({ "unavailable": "there is no findings.json" }),
            Err(why) => json!({ "unavailable": why }),
        },
        "unreadable_lines": run.unreadable,
        "errors": run.errors,
    })
}

/// Returns when the training will be done, if its last progress line says so.
fn eta(progress: &Progress) -> Option<Value> {
    let eta = progress.eta.as_ref()?;
    Some(json!({
        "seconds": eta.seconds,
        "words": eta.words,
        "of_stage": eta.of_stage,
        "at_step": progress.step,
    }))
}

fn ledger(run: &RunState) -> Value {
    let stages = run.ledger.stages();
    if stages.is_empty() {
        return json!({ "unavailable": "ledger.jsonl has no batch" });
    }
    let percent = |share: f64| share * 100.0;
    let stages = stages.iter().map(|stage| {
        let mut document = json!({
            "stage": stage.stage,
            "batches": stage.batches,
            "threads": stage.threads,
            "busy_pct": percent(stage.busy),
            "wait_in_pct": percent(stage.wait_in),
            "wait_out_pct": percent(stage.wait_out),
            "occupancy": stage.occupancy,
        });
        for (name, share) in &stage.parts {
            document[format!("{name}_pct")] = json!(percent(*share));
        }
        document
    });
    json!({ "at_most_batches": WINDOW, "stages": stages.collect::<Vec<_>>() })
}

fn machine(state: &State) -> Value {
    let machine = &state.machine;
    let Some(at) = machine.at else {
        return json!({ "unavailable": "the devices were not read" });
    };
    let devices = machine.devices.values().map(|device| {
        let mut document = json!(device.last);
        document["lost_for_s"] = json!(machine.missing(device));
        document
    });
    json!({
        "read_by": match machine.read_by {
            ReadBy::Run => "run",
            ReadBy::Monitor => "monitor",
        },
        "wall_time": at,
        "host": machine.host,
        "devices": devices.collect::<Vec<_>>(),
        "note": machine.note,
    })
}
