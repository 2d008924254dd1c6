//! What is known of the run that is shown.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::ledger::Ledger;
use super::series::{Series, mean, percentile};
use crate::source::findings::Findings;
use crate::source::life::Life;
use crate::source::log::{LogLine, Progress};
use crate::source::run::RunNews;
use crate::source::step::StepLine;
use crate::units::{Seconds, WallTime};

/// The number of steps that figures are taken over.
pub(crate) const RECENT: usize = 100;
/// The number of log lines that are kept.
const LOG: usize = 200;
/// The number of errors of files that are kept.
const ERRORS: usize = 4;

/// One run, as far as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunState {
    pub(crate) path: PathBuf,
    pub(crate) life: Life,
    pub(crate) written: Option<WallTime>,
    pub(crate) step: Option<u64>,
    pub(crate) stage: Option<String>,
    pub(crate) learning_rate: Option<f64>,
    /// Losses of the current stage only, as those of two stages do not compare.
    pub(crate) loss: Series,
    pub(crate) step_s: Series,
    pub(crate) data_wait_s: Series,
    pub(crate) read_back_s: Series,
    pub(crate) collective_s: Series,
    pub(crate) padding: Series,
    pub(crate) audio_s: Series,
    /// Pauses after steps: the name, how many there were, and their sum.
    pub(crate) pauses: Vec<(&'static str, u64, Seconds)>,
    pub(crate) kernels_new: Option<f64>,
    /// The last validation: its step, names and values.
    pub(crate) validation: Option<(u64, Vec<(String, f64)>)>,
    pub(crate) progress: Option<Progress>,
    pub(crate) log: VecDeque<String>,
    pub(crate) ledger: Ledger,
    pub(crate) findings: Result<Option<Findings>, String>,
    pub(crate) unreadable: u64,
    pub(crate) errors: Vec<String>,
    /// When the last step was taken.
    stepped: Option<WallTime>,
}

impl RunState {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            life: Life::Unclear,
            written: None,
            step: None,
            stage: None,
            learning_rate: None,
            loss: Series::default(),
            step_s: Series::default(),
            data_wait_s: Series::default(),
            read_back_s: Series::default(),
            collective_s: Series::default(),
            padding: Series::default(),
            audio_s: Series::default(),
            pauses: Vec::new(),
            kernels_new: None,
            validation: None,
            progress: None,
            log: VecDeque::new(),
            ledger: Ledger::default(),
            findings: Ok(None),
            unreadable: 0,
            errors: Vec::new(),
            stepped: None,
        }
    }

    /// Takes in what is new; samples of devices are not part of a run.
    pub(crate) fn apply(&mut self, news: RunNews) {
        self.life = news.life;
        self.written = news.written;
        for step in news.steps {
            self.step(step);
        }
        if news.ledger_restarted {
            self.ledger = Ledger::default();
        }
        for batch in news.batches {
            self.ledger.add(batch);
        }
        for line in news.log {
            match line {
                LogLine::Progress(progress) => self.progress = Some(progress),
                LogLine::Words(words) => {
                    if self.log.len() == LOG {
                        self.log.pop_front();
                    }
                    self.log.push_back(words);
                }
            }
        }
        if let Some(findings) = news.findings {
            self.findings = findings;
        }
        self.unreadable += news.unreadable;
        self.errors = news.errors;
        self.errors.truncate(ERRORS);
    }

    fn step(&mut self, line: StepLine) {
        if !line.validation.is_empty() {
            self.validation = Some((line.step, line.validation));
        }
        // A line of validation alone is not another step, nor another stage's.
        if line.loss.is_some() && line.stage != self.stage {
            self.begin_stage(line.stage);
        }
        self.pause(&line.pauses);
        let Some(loss) = line.loss else { return };
        // Where an older run does not say, the time between two of its lines is
        // taken, which is longer where something came between.
        let between = match (line.wall_time, self.stepped) {
            (Some(now), Some(then)) if self.step < Some(line.step) => Some(now.since(then)),
            _ => None,
        };
        let took = line.step_s.or(between);
        let secs = |value: Option<Seconds>| value.map_or(f64::NAN, |seconds| seconds.0);
        self.loss.push(line.step, loss);
        self.step_s.push(line.step, secs(took));
        self.data_wait_s.push(line.step, secs(line.data_wait_s));
        self.read_back_s.push(line.step, secs(line.read_back_s));
        self.collective_s.push(line.step, secs(line.collective_s));
        self.audio_s.push(line.step, secs(line.audio_s));
        self.padding
            .push(line.step, line.padding.unwrap_or(f64::NAN));
        if let Some(new) = line.kernels_new {
            *self.kernels_new.get_or_insert(0.0) += new;
        }
        self.learning_rate = line.learning_rate;
        self.step = Some(line.step);
        self.stepped = line.wall_time;
    }

    fn begin_stage(&mut self, stage: Option<String>) {
        self.stage = stage;
        self.kernels_new = None;
        self.pauses.clear();
        for series in [
            &mut self.loss,
            &mut self.step_s,
            &mut self.data_wait_s,
            &mut self.read_back_s,
            &mut self.collective_s,
            &mut self.padding,
            &mut self.audio_s,
        ] {
            *series = Series::default();
        }
    }

    fn pause(&mut self, pauses: &[(&'static str, Seconds)]) {
        for (name, seconds) in pauses {
            match self.pauses.iter_mut().find(|(known, ..)| known == name) {
                Some((_, count, sum)) => {
                    *count += 1;
                    sum.0 += seconds.0;
                }
                None => self.pauses.push((name, 1, *seconds)),
            }
        }
    }

    /// Returns the mean time of the last steps, in seconds.
    pub(crate) fn step_mean(&self) -> Option<f64> {
        mean(&self.step_s.recent(RECENT))
    }

    /// Returns what 95 of 100 of the last steps took at most, in seconds.
    pub(crate) fn step_p95(&self) -> Option<f64> {
        percentile(&self.step_s.recent(RECENT), 95)
    }

    /// Returns the share of the last steps' time that went to `part`.
    pub(crate) fn share(&self, part: &Series) -> Option<f64> {
        let (part, whole) = (part.recent(RECENT), self.step_s.recent(RECENT));
        // Means are compared, because the first step of a stage may have no time.
        let share = mean(&part)? / mean(&whole).filter(|whole| *whole > 0.0)?;
        Some(share.clamp(0.0, 1.0))
    }

    /// Returns the share of padded positions in the last steps.
    pub(crate) fn padding_mean(&self) -> Option<f64> {
        mean(&self.padding.recent(RECENT))
    }

    /// Returns the seconds of sound that are learned from per second.
    pub(crate) fn audio_rate(&self) -> Option<f64> {
        let audio = mean(&self.audio_s.recent(RECENT))?;
        Some(audio / self.step_mean().filter(|step| *step > 0.0)?)
    }

    /// Returns the share of each step that went to waiting for data.
    pub(crate) fn data_wait(&self) -> Series {
        let mut shares = Series::default();
        for ((step, wait), (_, whole)) in self.data_wait_s.points().zip(self.step_s.points()) {
            let share = if whole > 0.0 { wait / whole } else { f64::NAN };
            shares.push(step, share);
        }
        shares
    }

    /// Returns the number of steps of the whole run, where the log says.
    pub(crate) fn total(&self) -> Option<u64> {
        self.progress.as_ref()?.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: u64, stage: &str, loss: f64) -> StepLine {
        StepLine {
            step,
            stage: Some(stage.to_owned()),
            wall_time: Some(WallTime(step as f64 * 2.0)),
            loss: Some(loss),
            data_wait_s: Some(Seconds(0.5)),
            ..StepLine::default()
        }
    }

    #[test]
    fn an_older_run_is_timed_by_its_lines() {
        let mut run = RunState::new("run".into());
        for at in 1..=3 {
            run.step(step(at, "gpt", 1.0));
        }
        assert_eq!(run.step_mean(), Some(2.0));
        assert_eq!(run.share(&run.data_wait_s), Some(0.25));
        assert_eq!(run.padding_mean(), None);
    }

    #[test]
    fn a_stage_begins_with_curves_of_its_own() {
        let mut run = RunState::new("run".into());
        run.step(step(1, "dvae", 1.0));
        run.step(step(2, "gpt", 7.0));
        assert_eq!((run.loss.len(), run.step), (1, Some(2)));
    }

    #[test]
    fn pauses_after_the_first_step_of_a_stage_are_its_own() {
        let mut run = RunState::new("run".into());
        let paused = |at, stage| StepLine {
            pauses: vec![("checkpoint", Seconds(0.5))],
            ..step(at, stage, 1.0)
        };
        run.step(paused(1, "dvae"));
        run.step(paused(2, "gpt"));
        assert_eq!(run.pauses, [("checkpoint", 1, Seconds(0.5))]);
    }

    #[test]
    fn a_file_that_is_read_again_gives_the_same() {
        let mut run = RunState::new("run".into());
        let steps = || (1..=5).map(|at| step(at, "gpt", at as f64));
        steps().for_each(|line| run.step(line));
        let once = run.clone();
        steps().for_each(|line| run.step(line));
        assert_eq!(run.loss, once.loss);
        assert_eq!(run.step, Some(5));
    }

    #[test]
    fn validations_and_pauses_are_not_steps() {
        let mut run = RunState::new("run".into());
        run.step(step(1, "gpt", 1.0));
        let mut line = step(1, "gpt", 0.0);
        line.loss = None;
        line.validation = vec![("val_loss".into(), 2.0)];
        line.pauses = vec![("validation", Seconds(0.5))];
        run.step(line.clone());
        line.validation.clear();
        run.step(line);
        assert_eq!(run.loss.len(), 1);
        assert_eq!(run.validation.as_ref().unwrap().0, 1);
        assert_eq!(run.pauses, [("validation", 2, Seconds(1.0))]);
    }
}
