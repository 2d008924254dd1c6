//! The stall ledger: work and waiting of every stage.

use ratatui::text::{Line, Span};

use super::format::percent;
use super::theme::Theme;
use crate::state::ledger::{StageShares, WINDOW};
use crate::state::run::RunState;

/// The width of the table before the bar, in columns.
const TABLE: usize = 61;

pub(super) fn heading() -> String {
    format!("Stall ledger, the last {WINDOW} batches of each stage")
}

pub(super) fn lines(run: &RunState, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let stages = run.ledger.stages();
    if stages.is_empty() {
        return vec![Line::from(
            " unavailable: ledger.jsonl has no batch (none yet, or an older run)",
        )];
    }
    let head = format!(
        " {:<8}{:>8}{:>9}{:>9}{:>10}{:>8}{:>8}",
        "stage", "batches", "busy", "wait in", "wait out", "ring", "threads"
    );
    let mut lines = vec![Line::styled(head, theme.label())];
    let room = width.saturating_sub(TABLE + 1);
    lines.extend(stages.iter().map(|stage| row(stage, room, theme)));
    for stage in stages.iter().filter(|stage| !stage.parts.is_empty()) {
        let parts = stage.parts.iter();
        let parts = parts.map(|(name, share)| format!("{name} {}", percent(*share)));
        let parts = parts.collect::<Vec<_>>().join(", ");
        let words = format!(" {} work: {parts}", stage.stage);
        lines.push(Line::styled(words, theme.label()));
    }
    lines
}

/// Returns the number of lines that show every stage.
pub(super) fn least(run: &RunState) -> usize {
    1 + run.ledger.stages().len()
}

fn row(stage: &StageShares, room: usize, theme: Theme) -> Line<'static> {
    let table = format!(
        " {:<8}{:>8}{:>9}{:>9}{:>10}{:>8.1}{:>8} ",
        stage.stage,
        stage.batches,
        percent(stage.busy),
        percent(stage.wait_in),
        percent(stage.wait_out),
        stage.occupancy,
        stage.threads,
    );
    let mut line = Line::from(table);
    // The model's waiting for input is what the whole ledger is about.
    let starved = stage.stage == "model" && stage.wait_in >= 0.05;
    let parts = [
        (stage.busy, "█", theme.good()),
        (
            stage.wait_in,
            "░",
            if starved { theme.bad() } else { theme.label() },
        ),
        (stage.wait_out, "▒", theme.label()),
    ];
    for ((from, to), symbol, style) in cells(&parts, room) {
        line.push_span(Span::styled(symbol.repeat(to - from), style));
    }
    line
}

type Part = (f64, &'static str, ratatui::style::Style);
type Cells = Vec<((usize, usize), &'static str, ratatui::style::Style)>;

/// Shares out the cells of a bar that has `room` of them.
fn cells(parts: &[Part], room: usize) -> Cells {
    // Cells whose middle is below an edge are counted, so nothing is rounded.
    let middle = |cell: usize| (cell as f64 + 0.5) / (room.max(1) as f64);
    let below = |edge: f64| (0..room).filter(|cell| middle(*cell) < edge).count();
    let mut edge = 0.0;
    let mut cells = Vec::new();
    for (share, symbol, style) in parts {
        let from = below(edge);
        edge += share;
        cells.push(((from, below(edge).max(from)), *symbol, *style));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_divided_by_its_shares() {
        let style = ratatui::style::Style::new();
        let parts = [(0.25, "a", style), (0.5, "b", style), (0.25, "c", style)];
        let ends: Vec<_> = cells(&parts, 8)
            .into_iter()
            .map(|(ends, ..)| ends)
            .collect();
        assert_eq!(ends, [(0, 2), (2, 6), (6, 8)]);
        assert!(cells(&parts, 0).iter().all(|((from, to), ..)| from == to));
    }
}
