//! Workers, the device ring, precision, recomputation: one after the other, each
//! against the best so far.

use myxtts_device::Plan;
use serde_json::{Value, json};

use super::report::Trial;
use super::{Edits, Knob, LEAST_GAIN, Tuner};
use crate::error::Error;
use crate::steps::Measured;

pub(super) fn tune(
    tuner: &Tuner<'_>,
    knobs: &[Knob],
    edits: &mut Edits,
    tell: &mut dyn FnMut(Trial),
) -> Result<(), Error> {
    let mut waits = None;
    if knobs.contains(&Knob::Workers) {
        workers(tuner, edits, &mut waits, tell)?;
    }
    if knobs.contains(&Knob::Ring) {
        ring(tuner, edits, waits, tell)?;
    }
    if knobs.contains(&Knob::Precision) {
        precision(tuner, edits, tell)?;
    }
    if knobs.contains(&Knob::Recompute) {
        recompute(tuner, edits, tell)?;
    }
    Ok(())
}

/// Tries fewer workers, which leaves cores to the model, then more, which prepares batches
/// sooner.
fn workers(
    tuner: &Tuner<'_>,
    edits: &mut Edits,
    waits: &mut Option<f64>,
    tell: &mut dyn FnMut(Trial),
) -> Result<(), Error> {
    const KEY: &str = "data.num_workers";
    let now = tuner.plan.workers;
    let cores = u32::try_from(std::thread::available_parallelism().map_or(1, usize::from));
    let cores = cores.unwrap_or(1);
    let mut tried = vec![];
    if now > 1 {
        tried.push(now / 2);
    }
    tried.push((now * 2).min(cores.max(now)));
    for workers in tried {
        if workers == now || workers == 0 {
            continue;
        }
        let label = format!("{workers} {}", plural(workers, "worker"));
        if let Some(wait) = waits.filter(|wait| workers > now && *wait < 100.0 * LEAST_GAIN) {
            tell(Trial::skipped(
                &label,
                &format!("the model waits for data {wait:.1} % of the time: nothing to gain"),
            ));
            continue;
        }
        let edit = (KEY.to_owned(), Some(json!(workers)));
        let was = format!("{now} {}", plural(now, "worker"));
        if attempt(tuner, edits, edit, [&label, &was], waits, tell)? {
            break;
        }
    }
    Ok(())
}

/// Tries a ring twice as deep, which helps only a model that waits.
fn ring(
    tuner: &Tuner<'_>,
    edits: &mut Edits,
    mut waits: Option<f64>,
    tell: &mut dyn FnMut(Trial),
) -> Result<(), Error> {
    const KEY: &str = "data.prefetch_buffer_size";
    let now = tuner.plan.ring_depth;
    let most = tuner.plan.in_flight.saturating_sub(1);
    let deeper = now.saturating_mul(2).min(most);
    let label = format!("device ring of {deeper}");
    if now == 0 {
        tell(Trial::skipped("device ring", "data.prefetch_to_gpu is off"));
        return Ok(());
    }
    if deeper <= now {
        tell(Trial::skipped(
            &label,
            "it is as deep as --buffer-size allows",
        ));
        return Ok(());
    }
    if let Some(wait) = waits.filter(|wait| *wait < 100.0 * LEAST_GAIN) {
        tell(Trial::skipped(
            &label,
            &format!("the model waits for data {wait:.1} % of the time: nothing to gain"),
        ));
        return Ok(());
    }
    let edit = (KEY.to_owned(), Some(json!(deeper)));
    let was = format!("a ring of {now}");
    attempt(tuner, edits, edit, [&label, &was], &mut waits, tell)?;
    Ok(())
}

/// Tries the other precisions; a device refuses those it cannot compute in.
fn precision(
    tuner: &Tuner<'_>,
    edits: &mut Edits,
    tell: &mut dyn FnMut(Trial),
) -> Result<(), Error> {
    const KEY: &str = "training.precision";
    let now = tuner.plan.precision.name();
    let mut best = now;
    for precision in ["f32", "bf16", "f16"] {
        if precision == now {
            continue;
        }
        let label = format!("precision {precision}");
        let edit = (KEY.to_owned(), Some(json!(precision)));
        let mut ignored = None;
        if attempt(tuner, edits, edit, [&label, best], &mut ignored, tell)? {
            best = precision;
        }
    }
    Ok(())
}

/// Tries the backward pass that the plan did not choose. After a search for the batch it tries
/// both: `auto` may have turned to computing blocks again while the batch grew.
fn recompute(
    tuner: &Tuner<'_>,
    edits: &mut Edits,
    tell: &mut dyn FnMut(Trial),
) -> Result<(), Error> {
    const KEY: &str = "training.recompute";
    let now = recompute_name(&tuner.plan);
    let mut best = match edits.is_empty() || tuner.settings.is_chosen(KEY) {
        true => now,
        false => "auto",
    };
    for way in ["off", "blocks"] {
        if way == best {
            continue;
        }
        let label = format!("recompute {way}");
        let edit = (KEY.to_owned(), Some(json!(way)));
        let mut ignored = None;
        if attempt(tuner, edits, edit, [&label, best], &mut ignored, tell)? {
            best = way;
        }
    }
    Ok(())
}

/// Returns the value of `training.recompute` that says what a plan does.
pub(super) fn recompute_name(plan: &Plan) -> &'static str {
    match plan.savings.recompute {
        true => "blocks",
        false => "off",
    }
}

/// Tries one edit against the best so far, and keeps it if it gains enough.
fn attempt(
    tuner: &Tuner<'_>,
    edits: &mut Edits,
    edit: (String, Option<Value>),
    [label, was_called]: [&str; 2],
    waits: &mut Option<f64>,
    tell: &mut dyn FnMut(Trial),
) -> Result<bool, Error> {
    let mut edited: Edits = edits
        .iter()
        .filter(|(key, _)| *key != edit.0)
        .cloned()
        .collect();
    edited.push(edit);
    let [was, is] = tuner.against(edits, &edited)?;
    if let Ok(Measured { figures, .. }) = &was {
        *waits = Some(figures.data_wait_pct);
    }
    match (was, is) {
        (Ok(was), Ok(is)) => {
            let is_kept = is.is_faster(&was, LEAST_GAIN);
            let speed = was.figures.audio_per_s;
            tell(Trial::of(label, was_called, &is, speed, is_kept));
            if is_kept {
                *waits = Some(is.figures.data_wait_pct);
                *edits = edited;
            }
            Ok(is_kept)
        }
        (Err(ended), _) => Err(ended.error(was_called)),
        (_, Err(ended)) => {
            tell(Trial::without_figures(label, &ended));
            Ok(false)
        }
    }
}

fn plural(count: u32, word: &str) -> String {
    match count {
        1 => word.to_owned(),
        _ => format!("{word}s"),
    }
}
