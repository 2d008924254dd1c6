//! The program that started this one.

use std::io;
use std::thread;

/// Calls `leave` when the program that started this one is gone, however it ended: it holds the
/// other end of standard input, and need not write to it.
///
/// # Errors
/// Returns an error if the waiting thread cannot be started.
pub(super) fn when_gone(leave: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let wait = || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        leave();
    };
    let parent = thread::Builder::new().name("parent".to_owned());
    parent.spawn(wait).map(drop)
}
