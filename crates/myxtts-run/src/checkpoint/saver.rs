//! Saving while training goes on.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{CheckpointError, Saved, Snapshot, Store};
use crate::FileError;

type Job = Box<dyn FnOnce() -> Result<Snapshot, CheckpointError> + Send>;
type Outcome = Result<Saved, CheckpointError>;

/// A thread that writes checkpoints. One is in flight at most: a second save
/// waits for it, because two copies of the model in memory are enough.
#[derive(Debug)]
pub struct AsyncSaver {
    jobs: Option<Sender<Job>>,
    outcomes: Receiver<Outcome>,
    thread: Option<JoinHandle<Store>>,
    in_flight: bool,
    report: SaverReport,
}

/// What saving cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaverReport {
    /// Checkpoints written.
    pub saves: u64,
    /// Time the thread spent on them; training went on meanwhile.
    pub writing: Duration,
    /// Time training waited for the thread.
    pub waited: Duration,
}

/// A snapshot was handed over.
#[derive(Debug)]
pub struct Submitted {
    /// How long this call waited for the save before it.
    pub waited: Duration,
    /// That save, when it was not reported yet.
    pub previous: Option<Saved>,
}

/// All saves are done.
#[derive(Debug)]
pub struct Finished {
    /// The store, back in the caller's hands.
    pub store: Store,
    /// The last save, when it was not reported yet.
    pub last: Option<Saved>,
    /// What all of them cost.
    pub report: SaverReport,
}

impl AsyncSaver {
    /// Starts the thread; it owns `store` until [`AsyncSaver::finish`].
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(mut store: Store) -> Result<Self, CheckpointError> {
        let (jobs, inbox) = channel::<Job>();
        let (outbox, outcomes) = channel();
        let folder = store.folder().to_path_buf();
        let thread = std::thread::Builder::new()
            .name("checkpoint".into())
            .spawn(move || {
                for job in inbox {
                    let outcome = job().and_then(|snapshot| store.save(snapshot));
                    if outbox.send(outcome).is_err() {
                        break;
                    }
                }
                store
            })
            .map_err(FileError::when("start a thread to write", folder))?;
        Ok(Self {
            jobs: Some(jobs),
            outcomes,
            thread: Some(thread),
            in_flight: false,
            report: SaverReport::default(),
        })
    }

    /// Hands `snapshot` over, after the save before it is done.
    ///
    /// # Errors
    /// What went wrong with the save *before*. This snapshot is written all the
    /// same: the newest state is worth having most when saving goes badly.
    pub fn save(&mut self, snapshot: Snapshot) -> Result<Submitted, CheckpointError> {
        self.save_with(move || Ok(snapshot))
    }

    /// Like [`AsyncSaver::save`]; `make` collects the snapshot on the thread.
    ///
    /// # Errors
    /// As there. When `make` fails, the next call says so.
    pub fn save_with(
        &mut self,
        make: impl FnOnce() -> Result<Snapshot, CheckpointError> + Send + 'static,
    ) -> Result<Submitted, CheckpointError> {
        let started = Instant::now();
        let previous = self.wait();
        let waited = started.elapsed();
        let jobs = self.jobs.as_ref().ok_or(CheckpointError::WriterGone)?;
        jobs.send(Box::new(make))
            .map_err(|_| CheckpointError::WriterGone)?;
        self.in_flight = true;
        Ok(Submitted {
            waited,
            previous: previous?,
        })
    }

    /// What saving has cost so far.
    pub fn report(&self) -> SaverReport {
        self.report
    }

    /// Waits for the last save and ends the thread.
    ///
    /// # Errors
    /// What went wrong with the last save.
    pub fn finish(mut self) -> Result<Finished, CheckpointError> {
        let last = self.wait();
        self.jobs = None;
        let thread = self.thread.take().ok_or(CheckpointError::WriterGone)?;
        let store = thread.join().map_err(|_| CheckpointError::WriterGone)?;
        Ok(Finished {
            store,
            last: last?,
            report: self.report,
        })
    }

    /// The outcome of the save in flight, if there is one.
    fn wait(&mut self) -> Result<Option<Saved>, CheckpointError> {
        if !std::mem::take(&mut self.in_flight) {
            return Ok(None);
        }
        let started = Instant::now();
        let outcome = self.outcomes.recv();
        self.report.waited += started.elapsed();
        let saved = outcome.map_err(|_| CheckpointError::WriterGone)??;
        self.report.saves += 1;
        self.report.writing += saved.took;
        Ok(Some(saved))
    }
}

impl Drop for AsyncSaver {
    /// A save in flight is finished even when the run ends in an error.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _store_or_panic = thread.join();
        }
    }
}
