//! Searches for the batch size.
//!
//! On a GPU more rows keep the device busier, and its memory limits them: the warm-up of the
//! measured process trains on artificial batches of every bucket's full shape, so that whatever
//! passes it has met the worst case. On the CPU a larger batch is faster only up to a point, so
//! the search goes by speed.

use myxtts_base::MEGABYTE;
use myxtts_base::report;
use myxtts_device::{DeviceMemory, Plan};
use serde_json::json;

use super::report::Trial;
use super::search::largest;
use super::{Edits, LEAST_GAIN, Tuner};
use crate::error::Error;
use crate::steps::{Ended, StepFigures};

const KEY: &str = "data.batch_size";
const ACCUMULATION: &str = "training.gradient_accumulation_steps";
/// The largest batch size that the configuration allows.
const MOST: u32 = 4096;

pub(super) fn tune(
    tuner: &Tuner<'_>,
    edits: &mut Edits,
    tell: &mut dyn FnMut(Trial),
) -> Result<(), Error> {
    match tuner.is_gpu() {
        true => by_memory(tuner, edits, tell),
        false => by_speed(tuner, edits, tell),
    }
}

/// Sets these rows, and as many batches per step as keep the number of clips the same.
fn with_batch(tuner: &Tuner<'_>, rows: u32) -> Edits {
    let (now, batches) = (
        tuner.plan.batch_size,
        tuner.plan.gradient_accumulation_steps,
    );
    let mut edits = vec![(KEY.to_owned(), Some(json!(rows)))];
    if batches > 1 {
        let wanted = u64::from(now) * u64::from(batches) / u64::from(rows.max(1));
        edits.push((ACCUMULATION.to_owned(), Some(json!(wanted.max(1)))));
    }
    edits
}

/// Returns what steps may hold on the smallest model device, in megabytes: all but the copies
/// that validation and samples make, which no measured step does. The budgets of data work and
/// of the model on one device add up, as in a training: the engine does not tell them apart.
/// `None` if a device does not report its memory; then the only limit is running out.
fn budget_mb(plan: &Plan) -> Option<u64> {
    let budgets = plan.model_devices.iter().map(|device| {
        let of_device = |memory: &&DeviceMemory| memory.logical == device.logical;
        let mut budget = 0_u64;
        let mut copies = 0_u64;
        for memory in plan.memory.iter().filter(of_device) {
            budget += memory.memory_mb?.0;
            copies += memory.needs.copies;
        }
        Some(budget.saturating_sub(copies.div_ceil(MEGABYTE)))
    });
    // The smallest budget, or none if one is not known.
    budgets.min().flatten()
}

/// Finds the largest batch that the memory of the model's devices holds.
fn by_memory(
    tuner: &Tuner<'_>,
    edits: &mut Edits,
    tell: &mut dyn FnMut(Trial),
) -> Result<(), Error> {
    let budget = budget_mb(&tuner.plan);
    let mut last_words = None;
    let mut last: Option<StepFigures> = None;
    let mut is_whole = false;
    let found = largest(tuner.plan.batch_size, MOST, |rows| {
        if is_whole {
            return Ok(false);
        }
        let candidate = tuner.candidate(&with_batch(tuner, rows));
        let ended = candidate.fit(tuner.effort)?;
        let label = format!("batch size {rows}");
        let is_fit = match &ended {
            Ended::Well(answer) => {
                let figures = &answer.figures;
                let held = figures.held_bytes().unwrap_or(0).div_ceil(MEGABYTE);
                let is_fit = budget.is_none_or(|budget| held <= budget);
                tell(Trial::fit(&label, held, budget, is_fit));
                // A corpus has only a limited number of clips for a batch.
                is_whole = last
                    .as_ref()
                    .is_some_and(|last| last.shapes == figures.shapes);
                if is_fit {
                    last = Some(figures.clone());
                }
                is_fit
            }
            Ended::NoMemory(_) | Ended::Died(_) => {
                tell(Trial::without_figures(&label, &ended));
                last_words = Some(ended.to_string());
                false
            }
            Ended::Refused(_) | Ended::Hung { .. } => return Err(ended.error(&label)),
        };
        Ok(is_fit && !is_whole)
    })?;
    let Some(rows) = found else {
        let report = report!(
            "not even a batch of one row fits in memory";
            fix: "a smaller --model-size, or shorter clips (--max-mel-frames)"
        );
        return Err(Error::Failed(match last_words {
            Some(words) => report.why(words),
            None => report,
        }));
    };
    if rows != tuner.plan.batch_size {
        edits.extend(with_batch(tuner, rows));
        // What was measured to fit need not fit the estimate.
        edits.push(("data.memory_check".to_owned(), Some("warn".into())));
    }
    Ok(())
}

/// Doubles or halves the batch as long as that is faster.
fn by_speed(
    tuner: &Tuner<'_>,
    edits: &mut Edits,
    tell: &mut dyn FnMut(Trial),
) -> Result<(), Error> {
    let start = tuner.plan.batch_size;
    let mut now = start;
    for grows in [true, false] {
        // Halving is worth a try only if doubling was not faster.
        if !grows && now != start {
            break;
        }
        loop {
            let rows = match grows {
                true => now.saturating_mul(2).min(MOST),
                false => now / 2,
            };
            if rows == now || rows == 0 {
                break;
            }
            let [was, is] = tuner.against(&with_batch(tuner, now), &with_batch(tuner, rows))?;
            let label = format!("batch size {rows}");
            match (was, is) {
                (Ok(was), Ok(is)) => {
                    let speed = was.figures.audio_per_s;
                    let is_whole = was.figures.shapes == is.figures.shapes;
                    let is_kept = is.is_faster(&was, LEAST_GAIN) && !is_whole;
                    tell(Trial::of(&label, &now.to_string(), &is, speed, is_kept));
                    if !is_kept {
                        break;
                    }
                    now = rows;
                }
                (Err(ended), _) if now == start => {
                    return Err(ended.error("the configuration as it is"));
                }
                (Err(ended), _) | (_, Err(ended)) => {
                    tell(Trial::without_figures(&label, &ended));
                    break;
                }
            }
        }
    }
    if now != start {
        edits.extend(with_batch(tuner, now));
    }
    Ok(())
}
