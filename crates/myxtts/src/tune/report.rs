//! What was tried, and how it turned out.

use std::fmt;

use serde::Serialize;

use crate::steps::{Ended, Measured, StepFigures};

/// One configuration that was tried, or skipped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Trial {
    tried: String,
    /// Seconds of audio per second; absent if only memory was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    audio_per_s: Option<f64>,
    /// The gain over what it was measured against, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    gain_pct: Option<f64>,
    is_kept: bool,
    /// The outcome in words.
    outcome: String,
}

impl Trial {
    /// Returns a trial measured beside `against`, which trained on `was` seconds of audio per
    /// second.
    pub(super) fn of(
        tried: &str,
        against: &str,
        measured: &Measured,
        was: f64,
        is_kept: bool,
    ) -> Self {
        let is = measured.figures.audio_per_s;
        let gain = 100.0 * (is / was.max(1e-9) - 1.0);
        Self {
            tried: tried.to_owned(),
            audio_per_s: Some(is),
            gain_pct: Some(gain),
            is_kept,
            outcome: format!(
                "{is:.2} s of audio per second, {gain:+.1} % against {against}: {}",
                if is_kept { "kept" } else { "not kept" }
            ),
        }
    }

    /// Returns a trial that held this much of a memory budget.
    pub(super) fn fit(tried: &str, held_mb: u64, budget_mb: Option<u64>, fits: bool) -> Self {
        let budget = budget_mb.map_or(String::new(), |mb| format!(" of {mb} MB"));
        Self {
            tried: tried.to_owned(),
            audio_per_s: None,
            gain_pct: None,
            is_kept: fits,
            outcome: format!(
                "{}, {held_mb} MB{budget} held",
                if fits { "fits" } else { "too much" }
            ),
        }
    }

    /// Returns a trial that ended without figures.
    pub(super) fn without_figures(tried: &str, ended: &Ended) -> Self {
        let words = ended.to_string();
        Self::without(
            tried,
            match ended {
                Ended::Refused(_) => format!("refused: {}", first_line(&words)),
                _ => first_line(&words).to_owned(),
            },
        )
    }

    pub(super) fn skipped(tried: &str, why: &str) -> Self {
        Self::without(tried, format!("not tried: {why}"))
    }

    fn without(tried: &str, outcome: String) -> Self {
        Self {
            tried: tried.to_owned(),
            audio_per_s: None,
            gain_pct: None,
            is_kept: false,
            outcome,
        }
    }
}

fn first_line(words: &str) -> &str {
    words.lines().next().unwrap_or(words)
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<22} {}", self.tried, self.outcome)
    }
}

/// Everything that was tried, and what was chosen.
#[derive(Debug, Serialize)]
pub struct Report {
    pub(super) file: String,
    pub(super) device: String,
    /// The keys with their old and new values.
    pub(super) edits: Vec<[String; 3]>,
    pub(super) default: StepFigures,
    pub(super) tuned: StepFigures,
    pub(super) trials: Vec<Trial>,
}

impl Report {
    /// Returns the comments at the head of the file that is written.
    pub(super) fn comments(&self) -> String {
        let mut text = format!(
            "# Written by `myxtts tune` {} for {}.\n",
            env!("CARGO_PKG_VERSION"),
            self.device
        );
        text.push_str(&format!(
            "# Trains on {:.2} s of audio per second; the configuration it was tuned from, on {:.2}.\n",
            self.tuned.audio_per_s, self.default.audio_per_s
        ));
        for [rows, tokens, codes] in &self.tuned.shapes {
            text.push_str(&format!(
                "# batch of {rows} rows: {tokens} text tokens, {codes} codes\n"
            ));
        }
        for trial in &self.trials {
            text.push_str(&format!("# {trial}\n"));
        }
        text
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tried on {}", self.device)?;
        for trial in &self.trials {
            writeln!(f, "  {trial}")?;
        }
        match self.edits.is_empty() {
            true => writeln!(
                f,
                "\nnothing that was tried is faster: the configuration stays as it is"
            )?,
            false => writeln!(f)?,
        }
        for [key, old, new] in &self.edits {
            writeln!(f, "{key}: {old} -> {new}")?;
        }
        let (was, is) = (self.default.audio_per_s, self.tuned.audio_per_s);
        writeln!(
            f,
            "{is:.2} s of audio per second, {was:.2} before ({:+.1} %)",
            100.0 * (is / was.max(1e-9) - 1.0)
        )?;
        writeln!(f, "written: {}", self.file)?;
        writeln!(f, "next:    myxtts train --config {}", self.file)
    }
}
