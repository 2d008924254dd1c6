//! The measuring process, and how it can end.

use std::fmt;
use std::io::Write;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use myxtts_base::{Report, report};
use myxtts_config::{Keys, Settings};
use myxtts_device::oom_line;
use myxtts_doctor::Signals;
use myxtts_run::signals::StopRequest;
use serde_json::Value;

use super::watched::{Ceased, Left, Watched};
use super::{Answer, NO_MEMORY, StepFigures};
use crate::error::Error;
use crate::machine::own_program;
use crate::settings::{Config, chosen_yaml, settings_in_environment};

/// How a measurement ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    /// The process ended with figures.
    Well(Box<Answer>),
    /// Memory ran out, by the device's own words or by the death of the process.
    NoMemory(String),
    /// The process died in another way, such as a crash of the driver.
    Died(String),
    /// The process made no progress for this long, and was stopped.
    Hung {
        /// What the process was doing.
        at: String,
        /// How long it was waited for.
        seconds: u32,
    },
    /// This configuration cannot be trained here, with the reason.
    Refused(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well(answer) => {
                write!(f, "{:.2} s of audio per second", answer.figures.audio_per_s)
            }
            Self::NoMemory(why) => write!(f, "out of memory: {why}"),
            Self::Died(how) => write!(f, "the measuring process died: {how}"),
            Self::Hung { at, seconds } => write!(
                f,
                "no progress for {seconds} s at `{at}`, so the measuring process was stopped"
            ),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl Ended {
    /// Returns the error for a caller that has nothing else to measure instead.
    pub(crate) fn error(self, what: &str) -> Error {
        let words = format!("{what}: {self}");
        Error::Failed(match self {
            Self::Refused(why) => why.into(),
            Self::Well(_) => report!("{what} was not measured"),
            Self::NoMemory(_) => report!(
                "{words}";
                fix: "give --batch-size a smaller value, or take a smaller --model-size"
            ),
            Self::Died(_) => report!(
                "{words}";
                fix: "update the driver, or train on another backend with \
                      `--set training.backend=cpu`; `myxtts devices` lists what there is"
            ),
            Self::Hung { .. } => report!(
                "{words}";
                fix: "if the machine is only slow, give --hang-limit more seconds; if not, the \
                      driver hangs: update it, or train on another backend with \
                      `--set training.backend=cpu`"
            ),
        })
    }
}

/// How much is measured of a configuration, and how long to wait for one that makes no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The number of times each configuration is measured, in turn.
    pub rounds: u32,
    /// The number of steps to measure.
    pub steps: u32,
    /// The time limit for the steps, in seconds.
    pub seconds: u32,
    /// The longest time without progress, in seconds.
    pub hang_limit: u32,
}

/// A configuration to measure: what a person chose, with some values changed.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) keys: &'a Keys,
    pub(crate) settings: &'a Settings<Config>,
    /// The request that ends a measurement early.
    pub(crate) stop: &'a StopRequest,
    /// The keys and their new values; no value undoes a choice.
    pub(crate) edits: Vec<(String, Option<Value>)>,
}

/// The measured rounds of one candidate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// The figures of the median round, by speed.
    pub(crate) figures: StepFigures,
    /// What the doctor can say about the same round.
    pub(crate) signals: Signals,
    /// Seconds of audio per second, of every round.
    pub(crate) rounds: Vec<f64>,
}

impl Candidate<'_> {
    /// Measures this candidate once.
    ///
    /// # Errors
    /// Returns an error if the process could not be started or its answer made no sense, or if a
    /// stop was asked for.
    pub(crate) fn measure(&self, effort: Effort) -> Result<Ended, Error> {
        self.run(effort, &[])
    }

    /// Checks whether the candidate fits in memory: every shape and a step, which takes less
    /// time than a measurement.
    ///
    /// # Errors
    /// Returns an error if the process could not be started or its answer made no sense.
    pub(crate) fn fit(&self, effort: Effort) -> Result<Ended, Error> {
        self.run(effort, &["--fits"])
    }

    fn run(&self, effort: Effort, more: &[&str]) -> Result<Ended, Error> {
        let lost = |why: Report| {
            Error::Failed(report!(
                "the measuring process was lost: {why}";
                fix: "try again; `myxtts train` with the same configuration says more where it \
                      fails, too"
            ))
        };
        let mut file = tempfile::Builder::new()
            .prefix("myxtts-")
            .suffix(".yaml")
            .tempfile()
            .map_err(|why| lost(report!("no temporary file could be made: {why}")))?;
        let text = chosen_yaml(self.keys, self.settings, &self.edits);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
        written.map_err(|why| lost(report!("{}: {why}", file.path().display())))?;
        let program = own_program().map_err(|why| lost(why.to_string().into()))?;
        let mut command = Command::new(program);
        command.args(["probe-steps", "--json", "--parent"]);
        // If nothing is chosen there is no file: an empty one would be refused.
        if !text.is_empty() {
            command.arg("--config").arg(file.path());
        }
        command
            .args(["--steps", &effort.steps.to_string()])
            .args(["--seconds", &effort.seconds.to_string()])
            .args(more);
        for variable in settings_in_environment() {
            command.env_remove(variable);
        }
        let seconds = effort.hang_limit;
        let patience = Duration::from_secs(u64::from(seconds));
        let waited = Watched::start(&mut command).and_then(|child| child.wait(patience, self.stop));
        match waited.map_err(|why| lost(why.to_string().into()))? {
            Ok(left) => judge(&left).map_err(lost),
            Err(Ceased::Hung { at }) => Ok(Ended::Hung { at, seconds }),
            Err(Ceased::Asked(signal)) => Err(Error::Stopped(
                signal,
                "stopped while measuring; nothing was written".to_owned(),
            )),
        }
    }
}

fn judge(left: &Left) -> Result<Ended, Report> {
    let Left {
        status,
        stdout,
        stderr,
    } = left;
    if status.success() {
        let answer = serde_json::from_str(stdout);
        let answer = answer.map_err(|why| report!("its figures make no sense: {why}"))?;
        return Ok(Ended::Well(Box::new(answer)));
    }
    let document: Option<Value> = serde_json::from_str(stdout).ok();
    let error = document
        .as_ref()
        .and_then(|document| document["error"].as_str());
    match (error, status.code()) {
        (Some(words), _) if words.starts_with(NO_MEMORY) => {
            let words = words.trim_start_matches(NO_MEMORY).trim();
            Ok(Ended::NoMemory(words.to_owned()))
        }
        (Some(words), _) => Ok(Ended::Refused(words.to_owned())),
        // A failed allocation aborts, and the system kills a process that takes too much:
        // neither leaves a last word to recognise it by.
        (None, None) if is_of_memory(*status) => {
            Ok(Ended::NoMemory(format!("the process ended by {status}")))
        }
        (None, None) => Ok(Ended::Died(status.to_string())),
        (None, Some(_)) if oom_line(stderr).is_some() => Ok(Ended::NoMemory(
            oom_line(stderr).unwrap_or_default().to_owned(),
        )),
        (None, Some(_)) => Err(report!("{status}\n{}", stderr.trim_end())),
    }
}

/// Returns whether a process ended as one does that ran out of memory.
fn is_of_memory(status: ExitStatus) -> bool {
    const ABORT: i32 = 6;
    const KILL: i32 = 9;
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    signal.is_none_or(|signal| [ABORT, KILL].contains(&signal))
}

/// Measures candidates in turn, round after round, so that whatever else the machine does
/// affects all of them; a candidate that does not end well is not tried again.
///
/// # Errors
/// Returns an error if a process could not be started or its answer made no sense.
pub(crate) fn medians(
    candidates: &[Candidate<'_>],
    effort: Effort,
    mut tell: impl FnMut(usize, u32, &Ended),
) -> Result<Vec<Result<Measured, Ended>>, Error> {
    let mut all: Vec<Result<Vec<Answer>, Ended>> = vec![Ok(vec![]); candidates.len()];
    for round in 1..=effort.rounds.max(1) {
        for (index, candidate) in candidates.iter().enumerate() {
            let Ok(answers) = &mut all[index] else {
                continue;
            };
            let ended = candidate.measure(effort)?;
            tell(index, round, &ended);
            match ended {
                Ended::Well(one) => answers.push(*one),
                other => all[index] = Err(other),
            }
        }
    }
    Ok(all
        .into_iter()
        .map(|answers| answers.and_then(Measured::of))
        .collect())
}

impl Measured {
    /// Returns whether this is faster by at least this share, in the median and at best: what
    /// other work on the machine does to one round is not a gain.
    pub(crate) fn is_faster(&self, than: &Self, by: f64) -> bool {
        let best = |rounds: &[f64]| rounds.iter().copied().fold(0.0, f64::max);
        self.figures.audio_per_s >= than.figures.audio_per_s * (1.0 + by)
            && best(&self.rounds) > best(&than.rounds)
    }

    fn of(answers: Vec<Answer>) -> Result<Self, Ended> {
        let speed = |answer: &Answer| answer.figures.audio_per_s;
        let rounds: Vec<f64> = answers.iter().map(speed).collect();
        let mut sorted = answers;
        sorted.sort_by(|a, b| speed(a).total_cmp(&speed(b)));
        let middle = (sorted.len().max(1) - 1) / 2;
        match sorted.into_iter().nth(middle) {
            Some(Answer { figures, signals }) => Ok(Self {
                figures,
                signals,
                rounds,
            }),
            None => Err(Ended::Refused("nothing was measured".to_owned())),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    /// A process that memory ended is told from one that was refused and from one
    /// that broke.
    #[test]
    fn every_way_to_end_is_told_apart() {
        let of = |status, stdout: &str| {
            judge(&Left {
                status,
                stdout: stdout.to_owned(),
                stderr: "words on stderr".to_owned(),
            })
        };
        let short = r#"{"error": "does not fit: step 1 ran out of device memory"}"#;
        assert_eq!(
            of(exited(1), short),
            Ok(Ended::NoMemory(
                "step 1 ran out of device memory".to_owned()
            ))
        );
        let refused = r#"{"error": "GPU 0 cannot compute in f16"}"#;
        assert_eq!(
            of(exited(2), refused),
            Ok(Ended::Refused("GPU 0 cannot compute in f16".to_owned()))
        );
        // An allocation that fails aborts; the system's guard kills.
        for signal in [6, 9] {
            let ended = of(ExitStatus::from_raw(signal), "");
            assert!(matches!(ended, Ok(Ended::NoMemory(_))), "{ended:?}");
        }
        // A driver that crashes is not said to be out of memory.
        let crashed = of(ExitStatus::from_raw(11), "");
        assert!(matches!(crashed, Ok(Ended::Died(_))), "{crashed:?}");
        let broken = of(exited(101), "").unwrap_err().to_string();
        assert!(broken.ends_with("words on stderr"), "{broken}");
        assert!(of(exited(0), "not figures").is_err());
    }
}
