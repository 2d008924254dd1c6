//! What is shown, as a pure function of the state and the size.
//!
//! A part of the screen is a list of lines made for a width. The overview
//! stacks the parts and shortens them to fit; a page shows one of them whole
//! and scrolls; `--once` prints them all.

mod chart;
mod devices;
pub(crate) mod document;
mod findings;
mod format;
mod help;
mod ledger;
mod run;
mod sections;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod theme;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span, Text};

use devices::Detail;
use format::{counted, duration};
use sections::{Section, stack};
use theme::Theme;

use crate::source::life::Life;
use crate::state::run::RunState;
use crate::state::{Page, State};

/// The smallest size that holds a line worth reading, in columns and rows.
const LEAST: (u16, u16) = (40, 8);
/// The size from which there is room for charts and a second column.
const WIDE: (u16, u16) = (140, 36);

/// How far the page that was drawn can be scrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) scroll_limit: usize,
}

/// Draws the state into a frame.
pub(crate) fn draw(state: &State, theme: Theme, frame: &mut Frame<'_>) -> Drawn {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        too_small(area, frame);
        return Drawn::default();
    }
    let [top, middle, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(title(state, theme), top);
    frame.render_widget(footer(state, area.width, theme), bottom);
    if state.help {
        let lines = help::lines(usize::from(area.width), theme);
        return page("Help", &lines, 0, middle, frame, theme);
    }
    match state.page {
        Page::Overview => {
            overview(state, middle, frame, theme);
            Drawn::default()
        }
        Page::Runs => {
            let (lines, at) = run_list(state, usize::from(area.width), theme);
            // The chosen run stays in sight.
            let rows = usize::from(middle.height.saturating_sub(1));
            let scroll = at.saturating_sub(rows.saturating_sub(1));
            page("Runs", &lines, scroll, middle, frame, theme);
            Drawn::default()
        }
        other => {
            let section = section(other, state, usize::from(area.width), theme);
            let heading = &section.heading;
            page(heading, &section.lines, state.scroll, middle, frame, theme)
        }
    }
}

fn too_small(area: Rect, frame: &mut Frame<'_>) {
    let (width, height) = LEAST;
    let words = format!(
        "too small: {} x {}, needs {width} x {height}",
        area.width, area.height
    );
    let wrapped = format::wrapped(&words, usize::from(area.width), 0);
    let lines: Vec<Line<'_>> = wrapped.into_iter().map(Line::from).collect();
    frame.render_widget(Text::from(lines), area);
}

fn title(state: &State, theme: Theme) -> Line<'static> {
    let mut line = Line::from(Span::styled(" myxtts monitor ", theme.title()));
    match &state.run {
        Some(run) => {
            line.push_span(Span::raw(format!(" {}", run.path.display())));
            if let Some(at) = state.position(&run.path) {
                let count = state.runs.len();
                line.push_span(Span::styled(
                    format!("  run {} of {count}", at + 1),
                    theme.label(),
                ));
            }
            let (word, style) = match run.life {
                Life::Running { .. } => ("running", theme.good()),
                Life::Ended => ("ended", theme.label()),
                Life::Lost { .. } => ("lost", theme.bad()),
                Life::Unclear => ("unclear", theme.warning()),
            };
            line.push_span(Span::styled(format!("  {word}"), style));
        }
        None => line.push_span(Span::raw(format!(" {}", state.folder.display()))),
    }
    line
}

fn footer(state: &State, width: u16, theme: Theme) -> Line<'static> {
    let others = match state.others_running() {
        0 => String::new(),
        count => format!("   {} running", counted(count, "other run", "other runs")),
    };
    let keys = match width {
        72.. => " q quit  left/right run  1 all 2 run 3 devices 4 findings 5 log 6 runs  ? help",
        _ => " q quit  ? help  left/right run",
    };
    let mut line = Line::styled(keys, theme.label());
    if line.width() + others.len() <= usize::from(width) {
        line.push_span(Span::styled(others, theme.warning()));
    }
    line
}

/// Draws one list over the whole screen, moved up by `scroll`.
fn page(
    heading: &str,
    lines: &[Line<'static>],
    scroll: usize,
    area: Rect,
    frame: &mut Frame<'_>,
    theme: Theme,
) -> Drawn {
    let rows = usize::from(area.height.saturating_sub(1));
    let limit = lines.len().saturating_sub(rows);
    let first = scroll.min(limit);
    let heading = match limit {
        0 => heading.to_owned(),
        _ => {
            let last = (first + rows).min(lines.len());
            format!(
                "{heading}, lines {} to {last} of {}",
                first + 1,
                lines.len()
            )
        }
    };
    let mut shown = vec![sections::rule(&heading, area.width, theme)];
    shown.extend(lines.iter().skip(first).take(rows).cloned());
    frame.render_widget(Text::from(shown), area);
    Drawn {
        scroll_limit: limit,
    }
}

fn overview(state: &State, area: Rect, frame: &mut Frame<'_>, theme: Theme) {
    let wide = area.width >= WIDE.0 && area.height >= WIDE.1;
    match &state.run {
        Some(run) if wide => two_columns(run, state, area, frame, theme),
        _ => {
            let width = usize::from(area.width);
            let sections = all(state, width, Detail::Brief, theme);
            stack(&sections, area, frame, theme);
        }
    }
}

/// Draws figures, ledger and charts on the left, everything else on the right.
fn two_columns(run: &RunState, state: &State, area: Rect, frame: &mut Frame<'_>, theme: Theme) {
    let [left, gap, right] = Layout::horizontal([
        Constraint::Percentage(50),
        Constraint::Length(2),
        Constraint::Fill(1),
    ])
    .areas(area);
    frame.render_widget(Text::default(), gap);
    let width = usize::from(left.width);
    let ledger = Section::new(ledger::heading(), ledger::lines(run, width, theme));
    let figures = Section::new(run::heading(), run::lines(run, state, width, theme));
    let rows = |section: &Section| u16::try_from(section.lines.len() + 1).unwrap_or(u16::MAX);
    let [figures_area, ledger_area, loss_area, step_area] = Layout::vertical([
        Constraint::Length(rows(&figures)),
        Constraint::Length(rows(&ledger)),
        Constraint::Fill(1),
        Constraint::Fill(1),
    ])
    .areas(left);
    stack(&[figures], figures_area, frame, theme);
    stack(&[ledger], ledger_area, frame, theme);
    let stage = run
        .stage
        .as_ref()
        .map_or_else(String::new, |stage| format!(" of stage {stage}"));
    let loss = format!("Loss{stage}");
    chart::draw(&loss, &run.loss, format::loss, loss_area, frame, theme);
    let times = &run.step_s;
    chart::draw(
        "Step time",
        times,
        format::step_time,
        step_area,
        frame,
        theme,
    );
    let width = usize::from(right.width);
    let sections = [
        section(Page::Devices, state, width, theme).at_least(6),
        section(Page::Findings, state, width, theme).at_least(4),
        newest_log(run, theme, usize::from(right.height) / 3),
    ];
    stack(&sections, right, frame, theme);
}

/// Returns every part, the most important first.
fn all(state: &State, width: usize, detail: Detail, theme: Theme) -> Vec<Section> {
    let devices = Section::new(
        devices::heading(&state.machine),
        devices::lines(state, width, detail, theme),
    )
    .key('3');
    let Some(run) = &state.run else {
        return vec![no_run(state, width).at_least(2), devices.at_least(3)];
    };
    vec![
        Section::new(run::heading(), run::lines(run, state, width, theme))
            .at_least(6)
            .key('2'),
        Section::new(ledger::heading(), ledger::lines(run, width, theme))
            .at_least(ledger::least(run))
            .key('2'),
        devices.at_least(4),
        Section::new(
            findings::heading(run),
            findings::lines(run, state, width, theme),
        )
        .at_least(2)
        .key('4'),
        newest_log(run, theme, 6).key('5'),
    ]
}

fn section(page: Page, state: &State, width: usize, theme: Theme) -> Section {
    match (page, &state.run) {
        (Page::Devices, _) => Section::new(
            devices::heading(&state.machine),
            devices::lines(state, width, Detail::Full, theme),
        )
        .key('3'),
        (Page::Run, Some(run)) => {
            let mut lines = run::lines(run, state, width, theme);
            lines.push(sections::rule(&ledger::heading(), columns(width), theme));
            lines.extend(ledger::lines(run, width, theme));
            Section::new(run::heading(), lines)
        }
        (Page::Findings, Some(run)) => Section::new(
            findings::heading(run),
            findings::lines(run, state, width, theme),
        )
        .key('4'),
        (Page::Log, Some(run)) => log(run, width),
        _ => no_run(state, width),
    }
}

fn columns(width: usize) -> u16 {
    u16::try_from(width).unwrap_or(u16::MAX)
}

/// Returns the whole log that is kept, the newest line first: a page is read from
/// its top.
fn log(run: &RunState, width: usize) -> Section {
    let lines = run.log.iter().rev().flat_map(|line| {
        let words = format::wrapped(line, width.saturating_sub(2), 2);
        words.into_iter().map(|line| Line::from(format!(" {line}")))
    });
    let mut lines: Vec<Line<'static>> = lines.collect();
    if lines.is_empty() {
        lines.push(Line::from(" unavailable: train.log has no lines"));
    }
    Section::new("Log, newest first", lines)
}

/// Returns the last lines of the log, in order, each cut at the border.
fn newest_log(run: &RunState, theme: Theme, most: usize) -> Section {
    let skip = run.log.len().saturating_sub(most);
    let lines = run.log.iter().skip(skip);
    let lines = lines.map(|line| Line::styled(format!(" {line}"), theme.label()));
    Section {
        newest_last: true,
        ..Section::new("Log", lines.collect())
    }
}

fn no_run(state: &State, width: usize) -> Section {
    let folder = state.folder.display();
    let words = match state.listed {
        false => format!("looking for runs below {folder}"),
        true => format!(
            "no run below {folder} yet; looking again every 2 s. Start one with \
             `myxtts train`, or name another folder: `myxtts monitor DIR`"
        ),
    };
    let lines = format::wrapped(&words, width.saturating_sub(2), 0);
    let lines = lines.into_iter().map(|line| Line::from(format!(" {line}")));
    Section::new("Run", lines.collect())
}

/// Returns the list of runs, and the line of the chosen one.
fn run_list(state: &State, width: usize, theme: Theme) -> (Vec<Line<'static>>, usize) {
    if state.runs.is_empty() {
        return (no_run(state, width).lines, 0);
    }
    let shown = state.run.as_ref().map(|run| &run.path);
    let lines = state.runs.iter().enumerate().map(|(at, run)| {
        let mark = if Some(&run.path) == shown { '*' } else { ' ' };
        let cursor = if at == state.cursor { '>' } else { ' ' };
        let life = match run.life {
            Life::Running { process } => format!("running, process {process}"),
            Life::Ended => "ended".to_owned(),
            Life::Lost { process } => format!("lost, process {process} is gone"),
            Life::Unclear => "unclear".to_owned(),
        };
        let written = run.written.map(|written| state.now.since(written));
        let ago = written.map_or_else(String::new, |ago| format!(", wrote {} ago", duration(ago)));
        let line = format!("{cursor}{mark}{:<30}  {life}{ago}", run.name);
        match at == state.cursor {
            true => Line::styled(line, theme.chosen()),
            false => Line::from(line),
        }
    });
    (lines.collect(), state.cursor)
}
