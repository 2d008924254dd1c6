//! Parts of the screen: a heading and its lines, and how rows are shared out.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::theme::Theme;

/// A part of the screen: a heading and its lines.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) heading: String,
    pub(super) lines: Vec<Line<'static>>,
    /// The fewest lines worth showing.
    pub(super) least: usize,
    /// The key that shows all of it.
    pub(super) key: Option<char>,
    /// Whether the last lines are shown where not all fit, and not the first.
    pub(super) newest_last: bool,
}

impl Section {
    pub(super) fn new(heading: impl Into<String>, lines: Vec<Line<'static>>) -> Self {
        Self {
            heading: heading.into(),
            lines,
            least: 1,
            key: None,
            newest_last: false,
        }
    }

    pub(super) fn at_least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    pub(super) fn key(self, key: char) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }
}

/// Draws sections one below the other. Each gets its least, in order, as long as
/// there are rows; then each gets what it still wants, in order.
pub(super) fn stack(sections: &[Section], area: Rect, frame: &mut Frame<'_>, theme: Theme) {
    let wanted: Vec<(usize, usize)> = sections
        .iter()
        .map(|section| (section.least, section.lines.len()))
        .collect();
    let rows = share(&wanted, usize::from(area.height));
    let mut top = area.y;
    for (section, rows) in sections.iter().zip(rows) {
        let Ok(height) = u16::try_from(rows) else {
            continue;
        };
        if height < 2 {
            continue;
        }
        let place = Rect {
            y: top,
            height,
            ..area
        };
        top += height;
        frame.render_widget(
            Text::from(shown(section, rows - 1, area.width, theme)),
            place,
        );
    }
}

/// Returns the heading and the lines that fit below it, with a word on the rest.
fn shown(section: &Section, rows: usize, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let more = section.lines.len().saturating_sub(rows);
    let rest = match (more, section.key) {
        (0, _) => String::new(),
        (more, Some(key)) => format!(" {more} more: press {key} ─"),
        (more, None) => format!(" {more} more ─"),
    };
    let mut lines = vec![rule_with(&section.heading, &rest, width, theme)];
    let skip = if section.newest_last { more } else { 0 };
    lines.extend(section.lines.iter().skip(skip).take(rows).cloned());
    lines
}

/// Draws a heading, as `─ Heading ─────`.
pub(super) fn rule(heading: &str, width: u16, theme: Theme) -> Line<'static> {
    rule_with(heading, "", width, theme)
}

/// Draws the same with something at its end.
fn rule_with(heading: &str, end: &str, width: u16, theme: Theme) -> Line<'static> {
    let mut line = Line::from(vec![
        Span::styled("─ ", theme.rule()),
        Span::styled(heading.to_owned(), theme.title()),
        Span::raw(" "),
    ]);
    let end = Span::styled(end.to_owned(), theme.label());
    let room = usize::from(width).saturating_sub(line.width() + end.width());
    line.push_span(Span::styled("─".repeat(room), theme.rule()));
    line.push_span(end);
    line
}

/// Shares rows out among sections, each given by its least and its number of lines.
/// Rows include the heading; 0 leaves a section out.
fn share(sections: &[(usize, usize)], rows: usize) -> Vec<usize> {
    let mut left = rows;
    let mut given = Vec::with_capacity(sections.len());
    for (least, lines) in sections {
        let least = 1 + (*least).min(*lines);
        let take = if least <= left { least } else { 0 };
        given.push(take);
        left -= take;
    }
    for (given, (_, lines)) in given.iter_mut().zip(sections) {
        if *given > 0 {
            let take = (1 + lines - *given).min(left);
            *given += take;
            left -= take;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_shared_in_order() {
        assert_eq!(share(&[(2, 5), (1, 3)], 20), [6, 4]);
        assert_eq!(share(&[(2, 5), (1, 3)], 8), [6, 2]);
        assert_eq!(share(&[(2, 5), (1, 3)], 4), [4, 0]);
        assert_eq!(share(&[(2, 5), (1, 3)], 2), [0, 2]);
        assert_eq!(share(&[], 2), [0; 0]);
    }
}
