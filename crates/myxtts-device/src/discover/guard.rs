//! Probing where a panic, a crash or a hang does no harm.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::ProbeAnswer;
use crate::machine::Backend;

/// Runs a program that prints a [`ProbeAnswer`] as JSON, and survives whatever it does.
#[derive(Clone, Debug)]
pub struct Guard {
    program: PathBuf,
    arguments: Vec<String>,
    patience: Duration,
}

impl Guard {
    /// Makes a guard that calls `program ARGUMENTS BACKEND`.
    pub fn new(program: PathBuf, arguments: &[&str]) -> Self {
        let arguments = arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect();
        Self {
            program,
            arguments,
            patience: Duration::from_secs(20),
        }
    }

    /// Changes how long the guard waits for an answer.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Returns the backend's answer; whatever goes wrong becomes its reason.
    pub fn probe(&self, backend: Backend) -> ProbeAnswer {
        match self.run(backend) {
            Ok(answer) => answer,
            Err(why) => ProbeAnswer::unavailable(why),
        }
    }

    fn run(&self, backend: Backend) -> Result<ProbeAnswer, String> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .arg(backend.name())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|why| format!("the probe could not be started: {why}"))?;
        // Both pipes are drained while waiting; otherwise a talkative driver
        // would block on a full one.
        let stdout = drain(child.stdout.take());
        let stderr = drain(child.stderr.take());
        let deadline = Instant::now() + self.patience;
        let status = loop {
            match child
                .try_wait()
                .map_err(|why| format!("the probe was lost: {why}"))?
            {
                Some(status) => break status,
                None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                None => {
                    // The probe may already be gone; either way it is not waited for.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!(
                        "the driver did not answer within {:?}",
                        self.patience
                    ));
                }
            }
        };
        let text = stdout.join().unwrap_or_default();
        let complaint = stderr.join().unwrap_or_default();
        if !status.success() {
            return Err(death(status, &complaint));
        }
        serde_json::from_str(&text)
            .map_err(|why| format!("the probe's answer makes no sense: {why}"))
    }
}

fn drain<R: Read + Send + 'static>(pipe: Option<R>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // A driver that prints for ever is cut off; what was read is kept on error.
            let _ = pipe.take(1 << 20).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Describes how a probe ended, with the driver's last words.
fn death(status: ExitStatus, complaint: &str) -> String {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let how = match (signal, status.code()) {
        (Some(signal), _) => format!("the driver crashed (signal {signal})"),
        (None, Some(code)) => format!("the driver failed (exit code {code})"),
        (None, None) => "the driver failed".to_owned(),
    };
    let noise = |line: &&str| {
        let line = line.trim();
        line.is_empty() || line.starts_with("note:") || line.starts_with("stack backtrace")
    };
    // A panic prints its message after a line that names the thread.
    let words = complaint
        .lines()
        .skip_while(|line| !line.contains("panicked at"))
        .nth(1);
    let words = words.or_else(|| complaint.lines().rfind(|line| !noise(line)));
    match words.map(str::trim).filter(|words| !words.is_empty()) {
        Some(words) => format!("{how}: {words}"),
        None => how,
    }
}
