//! The program that started this one.

use std::io;
use std::thread;

/// Calls `leave` when the program that started this one is gone, however it
/// went: it holds the other end of the standard input, and need not write to it.
///
/// # Errors
/// When the thread that waits for this cannot be started.
pub(super) fn when_gone(leave: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let wait = || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        leave();
    };
    let parent = thread::Builder::new().name("parent".to_owned());
    parent.spawn(wait).map(drop)
}
