//! The numbers as words.

use std::time::Duration;

use crate::units::{Bytes, Step};

/// What is known of a run in progress; `None` is what was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Numbers {
    /// Steps taken.
    pub step: Step,
    /// Steps of the whole run.
    pub total: Option<Step>,
    /// The stage, where the run has several.
    pub stage: Option<StageNumbers>,
    /// The latest loss.
    pub loss: Option<f64>,
    /// Time that the whole run still takes; without it, by the speed where all
    /// steps left are alike.
    pub left: Option<Left>,
    /// Steps a second.
    pub steps_per_second: Option<f64>,
    /// Seconds of audio trained on, a second.
    pub audio_per_second: Option<f64>,
    /// Share of the time spent waiting for data, 0 to 1.
    pub data_wait: Option<f64>,
    /// Share of the batch that is padding, 0 to 1.
    pub padding: Option<f64>,
    /// Floating-point operations a second.
    pub flops: Option<f64>,
    /// The most the device could do, where that is known.
    pub peak_flops: Option<f64>,
    /// Device memory in use.
    pub memory_used: Option<Bytes>,
    /// Device memory there is.
    pub memory_total: Option<Bytes>,
}

/// What a run still takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// So long.
    pub time: Duration,
    /// Whether some of it is an estimate of what nobody has measured yet.
    pub is_about: bool,
}

/// Where in a run of several stages it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageNumbers {
    /// The stage's name.
    pub name: &'static str,
    /// Its number, from 1.
    pub number: usize,
    /// How many stages there are.
    pub of: usize,
    /// Steps of it taken.
    pub step: Step,
    /// Its steps.
    pub total: Step,
}

/// A name, and the number when there is one; the most important first.
type Field = (&'static str, Option<String>);

/// For a terminal of `columns`: of what was measured, what fits.
pub fn terminal_line(numbers: &Numbers, columns: usize) -> String {
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

/// For a log: everything that was measured.
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

/// Time left of the whole run; unknown while it stands still. Steps of a later
/// stage take another time, so the speed tells only in the last.
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
