//! Colours, or none.

use ratatui::style::{Color, Modifier, Style};

/// How things are set apart. Without colour every difference is also in the
/// words, so nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Theme {
    pub(crate) color: bool,
}

impl Theme {
    fn of(self, color: Color) -> Style {
        match self.color {
            true => Style::new().fg(color),
            false => Style::new(),
        }
    }

    pub(super) fn title(self) -> Style {
        self.of(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub(super) fn label(self) -> Style {
        self.of(Color::Gray)
    }

    pub(super) fn rule(self) -> Style {
        self.of(Color::DarkGray)
    }

    pub(super) fn curve(self) -> Style {
        self.of(Color::Green)
    }

    pub(super) fn good(self) -> Style {
        self.of(Color::Green)
    }

    pub(super) fn warning(self) -> Style {
        self.of(Color::Yellow)
    }

    pub(super) fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
