//! One frame as plain words, for `--once` and for terminals that cannot do
//! more.

use ratatui::text::Line;

use super::devices::Detail;
use super::theme::Theme;
use super::{all, run_list};
use crate::state::State;

/// The width of a frame that no terminal gives one to, in columns.
const WIDTH: usize = 80;

/// Writes everything that is known, without colour and without a limit of rows.
pub(crate) fn frame(state: &State) -> String {
    let theme = Theme { color: false };
    let mut text = String::new();
    if let Some(run) = &state.run {
        text.push_str(&format!("{}\n", run.path.display()));
    }
    for section in all(state, WIDTH, Detail::Full, theme) {
        if section.lines.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{}\n", section.heading));
        section.lines.iter().for_each(|line| push(&mut text, line));
    }
    if state.runs.len() > 1 {
        text.push_str(&format!("\nRuns below {}\n", state.folder.display()));
        // No cursor: nothing can be pressed here.
        let mut still = state.clone();
        still.cursor = usize::MAX;
        let (lines, _) = run_list(&still, WIDTH, theme);
        lines.iter().for_each(|line| push(&mut text, line));
    }
    text.trim_start_matches('\n').to_owned()
}

/// Appends one line. Control characters of a log or a name could move the cursor of
/// whoever reads this in a terminal; drawing a frame leaves them out, too.
fn push(text: &mut String, line: &Line<'_>) {
    let words = line.to_string().replace(char::is_control, " ");
    text.push_str(words.trim_end());
    text.push('\n');
}
