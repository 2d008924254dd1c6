//! The program that is driven: this test binary again, which then is the
//! monitor.

use std::path::Path;
use std::process::Command;

use myxtts_monitor::{
    DeviceSample, Ending, HostSample, MachineSample, Reading, Screen, WallTime, watch,
};
use myxtts_run::signals::StopRequest;
use myxtts_testkit::terminal::InTerminal;

const MODE: &str = "MONITOR_TEST_MODE";
const FOLDER: &str = "MONITOR_TEST_FOLDER";

pub(crate) fn start(mode: &str, folder: &Path, columns: u16, rows: u16) -> InTerminal {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child::acts_as_the_program", "--nocapture"])
        .env(MODE, mode)
        .env(FOLDER, folder)
        .env("TERM", "xterm-256color");
    InTerminal::start(&mut command, columns, rows)
}

/// Nothing, unless it was started by [`start`].
#[test]
fn acts_as_the_program() {
    let Ok(mode) = std::env::var(MODE) else {
        return;
    };
    let folder = std::env::var_os(FOLDER).unwrap();
    let folder = Path::new(&folder);
    let stop = StopRequest::install().unwrap();
    let read: myxtts_monitor::ReadMachine = match mode.as_str() {
        "device panic" => Box::new(|| panic!("the driver library is broken")),
        _ => Box::new(sample),
    };
    if mode == "panic" {
        let mut screen = Screen::take().unwrap();
        screen.terminal().draw(|_| {}).unwrap();
        panic!("a defect, for the test");
    }
    let ending = watch(Some(folder), mode == "watch in colour", read, &stop).unwrap();
    println!("{ending:?}");
    std::process::exit(match ending {
        Ending::Quit => 0,
        Ending::Stopped(signal) => signal.exit_code(),
        Ending::TerminalGone => 1,
    });
}

fn sample() -> MachineSample {
    MachineSample {
        wall_time: WallTime::now(),
        host: HostSample {
            cpu_pct: Reading::Value(50.0),
            memory_mb: Reading::Value(2048.0),
            memory_total_mb: Reading::Value(8192.0),
        },
        devices: vec![DeviceSample {
            name: "software card".to_owned(),
            ..DeviceSample::default()
        }],
        note: None,
    }
}
