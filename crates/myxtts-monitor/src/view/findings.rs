//! What was found last, the most worthwhile first.

use ratatui::text::Line;

use super::format::{counted, duration, wrapped};
use super::theme::Theme;
use crate::source::findings::{Finding, Findings};
use crate::state::State;
use crate::state::run::RunState;
use crate::units::Seconds;

pub(super) fn heading(run: &RunState) -> String {
    let step = run.findings.as_ref().ok().and_then(Option::as_ref);
    match step.and_then(|findings| findings.at_step) {
        Some(step) => format!("Findings, at step {step}"),
        None => "Findings".to_owned(),
    }
}

pub(super) fn lines(
    run: &RunState,
    state: &State,
    width: usize,
    theme: Theme,
) -> Vec<Line<'static>> {
    let said = |words: &str| {
        let lines = wrapped(words, width.saturating_sub(2), 0);
        let lines = lines.into_iter().map(|line| Line::from(format!(" {line}")));
        lines.collect::<Vec<_>>()
    };
    match &run.findings {
        Err(why) => said(&format!("unavailable: {why}")),
        Ok(None) => said("unavailable: no findings.json (none yet, or an older run)"),
        Ok(Some(findings)) => found(findings, state, width, theme),
    }
}

fn found(findings: &Findings, state: &State, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let age = findings.wall_time.map(|at| state.now.since(at));
    let verdict = findings
        .sentence()
        .unwrap_or_else(|| "no verdict: what it needs was not measured".to_owned());
    let said = match age {
        Some(age) => format!("{verdict} ({} ago)", duration(age)),
        None => verdict,
    };
    let words = wrapped(&said, width.saturating_sub(2), 0);
    lines.extend(words.into_iter().map(|line| Line::from(format!(" {line}"))));
    for (number, finding) in (1..).zip(&findings.findings) {
        lines.extend(one(number, finding, width, theme));
    }
    if !findings.silent.is_empty() {
        let rules = counted(findings.silent.len(), "rule", "rules");
        let words = format!(" {rules} could not be checked: a signal is unavailable");
        lines.push(Line::styled(words, theme.label()));
    }
    lines
}

fn one(number: usize, finding: &Finding, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let gain = match finding.gain_s() {
        Some((seconds, false)) => format!(", {} per 1,000 steps", duration(Seconds(seconds))),
        Some((seconds, true)) => {
            format!(", at most {} per 1,000 steps", duration(Seconds(seconds)))
        }
        None => String::new(),
    };
    let severity = match finding.severity.as_str() {
        "" => String::new(),
        severity => format!(" ({severity})"),
    };
    let style = match finding.severity.as_str() {
        "problem" | "blocking" => theme.bad(),
        "warning" => theme.warning(),
        _ => theme.label(),
    };
    let room = width.saturating_sub(5);
    let mut lines = Vec::new();
    let head = format!("{number}. {}{severity}{gain}", finding.code);
    lines.extend(
        wrapped(&head, room, 3)
            .into_iter()
            .map(|line| Line::styled(format!(" {line}"), style)),
    );
    for words in [&finding.cause, &finding.fix] {
        if !words.is_empty() {
            let wrapped = wrapped(words, room, 0).into_iter();
            lines.extend(wrapped.map(|line| Line::from(format!("    {line}"))));
        }
    }
    lines
}
