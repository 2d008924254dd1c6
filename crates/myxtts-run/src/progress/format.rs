//! Formatting the numbers of a run as one line.

use std::time::Duration;

use crate::units::{Bytes, Step};

/// What is known of a run in progress; a field is `None` where nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Numbers {
    /// Steps taken in the whole run.
    pub step: Step,
    /// Steps that the whole run will take.
    pub total: Option<Step>,
    /// The present stage, where the run has several.
    pub stage: Option<StageNumbers>,
    /// The loss of the latest step.
    pub loss: Option<f64>,
    /// Time that the whole run still takes. Without it the speed is used, where
    /// all steps left are alike.
    pub left: Option<Left>,
    /// Steps taken per second.
    pub steps_per_second: Option<f64>,
    /// Seconds of audio trained on per second.
    pub audio_per_second: Option<f64>,
    /// Share of the time spent waiting for data, from 0 to 1.
    pub data_wait: Option<f64>,
    /// Share of the batch that is padding, from 0 to 1.
    pub padding: Option<f64>,
    /// Floating-point operations per second.
    pub flops: Option<f64>,
    /// The device's peak in the same unit, where that is known.
    pub peak_flops: Option<f64>,
    /// Device memory in use.
    pub memory_used: Option<Bytes>,
    /// Device memory in total.
    pub memory_total: Option<Bytes>,
}

/// The time that a run still takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The time itself, from now to the end of the run.
    pub time: Duration,
    /// Whether part of it is an estimate of something not measured yet.
    pub is_about: bool,
}

/// How far the present stage is, in a run of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageNumbers {
    /// The name of the stage.
    pub name: &'static str,
    /// The number of the stage, from 1.
    pub number: usize,
    /// How many stages there are.
    pub of: usize,
    /// Steps of the stage taken.
    pub step: Step,
    /// Steps that the stage will take.
    pub total: Step,
}

/// A name, and the text of the number if it was measured. The most important come first.
type Field = (&'static str, Option<String>);

/// Formats as much of what was measured as fits a terminal of `columns`.
pub(super) fn terminal_line(numbers: &Numbers, columns: usize) -> String {
    let mut line = step(numbers);
    let measured = fields(numbers).into_iter().filter_map(|(name, value)| {
        let value = value?;
        Some(format!("  {name} {value}"))
    });
    for field in stage(numbers).into_iter().chain(measured) {
        // The last column stays free: a full line makes some terminals wrap.
        if line.chars().count() + field.chars().count() >= columns {
            break;
        }
        line.push_str(&field);
    }
    line
}

/// Formats everything that was measured, for a log.
pub fn quiet_line(numbers: &Numbers) -> String {
    terminal_line(numbers, usize::MAX)
}

fn step(numbers: &Numbers) -> String {
    match numbers.total {
        Some(total) => format!("step {}/{total}", numbers.step),
        None => format!("step {}", numbers.step),
    }
}

fn stage(numbers: &Numbers) -> Option<String> {
    let StageNumbers {
        name,
        number,
        of,
        step,
        total,
    } = numbers.stage?;
    Some(format!(" ({name} {step}/{total}, stage {number} of {of})"))
}

fn fields(numbers: &Numbers) -> [Field; 8] {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    [
        ("loss", numbers.loss.map(|loss| format!("{loss:.4}"))),
        (
            "speed",
            numbers
                .steps_per_second
                .map(|rate| format!("{rate:.2} it/s")),
        ),
        eta(numbers),
        (
            "audio",
            numbers
                .audio_per_second
                .map(|rate| format!("{rate:.1} s/s")),
        ),
        ("wait", numbers.data_wait.map(percent)),
        ("padding", numbers.padding.map(percent)),
        ("compute", numbers.flops.map(|rate| compute(rate, numbers))),
        (
            "memory",
            numbers
                .memory_used
                .map(|used| memory(used, numbers.memory_total)),
        ),
    ]
}

/// Returns the time left of the whole run, unknown while it stands still. Steps
/// of a later stage take another time, so the speed is used only in the last stage.
fn eta(numbers: &Numbers) -> Field {
    let is_last = numbers.stage.is_none_or(|stage| stage.number == stage.of);
    let words = match (numbers.left, numbers.total, numbers.steps_per_second) {
        (Some(left), ..) => {
            let about = if left.is_about { "about " } else { "" };
            Some(format!("{about}{}", duration(left.time)))
        }
        (None, Some(total), Some(speed)) if is_last => {
            let seconds = total.0.saturating_sub(numbers.step.0) as f64 / speed;
            Duration::try_from_secs_f64(seconds).ok().map(duration)
        }
        _ => None,
    };
    ("ETA", words)
}

fn duration(left: Duration) -> String {
    let left = left.as_secs();
    let (days, hours, minutes) = (left / 86_400, left / 3600 % 24, left / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{left} s"),
        (0, 0, _) => format!("{minutes} min {:02} s", left % 60),
        (0, _, _) => format!("{hours} h {minutes:02} min"),
        _ => format!("{days} d {hours:02} h"),
    }
}

fn compute(rate: f64, numbers: &Numbers) -> String {
    match numbers.peak_flops {
        Some(peak) => format!("{} ({:.1} % of peak)", flops(rate), 100.0 * rate / peak),
        None => flops(rate),
    }
}

fn flops(rate: f64) -> String {
    let units = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")];
    let (scale, prefix) = units
        .into_iter()
        .find(|(scale, _)| rate >= *scale)
        .unwrap_or((1e6, "M"));
    format!("{:.2} {prefix}FLOP/s", rate / scale)
}

fn memory(used: Bytes, total: Option<Bytes>) -> String {
    let gib = |bytes: Bytes| bytes.0 as f64 / f64::from(1 << 30);
    match total {
        Some(total) => format!("{:.1}/{:.1} GiB", gib(used), gib(total)),
        None => format!("{:.1} GiB", gib(used)),
    }
}
