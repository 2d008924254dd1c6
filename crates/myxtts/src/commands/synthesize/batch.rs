//! Speaks many lines to many recordings.

use std::path::PathBuf;

use clap::ArgMatches;
use myxtts::speech::batch::{Batch, Failed, Parsed, Report, Request, Watch, need_a_voice};

use super::interrupt::undisturbed;
use super::{chosen, voice_source};
use crate::commands::model::{checkpoint, open_model};
use crate::output::{Failure, Output};
use crate::progress::ProgressBar;

pub(super) fn run(
    matches: &ArgMatches,
    lines: Vec<Parsed>,
    folder: PathBuf,
    output: &Output,
) -> Result<(), Failure> {
    let checkpoint = checkpoint(matches)?;
    let batch = Batch::of(Request {
        voice: match need_a_voice(&lines) {
            true => Some(voice_source(matches, &checkpoint)?),
            // Nobody asked for a usual voice, so it need not exist.
            false => None,
        },
        chosen: chosen(matches),
        is_compared: matches.get_flag("similarity"),
        undisturbed: undisturbed()?,
        checkpoint: checkpoint.clone(),
        lines,
        folder,
    })?;
    let model = open_model(matches, &checkpoint)?;
    let mut shown = Shown {
        bar: ProgressBar::new(),
        output,
    };
    let report = batch.run(model, &mut shown);
    shown.bar.clear();
    let report = report?;
    output.result(&report, &report)?;
    match report.problem() {
        None => Ok(()),
        Some(problem) => Err(Failure::Result(problem)),
    }
}

/// Shows on stderr how far the lines are.
struct Shown<'a> {
    bar: ProgressBar,
    output: &'a Output,
}

impl Watch for Shown<'_> {
    fn progress(&mut self, report: &Report) {
        let done = report.spoken + report.skipped + report.failed.len();
        let words = match report.failed.len() {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        self.bar.show(done as u64, report.lines as u64, &words);
    }

    fn failed(&mut self, failed: &Failed) {
        self.bar.clear();
        let why = failed.why.lines().next().unwrap_or_default();
        self.output.log(format_args!("line {}: {why}", failed.line));
    }
}
