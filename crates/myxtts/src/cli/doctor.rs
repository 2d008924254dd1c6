//! `myxtts doctor`, as it is typed.

use std::path::PathBuf;

use clap::{Arg, Command, value_parser};

pub(super) fn command() -> Command {
    Command::new("doctor")
        .visible_alias("diagnose")
        .about("Say where the time of a training goes, and rank what to change")
        .long_about(
            "Read a run folder, of a training in progress or a finished one, and say where its time \
             goes: environment, devices, configuration, dataset, storage, pipeline speed, model step, \
             verdict, and what to change, ranked by the seconds it gives back. Exits with code 1 when \
             something keeps training from running.",
        )
        .arg(
            Arg::new("run")
                .long("run")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("The folder of the run, as in runs/default"),
        )
        .arg(lang())
}

/// The language of what people read.
pub(super) fn lang() -> Arg {
    Arg::new("lang")
        .long("lang")
        .value_name("en|fa")
        .value_parser(["en", "fa"])
        .hide_possible_values(true)
        .help("Language of the report; keys, flags, codes and JSON have one only [default: by LANG, else en]")
}
