//! One frame as plain words, for `--once` and for terminals that cannot do
//! more.

use super::devices::Detail;
use super::theme::Theme;
use super::{all, run_list};
use crate::state::State;

/// Columns of a frame that no terminal gives a width to.
const WIDTH: usize = 80;

/// Everything that is known, without colour and without a limit of rows.
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
        for line in &section.lines {
            text.push_str(line.to_string().trim_end());
            text.push('\n');
        }
    }
    if state.runs.len() > 1 {
        text.push_str(&format!("\nRuns below {}\n", state.folder.display()));
        // No cursor: nothing can be pressed here.
        let mut still = state.clone();
        still.cursor = usize::MAX;
        for line in run_list(&still, WIDTH, theme).0 {
            text.push_str(line.to_string().trim_end());
            text.push('\n');
        }
    }
    text.trim_start_matches('\n').to_owned()
}
