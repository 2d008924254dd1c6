//! Ctrl-C once, and twice.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::time::Duration;

use myxtts_run::signals::{StopRequest, StopSignal};

use crate::again;

/// The other process: waits to be asked; with a file `stubborn`, never ends.
#[test]
fn wait_to_be_asked() {
    let Some(folder) = again::folder() else {
        return;
    };
    let stop = StopRequest::install().unwrap();
    println!("\nready");
    loop {
        std::thread::sleep(Duration::from_millis(2));
        if let Some(signal) = stop.asked() {
            println!("\nsaving {signal:?}");
            if !folder.join("stubborn").exists() {
                std::process::exit(signal.exit_code());
            }
        }
    }
}

const ROLE: &str = "signals::wait_to_be_asked";

struct Asked {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Asked {
    fn start(folder: &std::path::Path) -> Self {
        Self::of(again::start(ROLE, folder))
    }

    fn of(mut child: Child) -> Self {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut asked = Self { child, lines };
        asked.wait_for("ready");
        asked
    }

    fn wait_for(&mut self, word: &str) {
        assert!(
            self.lines.any(|line| line.unwrap().contains(word)),
            "never said `{word}`"
        );
    }

    fn send(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", signal, &id])
                .status()
                .unwrap()
                .success()
        );
    }

    fn code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

#[test]
fn the_first_asks_and_the_code_says_who() {
    let folder = tempfile::tempdir().unwrap();
    for (name, signal) in [
        ("INT", StopSignal::Interrupt),
        ("TERM", StopSignal::Terminate),
        ("HUP", StopSignal::Hangup),
    ] {
        let mut asked = Asked::start(folder.path());
        asked.send(name);
        asked.wait_for(&format!("saving {signal:?}"));
        assert_eq!(asked.code(), Some(signal.exit_code()));
    }
}

#[test]
fn the_second_leaves_at_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("stubborn"), "").unwrap();
    for (first, second, code) in [
        ("INT", "INT", 130),
        ("TERM", "TERM", 143),
        ("TERM", "INT", 130),
        ("HUP", "TERM", 143),
    ] {
        let mut asked = Asked::start(folder.path());
        asked.send(first);
        asked.wait_for("saving");
        asked.send(second);
        // What it still says must not fill the pipe.
        asked.lines.by_ref().for_each(drop);
        assert_eq!(asked.code(), Some(code));
    }
}

/// Whoever starts a training with `nohup` wants it to outlive the connection.
#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_is_to_be_ignored_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = Asked::of(again::start_without_hangup(ROLE, folder.path()));
    asked.send("HUP");
    std::thread::sleep(Duration::from_millis(100));
    asked.send("TERM");
    asked.wait_for("saving Terminate");
    assert_eq!(asked.code(), Some(143));
}
