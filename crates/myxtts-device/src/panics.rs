//! What the engine reports by a panic on its own threads, where no call returns it.
//!
//! - Memory that ran out: wgpu reports an allocation that failed by a panic. The
//!   engine catches it and continues: the work is gone, whoever reads its result
//!   gets what happened to be there, and a training would learn from it. So the
//!   panic is remembered here, and whoever reads results asks.
//! - A driver that fails while a device is opened: its words are kept for the
//!   error, instead of being printed beside it.

use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use crate::engine_error::EngineError;

/// How the engine and drivers say that memory ran out, in lower case.
const OUT_OF_MEMORY: [&str; 4] = [
    "out of memory",
    "out of device memory",
    "can't allocate",
    "out_of_device_memory",
];

static FAULT: OnceLock<String> = OnceLock::new();

/// Returns the line of an engine error that is about running out of memory, if
/// there is one.
pub fn oom_line(words: &str) -> Option<&str> {
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        OUT_OF_MEMORY.iter().any(|words| line.contains(words))
    };
    words.lines().find(tells).map(str::trim)
}

/// Checks that the engine has not dropped any work because memory ran out. Once
/// it has, nothing that is computed can be trusted.
///
/// # Errors
/// What the engine reported when it did.
pub fn check_for_oom() -> Result<(), EngineError> {
    match FAULT.get() {
        Some(line) => Err(EngineError::OutOfMemory { line: line.clone() }),
        None => Ok(()),
    }
}

/// Makes panics about memory be remembered from now on, and not printed.
pub(crate) fn watch() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if is_kept_quiet(info) {
                return;
            }
            match words(info) {
                Some(line) => {
                    let _ = FAULT.set(line.to_owned());
                }
                None => before(info),
            }
        }));
    });
}

fn words<'a>(info: &'a PanicHookInfo<'_>) -> Option<&'a str> {
    let words = info.payload_as_str()?;
    words.starts_with("wgpu error").then(|| oom_line(words))?
}

/// The thread that is opening a device, and what was reported meanwhile.
static OPENING: Mutex<Option<(ThreadId, Option<String>)>> = Mutex::new(None);

fn opening() -> MutexGuard<'static, Option<(ThreadId, Option<String>)>> {
    OPENING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Held by whoever opens a device: if two were opened at once, a report of the
/// engine's thread could be about either.
static ALONE: Mutex<()> = Mutex::new(());

/// While this lives, panics of this thread and of the engine's threads are kept
/// and not printed.
#[derive(Debug)]
pub(crate) struct Quiet {
    _alone: MutexGuard<'static, ()>,
}

impl Quiet {
    pub(crate) fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        *opening() = Some((thread::current().id(), None));
        Self { _alone: alone }
    }

    /// Returns the first panic that was kept.
    pub(crate) fn finish(self) -> Option<String> {
        opening().take().and_then(|(_, said)| said)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        *opening() = None;
    }
}

/// How the names of the engine's threads begin, before the numbers of the device.
const ENGINE_THREAD: &str = "DS";

fn is_kept_quiet(info: &PanicHookInfo<'_>) -> bool {
    let current = thread::current();
    let is_engine = current
        .name()
        .is_some_and(|name| name.starts_with(ENGINE_THREAD));
    let mut opening = opening();
    let Some((opener, said)) = opening.as_mut() else {
        return false;
    };
    if !is_engine && current.id() != *opener {
        return false;
    }
    let words = info.payload_as_str().unwrap_or("the driver panicked");
    said.get_or_insert_with(|| one_line(words));
    true
}

/// Returns the message without the engine's indentation and backtrace.
fn one_line(words: &str) -> String {
    let lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take(2).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::oom_line;

    #[test]
    fn the_line_that_tells_of_memory_is_found() {
        for (words, line) in [
            ("wgpu error: Out of Memory", "wgpu error: Out of Memory"),
            (
                "failed\n  out of device memory allocating 4096 bytes\n  at 1",
                "out of device memory allocating 4096 bytes",
            ),
            (
                "can't allocate buffer of size: 12",
                "can't allocate buffer of size: 12",
            ),
        ] {
            assert_eq!(oom_line(words), Some(line));
        }
        assert_eq!(oom_line("the device was lost"), None);
    }
}
