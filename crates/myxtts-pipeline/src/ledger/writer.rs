//! Writing entries to a file, off the threads of the stages.

use std::io::{BufWriter, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::Entry;
use crate::sync::{Mutex, lock};

/// Ends with the first error of the file.
type Writing = JoinHandle<Result<(), String>>;

/// The thread that writes entries.
#[derive(Debug)]
pub(super) struct Writer {
    /// Entries are small, and there are as many as batches: an unbounded channel
    /// holds less than a ring does.
    sender: Mutex<Option<Sender<Entry>>>,
    /// Absent when it has been joined; the error is that of starting it.
    thread: Mutex<Option<Result<Writing, String>>>,
}

impl Writer {
    pub(super) fn start(out: impl Write + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || write_all(out, &receiver));
        Self {
            sender: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread.map_err(words))),
        }
    }

    pub(super) fn send(&self, entry: Entry) {
        if let Some(sender) = lock(&self.sender).as_ref() {
            // A writer that has failed reports it in `finish`.
            let _ = sender.send(entry);
        }
    }

    pub(super) fn finish(&self) -> Result<(), String> {
        drop(lock(&self.sender).take());
        match lock(&self.thread).take() {
            Some(Ok(thread)) => thread
                .join()
                .unwrap_or_else(|_| Err("the ledger's writer panicked".to_owned())),
            Some(Err(why)) => Err(why),
            None => Ok(()),
        }
    }
}

fn write_all(out: impl Write, entries: &Receiver<Entry>) -> Result<(), String> {
    let mut out = BufWriter::new(out);
    while let Ok(entry) = entries.recv() {
        line(&mut out, &entry)?;
        // What is there already goes out in one write, so that a reader sees it.
        for entry in entries.try_iter() {
            line(&mut out, &entry)?;
        }
        out.flush().map_err(words)?;
    }
    Ok(())
}

fn line(out: &mut impl Write, entry: &Entry) -> Result<(), String> {
    let text = serde_json::to_string(entry).map_err(|why| why.to_string())?;
    writeln!(out, "{text}").map_err(words)
}

fn words(why: std::io::Error) -> String {
    format!(
        "the ledger could not be written: {why}\n  fix: free some space; the run itself is not affected"
    )
}
