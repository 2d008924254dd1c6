//! The process that measures, and what it can end with.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};

use myxtts_config::{Keys, Settings};
use myxtts_doctor::Signals;
use serde_json::Value;

use super::{Answer, NO_MEMORY, StepFigures};
use crate::commands::config::chosen_yaml;
use crate::config::{Config, settings_in_environment};
use crate::output::Failure;

/// How a measurement ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    /// With figures.
    Well(Box<Answer>),
    /// Memory was short, in the device's words or by the death of the process.
    NoMemory(String),
    /// This configuration cannot be trained here, in its own words.
    Refused(String),
}

/// A configuration that is measured: what a person chose, with some values changed.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) keys: &'a Keys,
    pub(crate) settings: &'a Settings<Config>,
    /// Keys and what they are set to; nothing takes a choice back.
    pub(crate) edits: Vec<(String, Option<Value>)>,
}

/// Rounds of one candidate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// The round in the middle, by speed.
    pub(crate) figures: StepFigures,
    /// What the doctor can say more of, of the same round.
    pub(crate) signals: Signals,
    /// Seconds of sound a second, of every round.
    pub(crate) rounds: Vec<f64>,
}

impl Candidate<'_> {
    /// Measures this one for so many steps, and at most so many seconds.
    ///
    /// # Errors
    /// The process could not be started, or made no sense.
    pub(crate) fn measure(&self, steps: u32, seconds: u32) -> Result<Ended, Failure> {
        let lost = |why: String| {
            Failure::Job(format!(
                "the process that measures was lost: {why}\n  fix:   try again; `myxtts train` with the \
                 same configuration says more where it fails, too"
            ))
        };
        let mut file = tempfile::Builder::new()
            .prefix("myxtts-")
            .suffix(".yaml")
            .tempfile()
            .map_err(|why| lost(format!("no temporary file could be made: {why}")))?;
        let text = chosen_yaml(self.keys, self.settings, &self.edits);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
        written.map_err(|why| lost(format!("{}: {why}", file.path().display())))?;
        let program = std::env::current_exe().map_err(|why| lost(why.to_string()))?;
        let mut command = Command::new(program);
        command
            .args(["probe-steps", "--json", "--parent", "--config"])
            .arg(file.path())
            .args(["--steps", &steps.to_string()])
            .args(["--seconds", &seconds.to_string()])
            // Closed when this process is gone, however it went.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for variable in settings_in_environment() {
            command.env_remove(variable);
        }
        let child = Alone(command.spawn().map_err(|why| lost(why.to_string()))?);
        let (status, stdout, stderr) = child.wait().map_err(|why| lost(why.to_string()))?;
        judge(status, &stdout, &stderr).map_err(lost)
    }
}

/// A process that does not outlive whoever waits for it.
struct Alone(Child);

impl Alone {
    fn wait(mut self) -> std::io::Result<(ExitStatus, String, String)> {
        let stderr = self.0.stderr.take();
        // Both pipes are drained, or a talkative driver would block on a full one.
        let complaint = std::thread::spawn(move || {
            let mut text = vec![];
            // What is lost of the words is lost.
            let _ = stderr.map(|mut pipe| pipe.read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut text = vec![];
        if let Some(mut pipe) = self.0.stdout.take() {
            pipe.read_to_end(&mut text)?;
        }
        let status = self.0.wait()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok((status, text, complaint.join().unwrap_or_default()))
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // It may be gone already, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn judge(status: ExitStatus, stdout: &str, stderr: &str) -> Result<Ended, String> {
    if status.success() {
        let answer = serde_json::from_str(stdout);
        let answer = answer.map_err(|why| format!("its figures make no sense: {why}"))?;
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
        // An allocation that fails aborts, and the system ends who takes too much:
        // neither says a last word that could be told from another.
        (None, None) => Ok(Ended::NoMemory(format!("the process ended by {status}"))),
        (None, Some(_)) => Err(format!("{status}\n{}", stderr.trim_end())),
    }
}

/// Measures candidates in turns, round after round, so that whatever else the
/// machine does meets all of them; a candidate that does not end well is not
/// tried again.
///
/// # Errors
/// A process could not be started, or made no sense.
pub(crate) fn medians(
    candidates: &[Candidate<'_>],
    rounds: u32,
    steps: u32,
    seconds: u32,
    mut tell: impl FnMut(usize, u32, &Ended),
) -> Result<Vec<Result<Measured, Ended>>, Failure> {
    let mut all: Vec<Result<Vec<Answer>, Ended>> = vec![Ok(vec![]); candidates.len()];
    for round in 1..=rounds.max(1) {
        for (index, candidate) in candidates.iter().enumerate() {
            let Ok(answers) = &mut all[index] else {
                continue;
            };
            let ended = candidate.measure(steps, seconds)?;
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
    /// Whether it is faster by at least this part, in the middle and at best: what
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
        let of = |status, stdout: &str| judge(status, stdout, "words on stderr");
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
        let broken = of(exited(101), "").unwrap_err();
        assert!(broken.ends_with("words on stderr"), "{broken}");
        assert!(of(exited(0), "not figures").is_err());
    }
}
