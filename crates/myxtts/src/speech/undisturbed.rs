//! Files that are written from beginning to end, whoever would end the process meanwhile.

use std::sync::{Arc, Mutex, PoisonError};

/// Lets one part of a program write files while another waits with ending the process. Clones
/// share it.
#[derive(Clone, Debug, Default)]
pub struct Undisturbed {
    writing: Arc<Mutex<()>>,
}

impl Undisturbed {
    /// Does this when nobody else does the like: writes a file, or ends the process.
    pub fn write<T>(&self, write: impl FnOnce() -> T) -> T {
        // A writer that panicked has already ended the process.
        let _held = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        write()
    }
}
