//! `runs/NAME/`: the folder that holds everything of a run.
//!
//! One process at a time uses it. The operating system locks `run.lock` and
//! releases it however the process ends, so a lock is never stale; the process id
//! inside is only for the message. A folder that holds something and no
//! `run.lock` belongs to somebody else, and is left alone.

mod log;

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub use log::{Notes, RunLog};
use myxtts_base::report;

use crate::FileError;
use crate::units::Step;

/// A run's folder, held by this process.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Locked for as long as it is open.
    lock_file: File,
    left_by: Option<u32>,
}

impl RunFolder {
    /// Takes the folder at `path`, and makes it when it is not there.
    ///
    /// # Errors
    /// When another process holds it, it contains files of something else, or it
    /// cannot be made.
    pub fn take(path: impl Into<PathBuf>) -> Result<Self, RunFolderError> {
        let path = path.into();
        let io = |action| FileError::when(action, &path);
        fs::create_dir_all(&path).map_err(io("make"))?;
        let lock = path.join("run.lock");
        let empty = fs::read_dir(&path).map_err(io("list"))?.next().is_none();
        if !empty && !lock.exists() {
            return Err(RunFolderError::NotARun { path });
        }
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock)
            .map_err(io("open run.lock in"))?;
        let locked = file.try_lock();
        if let Err(TryLockError::Error(source)) = locked {
            return Err(FileError::when("lock run.lock in", path)(source).into());
        }
        // On Windows it cannot be read while locked: the holder then has no number.
        let mut holder = String::new();
        let _read = file.read_to_string(&mut holder);
        let holder = holder.trim().parse::<u32>().ok();
        if locked.is_err() {
            return Err(RunFolderError::Taken {
                path,
                holder: holder.into(),
            });
        }
        write_id(&mut file, &std::process::id().to_string()).map_err(io("write run.lock in"))?;
        for folder in ["checkpoints", "samples", "tensorboard"] {
            let folder = path.join(folder);
            fs::create_dir_all(&folder).map_err(FileError::when("make", &folder))?;
        }
        Ok(Self {
            path,
            lock_file: file,
            left_by: holder,
        })
    }

    /// Returns the process that held the folder before and did not release it: it
    /// was killed, or its machine went down.
    pub fn left_by(&self) -> Option<u32> {
        self.left_by
    }

    /// Releases the folder, and records that the run ended in an orderly way.
    ///
    /// # Errors
    /// When the lock file cannot be written.
    pub fn release(mut self) -> Result<(), FileError> {
        write_id(&mut self.lock_file, "").map_err(FileError::when("write run.lock in", self.path))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the effective configuration, with origins.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.yaml")
    }

    /// Returns the path of the plan.
    pub fn plan(&self) -> PathBuf {
        self.path.join("plan.json")
    }

    /// Returns the path of the metrics, which have a line per step.
    pub fn metrics(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }

    /// Returns the path of the stall ledger.
    pub fn ledger(&self) -> PathBuf {
        self.path.join("ledger.jsonl")
    }

    /// Returns the path of the readings of devices and host.
    pub fn devices(&self) -> PathBuf {
        self.path.join("devices.jsonl")
    }

    /// Returns the path of what the doctor found.
    pub fn findings(&self) -> PathBuf {
        self.path.join("findings.json")
    }

    /// Returns the path of the list of clips that were left out, and why.
    pub fn quarantine(&self) -> PathBuf {
        self.path.join("quarantine.jsonl")
    }

    /// Returns the folder of TensorBoard event files.
    pub fn tensorboard(&self) -> PathBuf {
        self.path.join("tensorboard")
    }

    /// Returns the folder of the checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// Returns the path of the log.
    pub fn log(&self) -> PathBuf {
        self.path.join("train.log")
    }

    /// Makes and returns the folder for the samples synthesised at `step`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn samples(&self, step: Step) -> Result<PathBuf, FileError> {
        let folder = self.path.join("samples").join(format!("step_{step}"));
        fs::create_dir_all(&folder).map_err(FileError::when("make", &folder))?;
        Ok(folder)
    }
}

fn write_id(file: &mut File, text: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())
}

/// The process that holds a run folder; displayed as "another process" when its
/// id is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder(Option<u32>);

impl From<Option<u32>> for Holder {
    fn from(id: Option<u32>) -> Self {
        Self(id)
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(id) => write!(f, "process {id}"),
            None => write!(f, "another process"),
        }
    }
}

/// Why a folder cannot be used for a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFolderError {
    /// Another process is training in the folder.
    #[error(
        "{}",
        report!(
            "{} is in use by {holder}", path.display();
            fix: "wait for it, stop it, or choose another name with --set training.name=NAME"
        )
    )]
    Taken {
        /// The folder that is in use.
        path: PathBuf,
        /// The process that holds it.
        holder: Holder,
    },
    /// The folder holds files but not a run.
    #[error(
        "{}",
        report!(
            "{} is not a run folder: it holds files but no run.lock", path.display();
            fix: "choose an empty or new folder (nothing there was touched)"
        )
    )]
    NotARun {
        /// The folder that was refused.
        path: PathBuf,
    },
    /// The file system refused.
    #[error(transparent)]
    Io(#[from] FileError),
}
