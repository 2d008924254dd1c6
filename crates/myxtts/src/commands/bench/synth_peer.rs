//! The Python reference, in a process that measures on request.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use myxtts_base::report;
use myxtts_model::ModelSize;
use serde::Deserialize;
use serde_json::Value;

use crate::output::Failure;

/// The program it runs; `-c` takes it whole, so that standard input is free for requests.
const PROGRAM: &str = include_str!("../../../../../benchmarks/synth_vs_reference.py");

/// The reference, with a model.
pub(super) struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(super) made: Made,
}

/// What the reference says about its model.
#[derive(Clone, Default, Deserialize)]
pub(super) struct Made {
    tokens: Vec<u32>,
    pub(super) threads: u64,
    pub(super) torch: String,
    #[serde(rename = "coqui-tts")]
    pub(super) coqui_tts: String,
}

#[derive(Deserialize)]
struct Timed {
    seconds: f64,
    samples: usize,
}

impl Peer {
    /// Starts the reference and lets it make a model in `folder`.
    pub(super) fn start(
        python: &Path,
        size: ModelSize,
        threads: usize,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let mut child = Command::new(python)
            .args(["-c", PROGRAM, "--size", size.name(), "--threads"])
            .arg(threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|why| {
                Failure::Usage(report!(
                    "{} cannot be started: {why}", python.display();
                    fix: "give the Python of an environment with coqui-tts, as \
                          benchmarks/synth_vs_reference.py describes"
                ))
            })?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Job("the reference has no pipes".into()));
        };
        let mut peer = Self {
            child,
            requests,
            answers: BufReader::new(answers),
            made: Made::default(),
        };
        peer.made = peer.ask(&format!("make {}", folder.display()))?;
        Ok(peer)
    }

    /// Returns the tokens of the text it speaks.
    pub(super) fn tokens(&self) -> &[u32] {
        &self.made.tokens
    }

    /// Returns the seconds for a sentence of this many codes.
    pub(super) fn whole(&mut self, codes: usize) -> Result<f64, Failure> {
        let timed: Timed = self.ask(&format!("whole {codes}"))?;
        Ok(timed.seconds)
    }

    /// Returns the reference's greedy codes.
    pub(super) fn codes(&mut self, codes: usize) -> Result<Vec<u32>, Failure> {
        let answer: Value = self.ask(&format!("codes {codes}"))?;
        serde_json::from_value(answer["codes"].clone()).map_err(|why| garbled(&why.to_string()))
    }

    /// Returns the seconds until its first chunk, and the samples in it.
    pub(super) fn first(&mut self) -> Result<(f64, usize), Failure> {
        let timed: Timed = self.ask("first")?;
        Ok((timed.seconds, timed.samples))
    }

    /// Returns the reference's peak memory.
    pub(super) fn peak(&mut self) -> Result<u64, Failure> {
        let answer: Value = self.ask("peak")?;
        answer["bytes"].as_u64().ok_or_else(|| garbled("no bytes"))
    }

    fn ask<T: serde::de::DeserializeOwned>(&mut self, request: &str) -> Result<T, Failure> {
        let mut line = String::new();
        writeln!(self.requests, "{request}")
            .and_then(|()| self.requests.flush())
            .and_then(|()| self.answers.read_line(&mut line))
            .map_err(|why| garbled(&why.to_string()))?;
        if line.is_empty() {
            return Err(garbled("it exited; does its environment have coqui-tts?"));
        }
        let answer: Value = serde_json::from_str(&line).map_err(|why| garbled(&why.to_string()))?;
        if let Some(error) = answer["error"].as_str() {
            return Err(garbled(error));
        }
        serde_json::from_value(answer).map_err(|why| garbled(&why.to_string()))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may be in the middle of a sentence that nobody waits for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn garbled(why: &str) -> Failure {
    Failure::Job(report!("the reference did not answer: {why}"))
}
