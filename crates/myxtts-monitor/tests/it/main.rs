//! The monitor in a pseudo-terminal, over run folders that change meanwhile.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod child;
mod folder;

use folder::Run;

#[test]
fn keys_turn_pages_and_switch_runs_and_leaving_restores_the_terminal() {
    let runs = tempfile::tempdir().unwrap();
    let one = Run::begin(&runs.path().join("one"));
    one.steps(1..=30);
    let two = Run::begin(&runs.path().join("two"));
    two.steps(1..=7);
    let mut monitor = child::start("watch", &runs.path().join("one"), 80, 24);
    // A screen is read in parts: each is waited for.
    monitor.wait_for("30 of 60");
    monitor.wait_for("running");
    monitor.wait_for("Stall ledger");
    assert!(monitor.is_raw());
    monitor.press("?");
    monitor.wait_for("any key closes this");
    monitor.press("x?");
    monitor.wait_without("any key closes this");
    monitor.press("\x1b[C");
    monitor.wait_for("7 of 60");
    monitor.press("6");
    monitor.wait_for("─ Runs");
    monitor.press("\x1b[A\x1b[A\r");
    monitor.wait_for("of 60");
    monitor.press("3");
    monitor.wait_for("software card");
    monitor.press("q");
    let left = monitor.left();
    assert_eq!(left.status.code(), Some(0));
    assert!(left.written.contains("\x1b[?1049h"));
    assert!(left.screen.contents().contains("Quit"));
}

#[test]
fn a_size_that_changes_is_followed() {
    let runs = tempfile::tempdir().unwrap();
    let run = Run::begin(&runs.path().join("one"));
    run.steps(1..=30);
    let mut monitor = child::start("watch", runs.path(), 80, 24);
    monitor.wait_for("30 of 60");
    monitor.resize(200, 60);
    monitor.wait_for("Loss of stage gpt");
    monitor.wait_for("─ Step time");
    let spoil = "\x1b[H\x1b[2Jsomebody else";
    monitor.write_over(spoil);
    monitor.wait_for("somebody else");
    monitor.press("\x0c");
    monitor.wait_until("all of it", |screen| {
        let shown = screen.contents();
        shown.contains("Loss of stage gpt") && !shown.contains("somebody else")
    });
    monitor.resize(22, 5);
    monitor.wait_for("too small");
    monitor.resize(80, 24);
    monitor.wait_for("30 of 60");
    monitor.press("\x03");
    assert_eq!(monitor.left().status.code(), Some(130));
}

#[test]
fn without_colour_the_screen_has_none() {
    let runs = tempfile::tempdir().unwrap();
    Run::begin(&runs.path().join("one")).steps(1..=30);
    let coloured = |mode: &str| {
        let mut monitor = child::start(mode, runs.path(), 80, 24);
        monitor.wait_for("Stall ledger");
        let screen = monitor.screen();
        let cells = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
        let count = cells
            .filter_map(|(row, column)| screen.cell(row, column))
            .filter(|cell| cell.fgcolor() != vt100::Color::Default)
            .count();
        monitor.press("q");
        monitor.left();
        count
    };
    assert_eq!(coloured("watch"), 0);
    assert!(coloured("watch in colour") > 20);
}

/// A writer beside it appends, is in the middle of a line, rotates, resumes
/// from an earlier step, and ends.
#[test]
fn a_run_is_followed_through_everything_that_happens_to_its_files() {
    let runs = tempfile::tempdir().unwrap();
    let path = runs.path().join("one");
    let mut monitor = child::start("watch", runs.path(), 100, 30);
    monitor.wait_for("no run below");
    let run = Run::begin(&path);
    run.steps(1..=3);
    monitor.wait_for("3 of 60");
    let writer = std::thread::spawn({
        let path = path.clone();
        move || Run::at(&path).steps(4..=20)
    });
    monitor.wait_for("20 of 60");
    writer.join().unwrap();
    run.half_a_line();
    run.devices(41.0);
    monitor.wait_for("41 °C");
    run.finish_line(21);
    monitor.wait_for("21 of 60");
    run.rotate_devices();
    run.devices(43.0);
    monitor.wait_for("43 °C");
    run.lose_device();
    monitor.wait_for("lost: not among the devices");
    run.resume_from(10);
    run.steps(11..=12);
    monitor.wait_for("12 of 60");
    run.truncate_ledger();
    monitor.wait_for("ledger.jsonl has no batch");
    run.findings("not input-bound: 0.4 % waiting");
    monitor.wait_for("not input-bound: 0.4 % waiting");
    run.end();
    monitor.wait_for("ended");
    std::fs::remove_dir_all(&path).unwrap();
    monitor.wait_for("no run.lock");
    monitor.press("q");
    assert_eq!(monitor.left().status.code(), Some(0));
}

#[test]
fn signals_end_it_and_restore_the_terminal() {
    let runs = tempfile::tempdir().unwrap();
    for (name, code) in [("TERM", 143), ("HUP", 129)] {
        let mut monitor = child::start("watch", runs.path(), 80, 24);
        monitor.wait_for("no run below");
        monitor.signal(name);
        assert_eq!(monitor.left().status.code(), Some(code));
    }
}

#[test]
fn a_panic_restores_the_terminal_before_it_is_told() {
    let runs = tempfile::tempdir().unwrap();
    let left = child::start("panic", runs.path(), 80, 24).left();
    let shown = left.screen.contents();
    assert!(shown.contains("a defect, for the test"), "{shown}");
    assert!(left.written.contains("\x1b[?1049h"));
}

#[test]
fn a_reader_that_panics_does_not_take_the_screen_along() {
    let runs = tempfile::tempdir().unwrap();
    Run::begin(&runs.path().join("one")).steps(1..=3);
    let mut monitor = child::start("device panic", runs.path(), 80, 24);
    monitor.wait_for("3 of 60");
    monitor.press("?");
    monitor.wait_for("any key closes this");
    monitor.press("q");
    let left = monitor.left();
    let shown = left.screen.contents();
    assert!(shown.contains("a thread of the monitor ended"), "{shown}");
    assert_eq!(left.status.code(), Some(0));
}
