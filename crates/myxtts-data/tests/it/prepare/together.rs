//! Several processes on one dataset.
//!
//! Each is this test's program again, told by a variable what to prepare.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Command};

use myxtts_audio::units::Frames;
use myxtts_data::prepare::{
    Event, Manifest, PrepareError, Quarantine, Report, Request, prepare, ready, unwatched,
};

use super::support::Dataset;

const FOLDER: &str = "TOGETHER_DATASET";
const FRAMES: &str = "TOGETHER_FRAMES";
const READS: &str = "TOGETHER_READS";

fn child(data: &Dataset, frames: usize, reads: bool) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["prepare::together::worker", "--exact", "--ignored"])
        .env(FOLDER, data.path())
        .env(FRAMES, frames.to_string())
        .env(READS, reads.to_string())
        .spawn()
        .unwrap()
}

fn succeed(children: Vec<Child>) {
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

/// What a folder says of itself in each of its files.
fn agree(out: &Path) -> Report {
    let report: Report =
        serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(Manifest::open(out).unwrap().count() as u64, report.kept);
    assert_eq!(
        Quarantine::open(out).unwrap().count() as u64,
        report.quarantined
    );
    assert_eq!(
        fs::read_to_string(out.join("report.txt")).unwrap(),
        report.to_string()
    );
    report
}

fn dataset() -> Dataset {
    let mut data = Dataset::new();
    data.good_clips(24);
    data
}

/// One to three seconds are 87 to 224 frames.
#[test]
fn what_several_prepare_at_once_is_of_one_of_them() {
    let data = dataset();
    for _ in 0..5 {
        succeed(
            [100, 160, 800]
                .map(|frames| child(&data, frames, false))
                .into(),
        );
        agree(&data.path().join("myxtts"));
    }
}

#[test]
fn trainings_with_other_settings_keep_their_own() {
    for _ in 0..3 {
        let data = dataset();
        // Each checks that it reads what it asked for.
        succeed(
            [100, 160, 800, 160]
                .map(|frames| child(&data, frames, true))
                .into(),
        );
        let out = data.path().join("myxtts");
        let sets = fs::read_dir(out.join("sets")).unwrap();
        let mut found: Vec<usize> = sets
            .map(|set| agree(&set.unwrap().path()).settings.max_frames.0)
            .chain([agree(&out).settings.max_frames.0])
            .collect();
        found.sort_unstable();
        assert_eq!(found, [100, 160, 800]);
    }
}

#[test]
fn a_wait_names_who_is_waited_for() {
    let data = dataset();
    let request = data.request();
    fs::create_dir_all(&request.out).unwrap();
    let lock = fs::File::create(request.out.join(".lock")).unwrap();
    fs::write(request.out.join(".lock"), "4711").unwrap();
    lock.lock().unwrap();
    let mut told = vec![];
    let mut lock = Some(lock);
    prepare(&request, &mut |event| {
        if let Event::Waiting(waiting) = event {
            told.push(data.anonymous(waiting));
            lock.take();
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    insta::assert_snapshot!(told.join("\n"), @"waiting for process 4711, which is preparing DATASET/myxtts; Ctrl-C ends the wait");
}

/// A stop in any row leaves what stood there, and nothing else.
#[test]
fn a_stopped_preparation_leaves_what_was_there() {
    let data = dataset();
    let mut request = data.request();
    let stop_at = |request: &Request<'_>, row: u64| {
        prepare(request, &mut |event| match event {
            Event::Row(progress) if progress.done == row => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    };
    let names = || {
        let entries = fs::read_dir(data.path().join("myxtts")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<String>>()
    };
    assert!(matches!(stop_at(&request, 7), Err(PrepareError::Stopped)));
    assert!(!names().contains("report.json"));
    assert!(
        !names().iter().any(|name| name.starts_with(".unfinished")),
        "{:?}",
        names()
    );
    let first = prepare(&request, &mut unwatched).unwrap();
    let whole = names();
    request.settings.max_frames = Frames(100);
    assert!(matches!(stop_at(&request, 24), Err(PrepareError::Stopped)));
    assert_eq!(names(), whole);
    // A share read back from text may differ in its last digit.
    let found = agree(&request.out);
    assert_eq!(found.fingerprint, first.fingerprint);
    assert_eq!(found.settings, first.settings);
}

/// Whoever waits for another process may stop waiting.
#[test]
fn a_wait_can_be_stopped() {
    let data = dataset();
    let request = data.request();
    fs::create_dir_all(&request.out).unwrap();
    let lock = fs::File::create(request.out.join(".lock")).unwrap();
    lock.lock().unwrap();
    let mut waits = 0;
    let stopped = ready(&request, &mut |_| {
        waits += 1;
        match waits {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert!(matches!(stopped, Err(PrepareError::Stopped)));
    assert_eq!(waits, 3);
}

/// A killed process leaves no report that is not of its files.
#[test]
fn what_was_left_half_way_is_made_again() {
    let data = dataset();
    let request = data.request();
    prepare(&request, &mut unwatched).unwrap();
    fs::remove_file(request.out.join("report.json")).unwrap();
    fs::write(request.out.join(".unfinished-x"), "").unwrap();
    let found = ready(&request, &mut unwatched).unwrap();
    assert_eq!(found.folder, request.out);
    agree(&request.out);
    assert!(!request.out.join(".unfinished-x").exists());
}

/// Not a test of its own: what those above run.
#[test]
#[ignore = "run by the tests above"]
fn worker() {
    let variable = |name| std::env::var(name).ok();
    let (Some(folder), Some(frames)) = (variable(FOLDER), variable(FRAMES)) else {
        return;
    };
    let mut request = Dataset::new().request();
    request.dataset = folder.clone().into();
    request.out = Path::new(&folder).join("myxtts");
    request.settings.max_frames = Frames(frames.parse().unwrap());
    if variable(READS).as_deref() == Some("true") {
        let found = ready(&request, &mut unwatched).unwrap();
        // Time for others to get in the way.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let report = agree(&found.folder);
        assert_eq!(report.settings.max_frames, request.settings.max_frames);
        assert_eq!(report, found.report);
    } else {
        prepare(&request, &mut unwatched).unwrap();
    }
}
