//! The run: how far, how fast, what it costs, what it learned.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::format::{
    bars, columns, counted, duration, labelled, loss, percent, range, step_time, wrapped,
};
use super::theme::Theme;
use crate::source::life::Life;
use crate::state::State;
use crate::state::run::{RECENT, RunState};
use crate::state::series::{Series, Squeeze};
use crate::units::Seconds;

/// Says whether the run is running, and in what style that is shown.
pub(super) fn life(run: &RunState, state: &State, theme: Theme) -> (String, Style) {
    let silence = run.written.map(|written| state.now.since(written));
    let ago = silence.map_or_else(String::new, |silence| {
        format!(", wrote {} ago", duration(silence))
    });
    match run.life {
        Life::Running { process } => {
            let quiet = silence.is_some_and(|silence| silence > Seconds(60.0));
            let style = if quiet { theme.warning() } else { theme.good() };
            (format!("running, process {process}{ago}"), style)
        }
        Life::Ended => (format!("ended{ago}"), Style::new()),
        Life::Lost { process } => (
            format!("ended unexpectedly: process {process} is gone{ago}"),
            theme.bad(),
        ),
        Life::Unclear => (
            format!("no run.lock: an older run or a copy of one{ago}"),
            theme.warning(),
        ),
    }
}

/// Returns everything about the run, for `width` columns.
pub(super) fn lines(
    run: &RunState,
    state: &State,
    width: usize,
    theme: Theme,
) -> Vec<Line<'static>> {
    let (life, style) = life(run, state, theme);
    let mut lines = vec![Line::from(vec![
        Span::styled(format!(" {:<10} ", "state"), theme.label()),
        Span::styled(life, style),
    ])];
    lines.push(labelled("step", progress(run), theme));
    lines.push(labelled("ETA", eta(run), theme));
    lines.push(curve(
        "loss",
        &loss_words(run),
        &run.loss,
        Squeeze::Mean,
        width,
        theme,
    ));
    lines.push(curve(
        "step time",
        &step_words(run),
        &run.step_s,
        Squeeze::Max,
        width,
        theme,
    ));
    let wait = match run.share(&run.data_wait_s) {
        Some(share) => percent(share),
        None => missing(run, "data_wait_s"),
    };
    lines.push(curve(
        "data wait",
        &wait,
        &run.data_wait(),
        Squeeze::Max,
        width,
        theme,
    ));
    lines.extend(costs(run, width, theme));
    if let Some((step, values)) = &run.validation {
        let values = values.iter().map(|(name, value)| {
            let name = name.trim_start_matches("val_").replace('_', " ");
            format!("{name} {}", loss(*value))
        });
        let said = format!("at step {step}: {}", values.collect::<Vec<_>>().join(", "));
        lines.extend(indented("validated", &said, width, theme));
    }
    lines.extend(troubles(run, width, theme));
    lines
}

fn progress(run: &RunState) -> String {
    let Some(step) = run.step else {
        return "unavailable: metrics.jsonl has no step yet".to_owned();
    };
    let mut said = match run.total() {
        Some(total) if total > 0 => {
            let share = step as f64 / total as f64;
            format!("{step} of {total}, {}", percent(share.min(1.0)))
        }
        _ => step.to_string(),
    };
    let stage = run.progress.as_ref().and_then(|said| said.stage.as_ref());
    match (stage, &run.stage) {
        (Some(stage), Some(name)) if stage.name == *name => {
            // The log gives the step within the stage every few steps, the metrics
            // give each step.
            let since = run
                .progress
                .as_ref()
                .map_or(0, |said| step.saturating_sub(said.step));
            let done = (stage.step + since).min(stage.total);
            said.push_str(&format!(
                "; stage {} of {}: {name}, {done} of {}",
                stage.number, stage.of, stage.total
            ));
        }
        (_, Some(name)) => said.push_str(&format!("; stage {name}")),
        (_, None) => {}
    }
    said
}

fn eta(run: &RunState) -> String {
    let Some(progress) = &run.progress else {
        return "unavailable: train.log has no progress line".to_owned();
    };
    match &progress.eta {
        _ if progress.total.is_some_and(|total| progress.step >= total) => {
            "all steps are done".to_owned()
        }
        Some(eta) => {
            let of = if eta.of_stage { " of this stage" } else { "" };
            format!("{}{of}, as reported at step {}", eta.words, progress.step)
        }
        None => "unavailable: the run has not reported it".to_owned(),
    }
}

fn loss_words(run: &RunState) -> String {
    match run.loss.last() {
        Some(value) => loss(value),
        None => missing(run, "loss"),
    }
}

fn step_words(run: &RunState) -> String {
    match (run.step_mean(), run.step_p95()) {
        (Some(mean), Some(p95)) => format!("{}, p95 {}", step_time(mean), step_time(p95)),
        _ => missing(run, "step_s"),
    }
}

/// Says why a figure of the steps is not there.
fn missing(run: &RunState, field: &str) -> String {
    match run.step {
        None => "unavailable: no step yet".to_owned(),
        Some(_) => format!("unavailable: metrics.jsonl has no {field}"),
    }
}

/// Draws a figure and its history.
fn curve(
    label: &str,
    words: &str,
    series: &Series,
    squeeze: Squeeze,
    width: usize,
    theme: Theme,
) -> Line<'static> {
    let head = format!(" {label:<10} {words:<24} ");
    let room = width.saturating_sub(columns(&head) + 1);
    let values = series.columns(room, squeeze);
    let (low, high) = range(&values);
    // From zero where that is not far: half the height then is half the value.
    let low = if low > 0.0 && low < high / 2.0 {
        0.0
    } else {
        low
    };
    let picture = if series.len() > 1 {
        bars(&values, low, high)
    } else {
        String::new()
    };
    let mut line = labelled(label, format!("{words:<24} "), theme);
    line.push_span(Span::styled(picture, theme.curve()));
    line
}

/// Lists what else the time of the last steps went into.
fn costs(run: &RunState, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut said = Vec::new();
    match run.padding_mean() {
        Some(padding) => said.push(format!("padding {}", percent(padding))),
        None if run.step.is_some() => {
            said.push("padding unavailable: not in metrics.jsonl".to_owned());
        }
        None => {}
    }
    if let Some(share) = run.share(&run.read_back_s) {
        said.push(format!("waiting for the device {}", percent(share)));
    }
    if let Some(share) = run.share(&run.collective_s).filter(|share| *share > 0.0) {
        said.push(format!("averaging {}", percent(share)));
    }
    if let Some(rate) = run.audio_rate() {
        said.push(format!("{rate:.0} s of audio a second"));
    }
    if let Some(new) = run.kernels_new.filter(|new| *new > 0.0) {
        said.push(format!("kernels compiled {new:.0}"));
    }
    for (name, count, seconds) in &run.pauses {
        said.push(format!(
            "{name} {count} x {}",
            step_time(seconds.0 / (*count as f64))
        ));
    }
    match said.is_empty() {
        true => Vec::new(),
        false => indented("costs", &said.join(", "), width, theme),
    }
}

fn troubles(run: &RunState, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut troubles: Vec<String> = run.errors.clone();
    if run.unreadable > 0 {
        let count = usize::try_from(run.unreadable).unwrap_or(usize::MAX);
        let lines = counted(count, "line was", "lines were");
        troubles.push(format!("{lines} not understood and left out"));
    }
    let lines = troubles
        .iter()
        .flat_map(|trouble| indented("files", trouble, width, theme));
    lines
        .map(|line| line.patch_style(theme.warning()))
        .collect()
}

/// Puts words beside a label, over as many lines as they take.
pub(super) fn indented(label: &str, words: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let indent = 12;
    let wrapped = wrapped(words, width.saturating_sub(indent + 1), 0);
    let mut lines = wrapped.into_iter();
    let first = lines.next().unwrap_or_default();
    let rest = lines.map(|line| Line::from(format!("{}{line}", " ".repeat(indent))));
    std::iter::once(labelled(label, first, theme))
        .chain(rest)
        .collect()
}

/// Returns the heading, which says what the figures are taken over.
pub(super) fn heading() -> String {
    format!("Run, figures of its last {RECENT} steps")
}
