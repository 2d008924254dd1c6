//! Whether a run is running.
//!
//! The run folder's lock would tell for certain, but trying it takes it, and a
//! training that starts at that moment would find its folder in use. So the
//! lock file is only read: it holds the process id while the run lasts, and
//! nothing after an orderly end.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::units::{Seconds, WallTime};

/// After this much silence a process that cannot be seen is taken to be gone.
const SILENCE: Seconds = Seconds(15.0);
/// The same where processes cannot be looked at: a long validation is silent.
const LONG_SILENCE: Seconds = Seconds(600.0);

/// Whether a run is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "state")]
pub(crate) enum Life {
    /// A process is training.
    Running {
        /// The id of the process.
        process: u32,
    },
    /// The run ended in an orderly way: done, or asked to stop.
    Ended,
    /// The process is gone, and did not end in an orderly way.
    Lost {
        /// The id of the process.
        process: u32,
    },
    /// There is no lock that can be read: an older folder, or a copy of one.
    Unclear,
}

impl Life {
    /// Judges the run in `folder`, which last wrote something at `written`.
    pub(crate) fn of(folder: &Path, written: Option<WallTime>, now: WallTime) -> Self {
        let lock = fs::read_to_string(folder.join("run.lock"));
        let silence = written.map(|written| now.since(written));
        judge(lock.ok().as_deref(), is_alive, silence)
    }

    /// Returns whether the run is training.
    pub(crate) fn is_running(self) -> bool {
        matches!(self, Self::Running { .. })
    }
}

fn judge(
    lock: Option<&str>,
    is_alive: impl Fn(u32) -> Option<bool>,
    silence: Option<Seconds>,
) -> Life {
    let Some(lock) = lock else {
        return Life::Unclear;
    };
    if lock.trim().is_empty() {
        return Life::Ended;
    }
    let Ok(process) = lock.trim().parse() else {
        return Life::Unclear;
    };
    let silent = |least: Seconds| silence.is_none_or(|silence| silence > least);
    let running = match is_alive(process) {
        Some(true) => true,
        // It may be on another machine that shares the folder: then it writes.
        Some(false) => !silent(SILENCE),
        None => !silent(LONG_SILENCE),
    };
    if running {
        Life::Running { process }
    } else {
        Life::Lost { process }
    }
}

/// Returns whether a process is alive; `None` where the system has no `/proc`.
fn is_alive(process: u32) -> Option<bool> {
    let processes = Path::new("/proc");
    let tells = processes.join("self").exists();
    tells.then(|| processes.join(process.to_string()).exists())
}

#[cfg(test)]
mod tests {
    use myxtts_run::run_folder::RunFolder;

    use super::*;

    #[test]
    fn the_lock_file_tells() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let now = WallTime(100.0);
        assert_eq!(Life::of(&path, None, now), Life::Unclear);
        let held = RunFolder::take(&path).unwrap();
        let process = std::process::id();
        let life = Life::of(&path, Some(now), now);
        assert_eq!(life, Life::Running { process });
        // Looking does not take it.
        assert!(RunFolder::take(&path).is_err());
        held.release().unwrap();
        assert_eq!(Life::of(&path, Some(now), now), Life::Ended);
    }

    #[test]
    fn a_process_that_cannot_be_seen_is_judged_by_its_silence() {
        let (gone, unknown) = (|_| Some(false), |_| None);
        let lost = Life::Lost { process: 7 };
        let running = Life::Running { process: 7 };
        let secs = |s| Some(Seconds(s));
        assert_eq!(judge(Some("7"), gone, secs(1.0)), running);
        assert_eq!(judge(Some("7"), gone, secs(60.0)), lost);
        assert_eq!(judge(Some("7"), gone, None), lost);
        assert_eq!(judge(Some("7"), unknown, secs(60.0)), running);
        assert_eq!(judge(Some("7"), unknown, secs(6000.0)), lost);
        assert_eq!(judge(Some("x"), gone, secs(1.0)), Life::Unclear);
    }
}
