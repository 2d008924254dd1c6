//! Validation, and what a stop has left of it.

use myxtts_run::checkpoint::Best;
use myxtts_run::guard::Patience;

use super::stage_clock::Pause;
use super::{Recorder, check_for_oom_in};
use crate::error::TrainError;
use crate::objective::Objective;
use crate::session::evaluate::Evaluator;
use crate::train_loop::State;

impl<T: Objective, E: Evaluator<T>> Recorder<'_, T, E> {
    /// Validates. If a stop interrupts it, the whole validation is owed.
    pub(super) fn validate(&mut self, state: &State<T>) -> Result<(), TrainError> {
        let numbers = match self.evaluator.validate(state, &self.outputs.stop) {
            Err(TrainError::Stopped) => {
                self.owed.validation = true;
                return Ok(());
            }
            numbers => numbers?,
        };
        self.owed.validation = false;
        check_for_oom_in("the validation")?;
        let Some((name, value)) = numbers.first().copied() else {
            return Ok(());
        };
        let mut record = self.line();
        let mut words = vec![];
        for (name, value) in &numbers {
            record = record.f32(name, *value);
            words.push(format!("{name} {value:.4}"));
            let tag = format!("{}/{name}", self.position.stage.name());
            let step = self.step();
            let written = self.outputs.events.scalar(&tag, step, *value);
            written?;
        }
        self.outputs.metrics.append(&record)?;
        let line = format!("step {}: {}", self.step(), words.join(", "));
        self.outputs.say(&line);
        let best = Best {
            metric: format!("{}/{name}", self.position.stage.name()),
            value: f64::from(value),
        };
        match self.early.observe(self.step(), f64::from(value)) {
            Patience::Improved => self.best = Some(best),
            Patience::Waiting { .. } => {}
            Patience::Exhausted {
                best_step,
                best,
                evaluations,
            } => {
                let line = format!(
                    "no improvement in {evaluations} validations: stopping early; the best was {} at step {}",
                    best.unwrap_or(f64::NAN),
                    best_step.unwrap_or_default()
                );
                self.outputs.say(&line);
                self.position.ended_early = self.position.done < self.position.steps;
            }
        }
        Ok(())
    }

    /// Determines what is stored with the model of a finished stage. If a stop interrupts it, it
    /// is owed.
    pub(super) fn conclude(&mut self, state: &State<T>) -> Result<(), TrainError> {
        let line = match self.evaluator.conclude(state, &self.outputs.stop) {
            Err(TrainError::Stopped) => {
                self.owed.conclusion = true;
                return Ok(());
            }
            line => line?,
        };
        self.owed.conclusion = false;
        check_for_oom_in("what was tried at the end")?;
        if let Some(line) = line {
            self.outputs.say(&line);
        }
        Ok(())
    }

    /// Does what the resumed checkpoint owes, and saves a checkpoint that no longer owes it.
    pub(super) fn do_owed_work(&mut self, state: &State<T>) -> Result<(), TrainError> {
        let owed = self.owed;
        if !owed.is_any() {
            return Ok(());
        }
        self.outputs.say(&format!(
            "what the stop left undone at step {} is done first",
            self.step()
        ));
        if owed.validation {
            self.pausing(Pause::Validation, |recorder| recorder.validate(state))?;
        }
        if owed.conclusion {
            self.pausing(Pause::Validation, |recorder| recorder.conclude(state))?;
        }
        if owed.samples && !self.is_over() {
            self.pausing(Pause::Samples, |recorder| recorder.sample(state))?;
        }
        self.saved = None;
        self.pausing(Pause::Checkpoint, |recorder| recorder.save(state))
    }
}
