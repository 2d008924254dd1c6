//! A watched process: it does not outlive the one that waits for it, and is stopped if it makes
//! no progress or a signal asks for the end.
//!
//! A driver that hangs does so inside a call that never returns, where that process cannot check
//! a clock. So it reports on its standard error where it is, and the process that started it has
//! the clock.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use myxtts_run::signals::{StopRequest, StopSignal};

use super::progress::Progress;

/// The beginning of a line on standard error that says where the process is.
pub(super) const AT: &str = "at: ";

/// The time between two looks at a measurement.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The output and exit status of a process.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Why a process was stopped before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ceased {
    /// It made no progress, and this is where it was.
    Hung { at: String },
    /// This process was asked to stop.
    Asked(StopSignal),
}

/// A child process that is killed when it is dropped.
pub(super) struct Watched {
    child: Child,
    progress: Progress,
    /// The threads that read its pipes, until somebody wants the text.
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Watched {
    /// Starts the process with pipes for everything; its standard input stays open as long as
    /// this process lives.
    pub(super) fn start(command: &mut Command) -> std::io::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let progress = Progress::new();
        // Both pipes are drained, or a talkative driver would block on a full one.
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let told = progress.clone();
        Ok(Self {
            child,
            progress,
            stdout: Some(std::thread::spawn(move || {
                let mut text = vec![];
                // Output that is lost is not worth an error.
                let _ = stdout.map(|mut pipe| pipe.read_to_end(&mut text));
                String::from_utf8_lossy(&text).into_owned()
            })),
            stderr: Some(std::thread::spawn(move || {
                let lines = stderr.map(|pipe| BufReader::new(pipe).split(b'\n'));
                let mut words = String::new();
                for line in lines.into_iter().flatten().map_while(Result::ok) {
                    let line = String::from_utf8_lossy(&line).into_owned();
                    match line.strip_prefix(AT) {
                        Some(at) => told.note(at),
                        None => {
                            words.push_str(&line);
                            words.push('\n');
                        }
                    }
                }
                words
            })),
        })
    }

    /// Waits for the end of the process, and kills it if it has said nothing new for `patience`
    /// or if a stop is asked for.
    pub(super) fn wait(
        mut self,
        patience: Duration,
        stop: &StopRequest,
    ) -> std::io::Result<Result<Left, Ceased>> {
        let status = loop {
            // A terminal sends its signal to both: asked first, lest the child's end by the
            // same signal look like a result.
            if let Some(signal) = stop.asked() {
                return Ok(Err(Ceased::Asked(signal)));
            }
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if let Some(at) = self.progress.stuck(patience) {
                return Ok(Err(Ceased::Hung { at }));
            }
            std::thread::sleep(LOOK_EVERY);
        };
        let read = |thread: Option<JoinHandle<String>>| {
            let words = thread.and_then(|thread| thread.join().ok());
            words.unwrap_or_default()
        };
        Ok(Ok(Left {
            status,
            stdout: read(self.stdout.take()),
            stderr: read(self.stderr.take()),
        }))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // It may already be gone, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::time::Instant;

    use super::super::progress::STARTING;
    use super::*;

    fn shell(script: &str, patience: u64) -> Result<Left, Ceased> {
        let watched = Watched::start(Command::new("sh").args(["-c", script]));
        watched
            .unwrap()
            .wait(Duration::from_millis(patience), &StopRequest::new())
            .unwrap()
    }

    #[test]
    fn what_it_says_of_its_place_is_not_what_it_complains_of() {
        let left = shell(
            "echo at: one >&2; echo ouch >&2; echo figures; exit 3",
            60_000,
        );
        let left = left.unwrap();
        assert_eq!(left.status.code(), Some(3));
        assert_eq!([&*left.stdout, &*left.stderr], ["figures\n", "ouch\n"]);
    }

    /// Slow is not hung: every word starts the clock again.
    #[test]
    fn only_one_that_says_nothing_new_is_ended() {
        let slow = "for step in 1 2 3 4; do echo at: step $step >&2; sleep 0.5; done";
        assert!(shell(slow, 1_900).is_ok());
        let stuck = "echo at: step 7 >&2; sleep 600";
        let begin = Instant::now();
        let at = "step 7".to_owned();
        assert_eq!(shell(stuck, 1_000).unwrap_err(), Ceased::Hung { at });
        assert!(begin.elapsed() < Duration::from_secs(300));
        let at = STARTING.to_owned();
        assert_eq!(shell("sleep 600", 200).unwrap_err(), Ceased::Hung { at });
    }

    #[test]
    fn a_request_to_stop_ends_it_at_once() {
        let stop = StopRequest::new();
        let watched = Watched::start(Command::new("sh").args(["-c", "sleep 600"])).unwrap();
        stop.ask(StopSignal::Terminate);
        let begin = Instant::now();
        let ceased = watched.wait(Duration::from_secs(600), &stop).unwrap();
        assert_eq!(ceased.unwrap_err(), Ceased::Asked(StopSignal::Terminate));
        assert!(begin.elapsed() < Duration::from_secs(300));
    }
}
