//! One run, one process.

use std::time::Duration;

use myxtts_run::run_folder::{RunFolder, RunFolderError};
use myxtts_run::units::Step;

use crate::again;

/// The other process: takes the folder and stays.
#[test]
fn hold() {
    let Some(folder) = again::folder() else {
        return;
    };
    let _held = RunFolder::take(folder.join("run")).unwrap();
    std::fs::write(folder.join("held"), "").unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_folder_in_use_is_refused_until_its_process_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut child = again::start("run_folder::hold", folder.path());
    while !folder.path().join("held").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let refused = RunFolder::take(&run).unwrap_err();
    let said = refused
        .to_string()
        .replace(folder.path().to_str().unwrap(), "RUNS");
    let id = child.id();
    insta::assert_snapshot!("in_use", said.replace(&id.to_string(), "ID"));
    // The lock of a process that was killed is nobody's.
    child.kill().unwrap();
    child.wait().unwrap();
    let taken = RunFolder::take(&run).unwrap();
    assert_eq!(taken.left_by(), Some(id));
    assert!(matches!(
        RunFolder::take(&run),
        Err(RunFolderError::Taken { .. })
    ));
    taken.release().unwrap();
    assert_eq!(RunFolder::take(&run).unwrap().left_by(), None);
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "").unwrap();
    let said = RunFolder::take(folder.path()).unwrap_err().to_string();
    insta::assert_snapshot!(
        "not_a_run",
        said.replace(folder.path().to_str().unwrap(), "RUN")
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_layout_is_that_of_the_documentation() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::take(folder.path().join("runs/a")).unwrap();
    let paths = [
        run.config(),
        run.plan(),
        run.metrics(),
        run.ledger(),
        run.findings(),
        run.quarantine(),
        run.tensorboard(),
        run.samples(Step(200)).unwrap(),
        run.checkpoints(),
        run.log(),
    ];
    let names = paths.map(|path| {
        let kind = if path.is_dir() { "/" } else { "" };
        format!("{}{kind}", path.strip_prefix(run.path()).unwrap().display())
    });
    insta::assert_snapshot!("layout", names.join("\n"));
}
