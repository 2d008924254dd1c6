//! Measures one change of a configuration against none.

use std::fmt;

use myxtts_base::report;
use myxtts_config::Origin;
use myxtts_doctor::{Gain, what_if};
use myxtts_run::observer::Observer;
use myxtts_run::signals::StopRequest;
use serde::Serialize;
use serde_json::Value;

use super::Subject;
use crate::error::Error;
use crate::steps::{Candidate, Effort, Ended, Measured, StepFigures, medians};

/// Two configurations, and what the second gains.
#[derive(Debug, Serialize)]
pub struct WhatIf {
    key: String,
    now: Value,
    then: Value,
    /// The gain that the doctor's model predicts, in seconds per 1,000 steps' worth of audio.
    predicted_s: Option<f64>,
    /// Why nothing is predicted, or that the prediction is a bound.
    predicted_note: String,
    /// The measured gain, in seconds per 1,000 steps' worth of audio.
    measured_s: f64,
    /// The measured gain in percent.
    measured_pct: f64,
    figures: [StepFigures; 2],
    /// Seconds of audio per second, round by round.
    rounds: [Vec<f64>; 2],
}

impl Subject {
    /// Measures the configuration with and without one edit, `KEY=VALUE`, in turn.
    ///
    /// # Errors
    /// When there is no such key, the edit changes nothing, or one of the two cannot be measured.
    pub fn what_if(
        &self,
        edit: &str,
        effort: Effort,
        stop: &StopRequest,
        observer: &dyn Observer,
    ) -> Result<WhatIf, Error> {
        let (key, then) = edited(self, edit)?;
        let now = self.settings.layer().get(&key);
        let now = now.map_or(Value::Null, |setting| setting.value.clone());
        if now == then {
            return Err(Error::Refused(report!(
                "{key} is already {now}: there is nothing to compare";
                fix: "name another value"
            )));
        }
        let candidate = |edits| Candidate {
            keys: &self.keys,
            settings: &self.settings,
            stop,
            edits,
        };
        let candidates = [
            candidate(vec![]),
            candidate(vec![(key.clone(), Some(then.clone()))]),
        ];
        let names = [format!("{key}={now}"), format!("{key}={then}")];
        let tell = |index: usize, round: u32, ended: &Ended| {
            if let Ended::Well(answer) = ended {
                observer.line(&format!(
                    "{}, round {round}: {:.2} s of audio per second",
                    names[index], answer.figures.audio_per_s
                ));
            }
        };
        self.prepare_once(stop, observer)?;
        let measured = medians(&candidates, effort, tell)?;
        let mut both = vec![];
        for (name, measured) in names.iter().zip(measured) {
            both.push(measured.map_err(|ended| ended.error(name))?);
        }
        let Ok([without, with]) = <[Measured; 2]>::try_from(both) else {
            return Err(Error::Failed("a side was not measured".into()));
        };
        Ok(WhatIf::of(key, [now, then], [without, with]))
    }
}

/// Returns the key that is meant, and the value in the form of a configuration.
fn edited(subject: &Subject, edit: &str) -> Result<(String, Value), Error> {
    let Some((key, value)) = edit.split_once('=') else {
        return Err(Error::Refused(report!(
            "--what-if takes KEY=VALUE, but this is `{edit}`";
            fix: "for example --what-if data.num_workers=4"
        )));
    };
    let origin = Origin::Flag("--what-if".to_owned());
    let layer = subject.keys.text(key.trim(), value, origin)?;
    let edits = layer
        .iter()
        .map(|(key, setting)| (key.to_owned(), setting.value.clone()));
    edits.last().ok_or_else(|| {
        Error::Refused(report!(
            "{key} sets nothing";
            fix: "name a key of `myxtts config show`"
        ))
    })
}

impl WhatIf {
    fn of(key: String, [now, then]: [Value; 2], [without, with]: [Measured; 2]) -> Self {
        let figures = [without.figures, with.figures];
        let per_sound = |figures: &StepFigures| 1.0 / figures.audio_per_s.max(1e-9);
        let [before, after] = [&figures[0], &figures[1]].map(per_sound);
        // The audio of a step as it is now: batches may hold another number of clips.
        let sound = figures[0].audio_per_s * figures[0].step_s;
        let value = then.to_string();
        let predicted = what_if(&without.signals, &key, value.trim_matches('"'));
        let (predicted_s, predicted_note) = match predicted {
            Ok(Gain::Estimate(gain)) => (Some(gain.0), String::new()),
            Ok(Gain::AtMost(gain)) => (Some(gain.0), "at most".to_owned()),
            Ok(Gain::Unknown) => (None, "only a measurement tells".to_owned()),
            Err(why) => (None, why.to_string()),
        };
        Self {
            key,
            now,
            then,
            predicted_s,
            predicted_note,
            measured_s: 1000.0 * sound * (before - after),
            measured_pct: 100.0 * (before - after) / before,
            figures,
            rounds: [without.rounds, with.rounds],
        }
    }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Value| value.to_string().trim_matches('"').to_owned();
        let [without, with] = &self.figures;
        let mut line = |name: &str, left: String, right: String| {
            writeln!(f, "{name:<28} {left:>12} {right:>12}")
        };
        line("", "now".to_owned(), "what if".to_owned())?;
        line(&self.key, show(&self.now), show(&self.then))?;
        let numbers = |of: fn(&StepFigures) -> f64| [without, with].map(of);
        let rows: [(&str, [f64; 2]); 4] = [
            ("audio trained on, s/s", numbers(|f| f.audio_per_s)),
            ("clips/s", numbers(|f| f.clips_per_s)),
            ("step, ms", numbers(|f| 1e3 * f.step_s)),
            ("waiting for data, %", numbers(|f| f.data_wait_pct)),
        ];
        for (name, [left, right]) in rows {
            line(name, format!("{left:.2}"), format!("{right:.2}"))?;
        }
        let spread = |rounds: &[f64]| {
            let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
            let most = rounds.iter().copied().fold(0.0, f64::max);
            format!("{least:.1}-{most:.1}")
        };
        line(
            &format!("s/s over {} rounds", self.rounds[0].len()),
            spread(&self.rounds[0]),
            spread(&self.rounds[1]),
        )?;
        match (self.predicted_s, self.predicted_note.as_str()) {
            (Some(predicted), "") => {
                writeln!(f, "\npredicted gain: {predicted:.1} s per 1,000 steps")?;
            }
            (Some(predicted), note) => {
                writeln!(
                    f,
                    "\npredicted gain: {note} {predicted:.1} s per 1,000 steps"
                )?;
            }
            (None, why) => writeln!(f, "\npredicted gain: unknown: {why}")?,
        }
        writeln!(
            f,
            "measured gain:  {:.1} s per 1,000 steps ({:.1} %)",
            self.measured_s, self.measured_pct
        )
    }
}
