//! Who may write or read a prepared folder.
//!
//! One process writes it at a time, and none while others read it. The lock is
//! the operating system's, so it ends with its process and is never stale; the
//! process id inside is for the message.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::PrepareError;

const LOCK: &str = ".lock";
/// The pause between two tries for a lock that another process holds.
const PATIENCE: Duration = Duration::from_millis(100);

/// What a lock is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// A folder that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The path of the folder.
    pub folder: PathBuf,
    /// The process that writes it; `None` where others read it, as readers do not sign.
    pub holder: Option<u32>,
}

impl std::fmt::Display for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let folder = self.folder.display();
        match self.holder {
            Some(id) => write!(
                f,
                "waiting for process {id}, which is preparing {folder}; Ctrl-C ends the wait"
            ),
            None => write!(
                f,
                "waiting for another process, which is using {folder}; Ctrl-C ends the wait"
            ),
        }
    }
}

/// A lock on a folder, held as long as it lives.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    access: Access,
}

impl Lock {
    /// Waits for the folder; `waiting` is told of the wait, and may break it off.
    pub(super) fn take(
        folder: &Path,
        access: Access,
        waiting: &mut dyn FnMut(Waiting) -> ControlFlow<()>,
    ) -> Result<Self, PrepareError> {
        let path = folder.join(LOCK);
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(PrepareError::output(&path))?;
        let mut tries = 0_u64;
        loop {
            let tried = match access {
                Access::Read => file.try_lock_shared(),
                Access::Write => file.try_lock(),
            };
            match tried {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    // The wait is reported from the second try on: by then the
                    // holder has signed, and a wait that nobody notices is not
                    // reported.
                    tries += 1;
                    let waits = Waiting {
                        folder: folder.to_owned(),
                        holder: holder(&mut file),
                    };
                    if tries >= 2 && waiting(waits).is_break() {
                        return Err(PrepareError::Stopped);
                    }
                    thread::sleep(PATIENCE);
                }
                // The file system has no locks; there it is up to the user to run
                // one process.
                Err(TryLockError::Error(why)) if why.kind() == io::ErrorKind::Unsupported => break,
                Err(TryLockError::Error(why)) => return Err(PrepareError::output(&path)(why)),
            }
        }
        if access == Access::Write {
            sign(&mut file).map_err(PrepareError::output(&path))?;
        }
        Ok(Self { file, access })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Readers do not sign, so the id of the last writer must not be taken for theirs.
        if self.access == Access::Write {
            let _ = self.file.set_len(0);
        }
        // Closing the file would do, but not while a child that inherited it has it open.
        let _ = self.file.unlock();
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut id = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_to_string(&mut id).ok()?;
    id.trim().parse().ok()
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(std::process::id().to_string().as_bytes())
}

/// Keeps prepared folders as they are while they are read. Clones share the locks.
#[derive(Clone, Debug, Default)]
pub struct Reading(Arc<Mutex<Vec<Lock>>>);

impl Reading {
    pub(super) fn of(lock: Lock) -> Self {
        Self(Arc::new(Mutex::new(vec![lock])))
    }

    /// Takes over the locks of another.
    pub fn join(&self, other: &Self) {
        let mut locks =
            std::mem::take(&mut *other.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        own.append(&mut locks);
    }

    /// Gives the locks back once everything is read; others may then write.
    pub fn finish(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}
