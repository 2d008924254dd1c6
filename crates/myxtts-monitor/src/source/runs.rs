//! The list of runs.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::life::Life;
use crate::error::MonitorError;
use crate::units::WallTime;

/// Where `train` puts its runs.
const RUNS: &str = "runs";
/// How deep folders are searched for runs; more would be somebody's whole disk.
const DEPTH: usize = 3;
/// The most runs that are listed.
const MOST: usize = 200;
/// The most entries of folders that are looked at.
const MOST_FOLDERS: usize = 5000;

/// A run that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RunEntry {
    /// The name of its folder, below the folder of runs.
    pub(crate) name: String,
    /// The path of its folder.
    pub(crate) path: PathBuf,
    /// Whether it is running.
    #[serde(flatten)]
    pub(crate) life: Life,
    /// When it last wrote something.
    pub(crate) written: Option<WallTime>,
}

/// Where to look for runs, and which to show first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) first: Option<PathBuf>,
}

impl Place {
    /// Finds what a person meant: a run, a folder of runs, a name below `runs`, or
    /// everything there is.
    ///
    /// # Errors
    /// If there is nothing of that name, or it cannot be read.
    pub(crate) fn of(asked: Option<&Path>) -> Result<Self, MonitorError> {
        let Some(asked) = asked else {
            return Ok(Self {
                folder: RUNS.into(),
                first: None,
            });
        };
        let below = Path::new(RUNS).join(asked);
        for path in [asked, &below] {
            if is_run(path) {
                let folder = path.parent().filter(|parent| *parent != Path::new(""));
                return Ok(Self {
                    folder: folder.unwrap_or(Path::new(".")).to_owned(),
                    first: Some(path.to_owned()),
                });
            }
        }
        if asked.is_dir() {
            fs::read_dir(asked).map_err(|source| MonitorError::Unreadable {
                asked: asked.to_owned(),
                source,
            })?;
            return Ok(Self {
                folder: asked.to_owned(),
                first: None,
            });
        }
        let known = list(Path::new(RUNS), WallTime::now());
        let known: Vec<String> = known.into_iter().take(5).map(|run| run.name).collect();
        Err(MonitorError::NoSuchRun {
            asked: asked.to_owned(),
            known,
        })
    }

    /// Lists the runs, first those that are running, then the newest. A run that was
    /// asked for by its path is the only one of its folder that is certain to be
    /// listed.
    pub(crate) fn list(&self, now: WallTime) -> Vec<RunEntry> {
        let mut runs = list(&self.folder, now);
        if let Some(first) = &self.first
            && !runs.iter().any(|run| run.path == *first)
        {
            runs.truncate(MOST - 1);
            runs.push(entry(&self.folder, first, now));
        }
        runs
    }
}

fn list(folder: &Path, now: WallTime) -> Vec<RunEntry> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    let mut looked = 0;
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            looked += 1;
            if looked > MOST_FOLDERS {
                break;
            }
            // Links are not followed: one to a parent would never end.
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if is_run(&entry.path()) {
                found.push(entry.path());
            } else if depth + 1 < DEPTH {
                folders.push((entry.path(), depth + 1));
            }
        }
    }
    let mut runs: Vec<RunEntry> = found.iter().map(|path| entry(folder, path, now)).collect();
    runs.sort_by(|a, b| {
        let key = |run: &RunEntry| run.written.map_or(0.0, |written| written.0);
        let running = b.life.is_running().cmp(&a.life.is_running());
        running
            .then(key(b).total_cmp(&key(a)))
            .then(a.name.cmp(&b.name))
    });
    runs.truncate(MOST);
    runs
}

fn entry(folder: &Path, path: &Path, now: WallTime) -> RunEntry {
    let written = written(path);
    RunEntry {
        name: path
            .strip_prefix(folder)
            .unwrap_or(path)
            .display()
            .to_string(),
        path: path.to_owned(),
        life: Life::of(path, written, now),
        written,
    }
}

/// Returns when a run last wrote something.
pub(crate) fn written(run: &Path) -> Option<WallTime> {
    ["metrics.jsonl", "ledger.jsonl", "train.log", "run.lock"]
        .into_iter()
        .filter_map(|name| fs::metadata(run.join(name)).ok()?.modified().ok())
        .max()
        .map(WallTime::of)
}

fn is_run(path: &Path) -> bool {
    ["run.lock", "metrics.jsonl"]
        .into_iter()
        .any(|name| path.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use myxtts_run::run_folder::RunFolder;

    use super::*;

    #[test]
    fn runs_are_found_below_a_folder_the_running_ones_first() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("a"), folder.path().join("deep/b"));
        let held = RunFolder::take(&old).unwrap();
        RunFolder::take(&new).unwrap().release().unwrap();
        fs::create_dir(folder.path().join("not a run")).unwrap();
        let place = Place::of(Some(folder.path())).unwrap();
        let names = |runs: &[RunEntry]| runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&place.list(WallTime::now())), ["a", "deep/b"]);
        held.release().unwrap();
        let runs = place.list(WallTime::now());
        assert!(runs.iter().all(|run| run.life == Life::Ended));
    }

    #[test]
    fn a_run_is_shown_first_and_its_neighbours_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let _held = [&one, &two].map(|path| RunFolder::take(path).unwrap());
        let place = Place::of(Some(&one)).unwrap();
        assert_eq!(place.first.as_deref(), Some(one.as_path()));
        assert_eq!(place.list(WallTime::now()).len(), 2);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let error = Place::of(Some(Path::new("no/such/run"))).unwrap_err();
        insta::assert_snapshot!(error, @r"
        `no/such/run` is not a run, nor a folder of runs, nor a name below `runs`
          found: no run below `runs`
          fix:   name a run's folder, such as `runs/NAME`, or leave it out to see all runs
        ");
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_runs() {
        let place = Place::of(None).unwrap();
        assert_eq!(place.folder, Path::new("runs"));
        assert!(list(Path::new("no/such"), WallTime(0.0)).is_empty());
    }
}
