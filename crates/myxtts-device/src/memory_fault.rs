//! Memory that ran out where no call returns it.
//!
//! wgpu reports an allocation that failed by a panic on the engine's device
//! thread. The engine catches it and goes on: the work is gone, whoever reads
//! its result gets what happened to be there, and a training would learn from
//! it. So the panic is remembered here, and whoever reads results asks.

use std::panic::{self, PanicHookInfo};
use std::sync::{Once, OnceLock};

/// How the engine and drivers say it, in lower case.
const OUT_OF_MEMORY: [&str; 4] = [
    "out of memory",
    "out of device memory",
    "can't allocate",
    "out_of_device_memory",
];

static FAULT: OnceLock<String> = OnceLock::new();

/// The line of an error of the engine that tells of memory, if one does.
pub fn told_of_memory(words: &str) -> Option<&str> {
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        OUT_OF_MEMORY.iter().any(|words| line.contains(words))
    };
    words.lines().find(tells).map(str::trim)
}

/// Whether the engine has dropped no work for want of memory. Once it has,
/// nothing that is computed can be trusted any more.
///
/// # Errors
/// What it said when it did.
pub fn no_memory_fault() -> Result<(), String> {
    match FAULT.get() {
        Some(words) => Err(words.clone()),
        None => Ok(()),
    }
}

/// From now on such panics are remembered instead of printed.
pub(crate) fn watch() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| match words(info) {
            Some(line) => {
                let _ = FAULT.set(line.to_owned());
            }
            None => before(info),
        }));
    });
}

fn words<'a>(info: &'a PanicHookInfo<'_>) -> Option<&'a str> {
    let words = info.payload_as_str()?;
    words
        .starts_with("wgpu error")
        .then(|| told_of_memory(words))?
}

#[cfg(test)]
mod tests {
    use super::told_of_memory;

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
            assert_eq!(told_of_memory(words), Some(line));
        }
        assert_eq!(told_of_memory("the device was lost"), None);
    }
}
