//! `myxtts doctor`, as it is typed.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};

use super::flags;

pub(super) fn command() -> Command {
    Command::new("doctor")
        .visible_alias("diagnose")
        .about("Show where the time of a training goes, and rank what to change")
        .long_about(
            "Look at the machine and train for a few seconds through the real pipeline, on your data or \
             the sample corpus; or read the run folder of a training, in progress or finished. Show \
             where the time goes: environment, devices, configuration, dataset, storage, pipeline speed, \
             model step, verdict, and what to change, ranked by the seconds it saves. Exits with \
             code 1 if something keeps training from running.",
        )
        .arg(
            Arg::new("run")
                .long("run")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with_all(["quick", "num-batches", "seconds"])
                .help("Read this run, for example runs/default, and measure nothing [default: measure this machine]"),
        )
        .arg(
            Arg::new("quick")
                .long("quick")
                .action(ArgAction::SetTrue)
                .help("Take a quick look: --num-batches 6 --seconds 4, and no long preparation [default: off]"),
        )
        .arg(number("num-batches").help("Steps to measure [default: 40]"))
        .arg(number("seconds").help("Time limit for these steps, live and cached together [default: 60]"))
        .arg(
            Arg::new("fix")
                .long("fix")
                .action(ArgAction::SetTrue)
                .help("Write NAME.fixed.yaml beside --config, with the edits shown and nothing else changed [default: off]"),
        )
        .arg(lang())
        .args(flags::arguments())
}

fn number(name: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("N")
        .value_parser(value_parser!(u32).range(1..=100_000))
}

/// The flag for the language of what people read.
pub(super) fn lang() -> Arg {
    Arg::new("lang")
        .long("lang")
        .value_name("en|fa")
        .value_parser(["en", "fa"])
        .hide_possible_values(true)
        .help("Language of the report; keys, flags, codes and JSON are never translated [default: by LANG, else en]")
}
