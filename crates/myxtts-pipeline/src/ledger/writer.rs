//! Writing entries to a file, off the threads of the stages.

use std::io::{BufWriter, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use myxtts_base::{Report, report};

use super::Entry;
use crate::sync::{Mutex, lock};

/// Ends with the first error of the file.
type Writing = JoinHandle<Result<(), Report>>;

/// The thread that writes entries.
#[derive(Debug)]
pub(super) struct Writer {
    /// Entries are small, and there are as many as batches: an unbounded channel
    /// holds less than a ring does.
    sender: Mutex<Option<Sender<Entry>>>,
    /// Absent when it has been joined; the error is that of starting it.
    thread: Mutex<Option<Result<Writing, Report>>>,
}

impl Writer {
    pub(super) fn start(out: impl Write + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || write_all(out, &receiver));
        Self {
            sender: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread.map_err(lost))),
        }
    }

    pub(super) fn send(&self, entry: Entry) {
        if let Some(sender) = lock(&self.sender).as_ref() {
            // A writer that has failed reports it in `finish`.
            let _ = sender.send(entry);
        }
    }

    pub(super) fn finish(&self) -> Result<(), Report> {
        drop(lock(&self.sender).take());
        match lock(&self.thread).take() {
            Some(Ok(thread)) => thread
                .join()
                .unwrap_or_else(|_| Err(Report::new("the ledger's writer panicked"))),
            Some(Err(why)) => Err(why),
            None => Ok(()),
        }
    }
}

fn write_all(out: impl Write, entries: &Receiver<Entry>) -> Result<(), Report> {
    let mut out = BufWriter::new(out);
    while let Ok(entry) = entries.recv() {
        line(&mut out, &entry)?;
        // What is there already goes out in one write, so that a reader sees it.
        for entry in entries.try_iter() {
            line(&mut out, &entry)?;
        }
        out.flush().map_err(lost)?;
    }
    Ok(())
}

fn line(out: &mut impl Write, entry: &Entry) -> Result<(), Report> {
    let text = serde_json::to_string(entry).map_err(|why| lost(why.into()))?;
    writeln!(out, "{text}").map_err(lost)
}

fn lost(why: std::io::Error) -> Report {
    report!(
        "the ledger could not be written: {why}";
        fix: "free some space; the run itself is not affected"
    )
}
