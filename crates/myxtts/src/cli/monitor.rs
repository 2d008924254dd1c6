//! `myxtts monitor`, as it is typed.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};

pub(super) fn command() -> Command {
    Command::new("monitor")
        .about("Watch devices and a running training in the terminal")
        .long_about(
            "Watch a run and this machine's devices: steps, loss, time left, where every stage of \
             the pipeline spends its time, findings, and what the GPUs are doing, with their history. \
             Keys: q quits, left and right switch runs, ? explains the rest. A run is only read, \
             never disturbed. Without a terminal to draw on, one frame is printed as text.",
        )
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .value_parser(value_parser!(PathBuf))
                .help("A run's folder, its name below `runs`, or another folder of runs [default: the run that is running, else the newest below `runs`]"),
        )
        .arg(
            Arg::new("once")
                .long("once")
                .action(ArgAction::SetTrue)
                .help("Print one frame as text and quit; with --json, one document [default: off]"),
        )
}
