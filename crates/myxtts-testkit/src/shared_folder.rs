//! A folder that all tests of a binary share.
//!
//! Such a folder belongs to a `static`, which is never dropped, so a temporary one
//! would stay behind after every run. This one stays until the next run: it lies
//! beside a file that is locked for as long as its process lives, and whoever makes
//! a folder removes those whose files nobody locks. Tests that run at the same time
//! over one target folder leave each other's alone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct SharedFolder {
    path: PathBuf,
    _lock: File,
}

impl SharedFolder {
    /// Makes an empty folder below `target`, which is `env!("CARGO_TARGET_TMPDIR")`
    /// in a test.
    pub fn new(target: impl AsRef<Path>, name: &str) -> Self {
        let all = target.as_ref().join("shared");
        fs::create_dir_all(&all).unwrap();
        // One at a time: a folder whose lock is about to be taken is not a left one.
        let gate = File::create(all.join("gate")).unwrap();
        gate.lock().unwrap();
        sweep(&all);
        let folder = tempfile::Builder::new()
            .prefix(&format!("{name}-"))
            .tempdir_in(&all);
        let path = folder.unwrap().keep();
        let lock = File::create(lock_of(&path)).unwrap();
        lock.lock().unwrap();
        Self { path, _lock: lock }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes the folders of processes that have ended. What cannot be removed is left
/// to the next.
fn sweep(all: &Path) {
    for entry in fs::read_dir(all).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && is_left(&path) && fs::remove_dir_all(&path).is_ok() {
            let _ = fs::remove_file(lock_of(&path));
        }
    }
}

fn is_left(folder: &Path) -> bool {
    match File::open(lock_of(folder)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(_) => true,
    }
}

fn lock_of(folder: &Path) -> PathBuf {
    folder.with_extension("lock")
}

#[cfg(test)]
mod tests {
    use super::SharedFolder;

    #[test]
    fn the_next_removes_what_nobody_holds() {
        let target = tempfile::tempdir().unwrap();
        let [left, held] = ["left", "held"].map(|name| SharedFolder::new(target.path(), name));
        let gone = left.path().to_owned();
        // As when its process ends.
        drop(left);
        assert!(gone.exists());
        let next = SharedFolder::new(target.path(), "left");
        assert!(!gone.exists() && held.path().exists() && next.path().exists());
    }
}
