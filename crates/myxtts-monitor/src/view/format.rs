//! Numbers as words, and a row of numbers as a picture.

use ratatui::text::{Line, Span};

use super::theme::Theme;
use crate::reading::Reading;
use crate::units::Seconds;

/// Writes a duration: `3 s`, `4 min 05 s`, `2 h 11 min`, `3 d 04 h`.
pub(super) fn duration(seconds: Seconds) -> String {
    let whole = std::time::Duration::try_from_secs_f64(seconds.0).unwrap_or_default();
    let left = whole.as_secs();
    let (days, hours, minutes) = (left / 86_400, left / 3600 % 24, left / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{left} s"),
        (0, 0, _) => format!("{minutes} min {:02} s", left % 60),
        (0, _, _) => format!("{hours} h {minutes:02} min"),
        _ => format!("{days} d {hours:02} h"),
    }
}

/// Writes a step's time: three digits, whether it takes a millisecond or a minute.
pub(super) fn step_time(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => format!("{:.1} ms", s * 1000.0),
        s if s < 10.0 => format!("{s:.3} s"),
        s => format!("{s:.1} s"),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Writes a loss; small ones keep their digits.
pub(super) fn loss(value: f64) -> String {
    match value.abs() {
        v if v != 0.0 && v < 0.001 => format!("{value:.2e}"),
        _ => format!("{value:.4}"),
    }
}

pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

/// Writes a number that was read, with its unit; `None` where it is missing.
pub(super) fn reading(reading: &Reading<f64>, unit: &str) -> Option<String> {
    reading.value().map(|value| format!("{value:.0} {unit}"))
}

/// Draws numbers as a row of bars from `low` to `high`; a gap is a space.
pub(super) fn bars(values: &[f64], low: f64, high: f64) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |value: &f64| {
        if !value.is_finite() {
            return ' ';
        }
        // Compared with thresholds and not divided: nothing has to be rounded, and
        // a row of equal numbers is a flat line.
        let above = (1..BARS.len()).filter(|eighth| {
            let threshold = low + (high - low) * (*eighth as f64) / (BARS.len() as f64);
            *value >= threshold && high > low
        });
        BARS.get(above.count()).copied().unwrap_or(' ')
    };
    values.iter().map(bar).collect()
}

/// Returns the lowest and the highest of some numbers, gaps left out.
pub(super) fn range(values: &[f64]) -> (f64, f64) {
    let known = values.iter().copied().filter(|value| value.is_finite());
    known.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// Writes `label` in its column, then what is said of it.
pub(super) fn labelled(label: &str, value: impl Into<String>, theme: Theme) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!(" {label:<10} "), theme.label()),
        Span::raw(value.into()),
    ])
}

/// Breaks words into lines of at most `width` columns, all but the first
/// beginning with `indent` spaces.
pub(super) fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(indent + 8);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let room = width.saturating_sub(columns(&line) + 1);
        let is_bare = line.trim().is_empty();
        if !is_bare && columns(word) > room {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !is_bare {
            line.push(' ');
        }
        // A path or a hash longer than a line is cut into pieces.
        for letter in word.chars() {
            if columns(&line) + 1 > width {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            }
            line.push(letter);
        }
    }
    lines.push(line);
    lines
}

/// Returns how wide text is on a terminal, in columns.
pub(super) fn columns(text: &str) -> usize {
    Span::raw(text).width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_go_from_low_to_high() {
        assert_eq!(bars(&[0.0, 50.0, 100.0], 0.0, 100.0), "▁▅█");
        assert_eq!(bars(&[f64::NAN, 1.0], 0.0, 1.0), " █");
        assert_eq!(bars(&[3.0, 3.0], 3.0, 3.0), "▁▁");
    }

    #[test]
    fn words_are_broken_between_words() {
        let text = "unavailable: a reason of some length";
        let lines = wrapped(text, 20, 2);
        assert_eq!(lines, ["unavailable: a", "  reason of some", "  length"]);
        assert_eq!(wrapped(&"x".repeat(25), 10, 2).len(), 3);
        assert_eq!(wrapped("", 10, 2), [""]);
    }

    #[test]
    fn durations_are_read_at_a_glance() {
        let said = [0.4, 65.0, 7260.0, 2e5, f64::NAN].map(|s| duration(Seconds(s)));
        assert_eq!(said, ["0 s", "1 min 05 s", "2 h 01 min", "2 d 07 h", "0 s"]);
        let said = [0.0123, 0.25, 83.7].map(step_time);
        assert_eq!(said, ["12.3 ms", "0.250 s", "83.7 s"]);
    }
}
