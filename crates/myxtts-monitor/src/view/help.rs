//! The keys, and what the figures mean.

use ratatui::text::Line;

use super::format::wrapped;
use super::theme::Theme;

const KEYS: [(&str, &str); 10] = [
    ("q, Ctrl-C", "quit; the training is not affected"),
    ("left, right", "the previous run, the next run (also p, n)"),
    ("1 to 6, Tab", "overview, run, devices, findings, log, runs"),
    (
        "up, down",
        "scroll a page; choose in the list of runs (also k, j)",
    ),
    ("Page up, down", "ten lines at once"),
    ("Enter", "open the chosen run"),
    ("Esc", "back to the overview"),
    ("Ctrl-L", "redraw, if another program wrote over the screen"),
    ("?, h", "this help"),
    ("", ""),
];

const MEANINGS: [(&str, &str); 6] = [
    (
        "busy",
        "share of time a stage worked, or a kernel ran on the GPU",
    ),
    (
        "wait in",
        "a stage waited for the one before it: that one is slow",
    ),
    (
        "wait out",
        "a stage waited for room: the one after it is slow",
    ),
    ("ring", "batches ready in the stage's ring, on average"),
    (
        "data wait",
        "share of step time the model waited for its batch",
    ),
    ("p95", "95 of 100 steps took at most this long"),
];

pub(super) fn lines(width: usize, theme: Theme) -> Vec<Line<'static>> {
    let all = KEYS.iter().chain(&MEANINGS);
    let lines = all.flat_map(|(name, means)| {
        let said = wrapped(means, width.saturating_sub(18), 0);
        let names = std::iter::once(*name).chain(std::iter::repeat(""));
        names
            .zip(said)
            .map(|(name, said)| Line::from(format!(" {name:<15} {said}")))
            .collect::<Vec<_>>()
    });
    let mut lines: Vec<_> = lines.collect();
    lines.push(Line::default());
    lines.push(Line::styled(" any key closes this", theme.label()));
    lines
}
