//! `myxtts monitor`, in a terminal and without one.

use std::path::Path;

use myxtts_run::metrics::{MetricsWriter, Record};
use myxtts_run::run_folder::RunFolder;
use myxtts_run::units::Step;

use crate::support::{Run, run_in};

/// A run of a few steps, which this process holds as a training would.
fn run_below(folder: &Path, name: &str, steps: u64) -> RunFolder {
    let run = RunFolder::take(folder.join("runs").join(name)).unwrap();
    let (mut writer, _) = MetricsWriter::open(run.metrics(), None).unwrap();
    for step in 1..=steps {
        let record = Record::new(Step(step))
            .text("stage", "gpt")
            .f64("loss", 3.0 / step as f64)
            .f64("step_s", 0.5)
            .f64("data_wait_s", 0.05);
        writer.append(&record).unwrap();
    }
    run
}

/// Without a card to be found, whatever the tester has.
fn monitor(folder: &Path, arguments: &[&str]) -> Run {
    let arguments = [&["monitor"], arguments].concat();
    run_in(folder, &arguments, &[("MYXTTS_SOFTWARE_GPUS", "0")])
}

#[test]
fn without_a_terminal_one_frame_is_printed_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let _held = run_below(folder.path(), "anna", 9);
    for arguments in [&[][..], &["--once"], &["anna"], &["runs/anna", "--once"]] {
        let run = monitor(folder.path(), arguments);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stdout.starts_with("runs/anna\n"), "{}", run.stdout);
        assert!(
            run.stdout.contains(" step       9; stage gpt\n"),
            "{}",
            run.stdout
        );
        assert!(run.stdout.contains(" data wait  10.0 %"), "{}", run.stdout);
        assert!(run.stdout.contains("running, process "), "{}", run.stdout);
        assert!(run.stdout.contains("CPU  busy "), "{}", run.stdout);
        assert!(!run.stdout.contains('\u{1b}'), "{}", run.stdout);
    }
}

#[test]
fn a_document_for_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let held = run_below(folder.path(), "anna", 9);
    let document = monitor(folder.path(), &["--once", "--json"]).json();
    assert_eq!(document["run"]["step"], 9);
    assert_eq!(document["run"]["life"]["state"], "running");
    assert_eq!(document["run"]["step_s"], 0.5);
    assert!(document["machine"]["host"]["memory_mb"].as_f64().unwrap() > 0.0);
    assert!(document["machine"]["devices"].as_array().is_some());
    held.release().unwrap();
    let document = monitor(folder.path(), &["--json"]).json();
    assert_eq!(document["run"]["life"]["state"], "ended");
    assert_eq!(document["runs"][0]["name"], "anna");
}

#[test]
fn no_run_is_said_and_a_wrong_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = monitor(folder.path(), &[]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.contains("no run below runs yet"),
        "{}",
        run.stdout
    );
    let _held = run_below(folder.path(), "anna", 1);
    let run = monitor(folder.path(), &["ana"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!("a_wrong_run", run.stderr);
}

#[cfg(target_os = "linux")]
mod in_a_terminal {
    use crate::support::command_in;
    use myxtts_testkit::terminal::InTerminal;

    use super::*;

    fn start(folder: &Path, columns: u16, rows: u16, variables: &[(&str, &str)]) -> InTerminal {
        let mut command = command_in(folder);
        command
            .arg("monitor")
            .env("MYXTTS_SOFTWARE_GPUS", "0")
            .env("TERM", "xterm-256color")
            .env_remove("COLUMNS")
            .envs(variables.iter().copied());
        InTerminal::start(&mut command, columns, rows)
    }

    fn coloured(monitor: &InTerminal) -> bool {
        let screen = monitor.screen();
        let (rows, columns) = screen.size();
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let mut cells = cells.filter_map(|(row, column)| screen.cell(row, column));
        cells.any(|cell| cell.fgcolor() != vt100::Color::Default)
    }

    #[test]
    fn it_follows_a_run_and_a_size_and_leaves_the_terminal_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let held = run_below(folder.path(), "anna", 9);
        let _other = run_below(folder.path(), "bela", 3);
        let mut monitor = start(folder.path(), 80, 24, &[("NO_COLOR", "1")]);
        monitor.wait_for("running, process");
        monitor.wait_for("CPU  busy ");
        assert!(!coloured(&monitor) && monitor.is_raw());
        monitor.resize(200, 60);
        monitor.wait_for("Loss of stage gpt");
        let shown = monitor.wait_until("a name", |screen| {
            let shown = screen.contents();
            shown.contains("runs/anna") || shown.contains("runs/bela")
        });
        monitor.press("n");
        let other = if shown.contains("runs/anna") {
            "runs/bela"
        } else {
            "runs/anna"
        };
        monitor.wait_for(other);
        monitor.press("p");
        monitor.wait_without(other);
        held.release().unwrap();
        monitor.press("6");
        monitor.wait_for("ended");
        monitor.press("q");
        let left = monitor.left();
        assert_eq!(left.status.code(), Some(0));
        assert!(left.written.contains("\x1b[?1049h"));
        assert!(left.written.contains("\x1b[?1049l"));
    }

    #[test]
    fn a_signal_and_a_dumb_terminal() {
        let folder = tempfile::tempdir().unwrap();
        let _held = run_below(folder.path(), "anna", 9);
        let mut monitor = start(folder.path(), 80, 24, &[("NO_COLOR", "")]);
        monitor.wait_for("running, process");
        assert!(coloured(&monitor));
        monitor.signal("TERM");
        let left = monitor.left();
        assert_eq!(left.status.code(), Some(143));
        assert!(left.screen.contents().contains("stopped by SIGTERM"));
        let left = start(folder.path(), 80, 50, &[("TERM", "dumb")]).left();
        assert_eq!(left.status.code(), Some(0));
        assert!(!left.written.contains("\x1b["), "{}", left.written);
        assert!(left.screen.contents().contains("Stall ledger"));
    }
}
