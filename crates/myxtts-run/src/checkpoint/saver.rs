//! Saving while training continues.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::{CheckpointError, Saved, Snapshot, Store};
use crate::FileError;

type Job = Box<dyn FnOnce() -> Result<Snapshot<'static>, CheckpointError> + Send>;
type Outcome = Result<Saved, CheckpointError>;

/// A thread that writes checkpoints. At most one is in flight: a second save
/// waits for it, because two copies of the model in memory are enough.
///
/// [`AsyncSaver::save_now`] writes on the caller's thread what must not be
/// copied.
#[derive(Debug)]
pub struct AsyncSaver {
    jobs: Option<Sender<Job>>,
    outcomes: Receiver<Outcome>,
    thread: Option<JoinHandle<()>>,
    store: Arc<Mutex<Store>>,
    in_flight: bool,
    report: SaverReport,
}

/// What saving cost in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaverReport {
    /// How many checkpoints were written.
    pub saves: u64,
    /// Time spent writing them.
    pub writing: Duration,
    /// Time that training waited for saves.
    pub waited: Duration,
}

/// The result of handing over a snapshot.
#[derive(Debug)]
pub struct Submitted {
    /// How long this call waited for the save before it.
    pub waited: Duration,
    /// The save before it, when it was not reported yet.
    pub previous: Option<Saved>,
}

/// The result of ending the saver, when all saves are done.
#[derive(Debug)]
pub struct Finished {
    /// The store, returned to the caller.
    pub store: Store,
    /// The last save, when it was not reported yet.
    pub last: Option<Saved>,
    /// What all saves cost.
    pub report: SaverReport,
}

impl AsyncSaver {
    /// Starts the thread that writes.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn start(store: Store) -> Result<Self, CheckpointError> {
        let (jobs, inbox) = channel::<Job>();
        let (outbox, outcomes) = channel();
        let folder = store.folder().to_path_buf();
        let store = Arc::new(Mutex::new(store));
        let shared = Arc::clone(&store);
        let thread = std::thread::Builder::new()
            .name("checkpoint".into())
            .spawn(move || {
                for job in inbox {
                    let outcome = job().and_then(|snapshot| write(&shared, snapshot));
                    if outbox.send(outcome).is_err() {
                        break;
                    }
                }
            })
            .map_err(FileError::when("start a thread to write", folder))?;
        Ok(Self {
            jobs: Some(jobs),
            outcomes,
            thread: Some(thread),
            store,
            in_flight: false,
            report: SaverReport::default(),
        })
    }

    /// Hands `snapshot` over, once the save before it is done.
    ///
    /// # Errors
    /// What went wrong with the save *before*, unless [`AsyncSaver::poll`] has
    /// reported it. This snapshot is written all the same: the newest state is
    /// worth most when saving goes badly.
    pub fn save(&mut self, snapshot: Snapshot<'static>) -> Result<Submitted, CheckpointError> {
        self.save_with(move || Ok(snapshot))
    }

    /// Like [`AsyncSaver::save`], but `make` collects the snapshot on the thread.
    ///
    /// # Errors
    /// Those of [`AsyncSaver::save`]. When `make` fails, [`AsyncSaver::poll`] or
    /// the next call reports it.
    pub(crate) fn save_with(
        &mut self,
        make: impl FnOnce() -> Result<Snapshot<'static>, CheckpointError> + Send + 'static,
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

    /// Writes `snapshot` on this thread, once the save before it is done: its
    /// files are made of what the caller holds, one piece at a time. Returns the
    /// save before, when it was not reported yet, and this one.
    ///
    /// # Errors
    /// What went wrong with this save, or else with the one before.
    pub fn save_now(
        &mut self,
        snapshot: Snapshot<'_>,
    ) -> Result<(Option<Saved>, Saved), CheckpointError> {
        let previous = self.wait();
        let saved = write(&self.store, snapshot)?;
        self.report.waited += saved.took;
        self.note(&saved);
        Ok((previous?, saved))
    }

    /// Returns the save in flight if it has ended since the last call. Training
    /// asks after every step, so that a failed save is known at once and not at
    /// the next one.
    ///
    /// # Errors
    /// What went wrong with that save.
    pub fn poll(&mut self) -> Result<Option<Saved>, CheckpointError> {
        self.ended_within(Duration::ZERO)
    }

    /// Returns what saving has cost so far.
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
        thread.join().map_err(|_| CheckpointError::WriterGone)?;
        let (store, report) = (Arc::clone(&self.store), self.report);
        // The thread has ended, so this was the only other holder.
        drop(self);
        let store = Arc::into_inner(store).and_then(|store| store.into_inner().ok());
        Ok(Finished {
            store: store.ok_or(CheckpointError::WriterGone)?,
            last: last?,
            report,
        })
    }

    /// Waits for the save in flight, if there is one, and returns its outcome.
    fn wait(&mut self) -> Result<Option<Saved>, CheckpointError> {
        if !self.in_flight {
            return Ok(None);
        }
        let started = Instant::now();
        let outcome = self.ended_within(Duration::MAX);
        self.report.waited += started.elapsed();
        outcome
    }

    fn ended_within(&mut self, patience: Duration) -> Result<Option<Saved>, CheckpointError> {
        if !self.in_flight {
            return Ok(None);
        }
        let outcome = match self.outcomes.recv_timeout(patience) {
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(CheckpointError::WriterGone),
            Ok(outcome) => outcome,
        };
        self.in_flight = false;
        let saved = outcome?;
        self.note(&saved);
        Ok(Some(saved))
    }

    fn note(&mut self, saved: &Saved) {
        self.report.saves += 1;
        self.report.writing += saved.took;
    }
}

fn write(store: &Mutex<Store>, snapshot: Snapshot<'_>) -> Outcome {
    // Poisoned means that a save panicked, and the store may be between two states.
    let mut store = store.lock().map_err(|_| CheckpointError::WriterGone)?;
    store.save(snapshot)
}

impl Drop for AsyncSaver {
    /// Waits for a save in flight, even when the run ends in an error.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ended_or_panicked = thread.join();
        }
    }
}
