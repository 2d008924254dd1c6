//! A history as a chart, where there is room for one.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType};

use super::sections::rule;
use super::theme::Theme;
use crate::state::series::Series;

/// Draws `series` over its steps below a heading.
pub(super) fn draw(
    heading: &str,
    series: &Series,
    words: fn(f64) -> String,
    area: Rect,
    frame: &mut Frame<'_>,
    theme: Theme,
) {
    let top = Rect { height: 1, ..area };
    frame.render_widget(rule(heading, area.width, theme), top);
    let below = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    };
    let points: Vec<(f64, f64)> = series
        .points()
        .filter(|(_, value)| value.is_finite())
        .map(|(at, value)| (at as f64, value))
        .collect();
    let [(first, _), .., (last, _)] = points.as_slice() else {
        frame.render_widget(Line::from(" fewer than two steps so far"), below);
        return;
    };
    let (first, last) = (*first, *last);
    let low = points.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
    let high = points
        .iter()
        .map(|(_, y)| *y)
        .fold(f64::NEG_INFINITY, f64::max);
    // A flat line is drawn in the middle, and not on the border.
    let margin = if high > low {
        0.0
    } else {
        high.abs().max(1e-9)
    };
    let (low, high) = (low - margin, high + margin);
    let dataset = Dataset::default()
        .marker(Marker::Braille)
        .graph_type(GraphType::Line)
        .style(theme.curve())
        .data(&points);
    let steps = Axis::default()
        .bounds([first, last])
        .labels([format!("step {first:.0}"), format!("{last:.0}")])
        .style(theme.rule())
        .labels_alignment(ratatui::layout::Alignment::Left);
    let values = Axis::default()
        .bounds([low, high])
        .labels([words(low), words(high)])
        .style(theme.rule());
    let chart = Chart::new(vec![dataset])
        .x_axis(steps)
        .y_axis(values)
        .style(Style::new());
    frame.render_widget(chart, below);
}
