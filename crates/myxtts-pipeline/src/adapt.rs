//! Smart prefetch: workers, batches in flight and ring depth follow the measured waits.
//!
//! A pure decision from one window of the ledger, within the bounds of the plan,
//! and each change comes with its reason. It moves one knob at a time: the
//! effects of two could not be told apart in the next window.

use std::fmt;

use serde::Serialize;

/// The settings that smart prefetch can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Knobs {
    /// Host threads that take tickets.
    pub workers: usize,
    /// Batches in flight, in all stages together.
    #[serde(rename = "read_ahead")]
    pub in_flight: usize,
    /// Batches that the device ring holds.
    #[serde(rename = "depth")]
    pub ring_depth: usize,
}

/// The range of each knob. Where both ends are equal, the knob is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The lowest value of each knob.
    pub least: Knobs,
    /// The highest value of each knob.
    pub most: Knobs,
}

/// What the ledger says of a recent stretch of time. Waits and work are shares of
/// it, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WaitShares {
    /// Steps taken in the window.
    pub steps: u64,
    /// Share of the time the model waited for a batch.
    pub model_wait: f64,
    /// Share of the time the device stage waited for a host batch.
    pub device_wait: f64,
    /// Share of the time the device stage worked.
    pub device_busy: f64,
    /// Share of the time a worker waited for room or a permit, averaged over the
    /// workers in use.
    pub host_wait: f64,
    /// The longest single wait of the model, in mean steps.
    pub longest_wait: f64,
}

/// A change of one knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnobChange {
    /// The name of the knob that was changed.
    pub knob: &'static str,
    /// Its value before the change.
    pub from: usize,
    /// Its value after the change.
    pub to: usize,
    /// The measurement behind the change.
    pub why: String,
}

impl fmt::Display for KnobChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} -> {} ({})",
            self.knob, self.from, self.to, self.why
        )
    }
}

/// The fewest steps in a window that say enough.
const FEWEST_STEPS: u64 = 8;
/// A share of waiting that is not worth a change.
const TOLERATED: f64 = 0.005;
/// The share of waiting from which a worker is not needed.
const IDLE: f64 = 0.75;

/// Returns the next settings and the change that leads there, or `None` to leave
/// them as they are.
pub fn decide(window: &WaitShares, now: Knobs, bounds: &Bounds) -> Option<(Knobs, KnobChange)> {
    if window.steps < FEWEST_STEPS {
        return None;
    }
    if window.model_wait > TOLERATED {
        return more(window, now, bounds);
    }
    let spare = window.host_wait > IDLE && now.workers > bounds.least.workers;
    spare.then(|| {
        let to = now.workers - 1;
        let why = format!(
            "workers had nothing to do {:.0} % of the time",
            100.0 * window.host_wait
        );
        with_knob(now, "workers", to, why)
    })
}

fn more(window: &WaitShares, now: Knobs, bounds: &Bounds) -> Option<(Knobs, KnobChange)> {
    let wait = 100.0 * window.model_wait;
    // The host is late when the device stage itself lacks batches.
    let host_late = window.device_wait > window.device_busy.min(0.5);
    if host_late && window.host_wait < TOLERATED.max(0.1) && now.workers < bounds.most.workers {
        let why = format!("the model waited {wait:.1} % of the time and no worker was idle");
        return Some(with_knob(now, "workers", now.workers + 1, why));
    }
    if host_late && now.in_flight < bounds.most.in_flight {
        let to = (2 * now.in_flight).min(bounds.most.in_flight);
        let why =
            format!("the model waited {wait:.1} % of the time and workers waited for a place");
        return Some(with_knob(now, "read_ahead", to, why));
    }
    if window.longest_wait > 1.0 && now.ring_depth < bounds.most.ring_depth {
        let to = (2 * now.ring_depth).min(bounds.most.ring_depth);
        let why = format!(
            "single waits of up to {:.1} steps: a deeper ring rides them out",
            window.longest_wait
        );
        return Some(with_knob(now, "depth", to, why));
    }
    None
}

fn with_knob(now: Knobs, knob: &'static str, to: usize, why: String) -> (Knobs, KnobChange) {
    let mut next = now;
    let place = match knob {
        "workers" => &mut next.workers,
        "read_ahead" => &mut next.in_flight,
        _ => &mut next.ring_depth,
    };
    let from = std::mem::replace(place, to);
    (
        next,
        KnobChange {
            knob,
            from,
            to,
            why,
        },
    )
}
