//! `myxtts profile` and `myxtts tune`, as they are typed.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};
use myxtts::tune::Knob;

use super::flags;

const HEADING: &str = "Measuring";

pub(super) fn command() -> Command {
    let file = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .conflicts_with_all(["compare", "what-if"])
            .help_heading(HEADING)
            .help(help)
    };
    Command::new("profile")
        .about("Time every stage of the real pipeline and the real model")
        .long_about(
            "Train a new GPT for a few steps on the devices of the plan, through the pipeline of a \
             training, and show where the time went: each stage with its mean, deviation and \
             percentiles, how much of it overlapped other work, how full the rings were, and how \
             regular the steps were. Takes every flag of `train` and keeps nothing that it trains.",
        )
        .arg(steps("20"))
        .arg(seconds("120"))
        .arg(file(
            "trace",
            "Write the timeline as a trace that Perfetto and Chrome open [default: none]",
        ))
        .arg(file(
            "svg",
            "Write a picture of a few steps [default: none]",
        ))
        .arg(
            Arg::new("compare")
                .long("compare")
                .action(ArgAction::SetTrue)
                .conflicts_with("what-if")
                .help_heading(HEADING)
                .help("Measure single, split and mirrored in turn on the GPUs of this machine, and recommend one [default: off]"),
        )
        .arg(
            Arg::new("what-if")
                .long("what-if")
                .value_name("KEY=VALUE")
                .help_heading(HEADING)
                .help("Measure in turn with and without one changed key, and show the predicted and measured gain [default: none]"),
        )
        .arg(rounds("3"))
        .arg(hang_limit())
        .args(flags::arguments())
}

pub(super) fn tune() -> Command {
    Command::new("tune")
        .about("Search batch size, workers, buffers, precision and recomputation for this machine")
        .long_about(
            "Find the settings that train fastest on this machine: on a GPU the largest batch that its \
             memory holds, then workers, the device ring, precision and recomputation by measured steps, \
             each kept if it gains 2 % or more. Every configuration is measured in a process of its own, so running out \
             of memory ends nothing else. Takes every flag of `train`; the search begins with the values \
             that you choose. Writes a configuration file with the measurements in comments.",
        )
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help_heading(HEADING)
                .help("Where to write the tuned configuration [default: myxtts.tuned.yaml]"),
        )
        .arg(
            Arg::new("force")
                .long("force")
                .action(ArgAction::SetTrue)
                .help_heading(HEADING)
                .help("Replace that file if it exists [default: off]"),
        )
        .arg(
            Arg::new("verify")
                .long("verify")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with_all(["out", "force", flags::CONFIG])
                .help_heading(HEADING)
                .help("Measure a tuned configuration against its record; exits with code 1 if it is more than 10 % slower [default: none]"),
        )
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("WHAT,...")
                .value_parser(Knob::ALL.map(Knob::name))
                .value_delimiter(',')
                .conflicts_with("verify")
                .help_heading(HEADING)
                .help("Search only these [default: all]"),
        )
        .arg(steps("20"))
        .arg(seconds("60"))
        .arg(rounds("3"))
        .arg(hang_limit())
        .args(flags::arguments())
}

/// `myxtts bench gpu`, which measures as `profile` does.
pub(super) fn bench_gpu() -> Command {
    Command::new("gpu")
        .about("Measure training steps on a card, with all that somebody else needs to believe it")
        .long_about(
            "Train a new GPT for a few steps on the devices of the plan, through the pipeline of a \
             training, and report the card, its driver and memory, what the steps held against the \
             plan's estimate, kernels compiled and launched, waits for the device, the share of the \
             maker's operations per second, and the time of every part of a step. Takes every flag of \
             `train`; works on any backend. Post what `--json` prints.",
        )
        .arg(steps("20"))
        .arg(seconds("300"))
        .arg(hang_limit())
        .args(flags::arguments())
}

/// The hidden command that measures one configuration; `profile` and `tune` call it.
pub(super) fn probe_steps() -> Command {
    Command::new("probe-steps")
        .hide(true)
        .about("Measure steps of one configuration as JSON; called by `profile` and `tune`")
        .arg(
            Arg::new("parent")
                .long("parent")
                .action(ArgAction::SetTrue)
                .help("Exit when standard input is closed"),
        )
        .arg(
            Arg::new("fits")
                .long("fits")
                .action(ArgAction::SetTrue)
                .help("Run every shape once or twice: enough to measure memory, not speed"),
        )
        .arg(steps("20"))
        .arg(seconds("120"))
        .args(flags::arguments())
}

fn steps(default: &'static str) -> Arg {
    number("steps", "N", default, 100_000).help("Steps to measure, after the warm-up steps")
}

fn seconds(default: &'static str) -> Arg {
    number("seconds", "S", default, 86_400)
        .help("Time limit for these steps; what was measured by then is reported")
}

fn rounds(default: &'static str) -> Arg {
    number("rounds", "N", default, 100)
        .help("How many times each configuration is measured, in turn, if there are several")
}

fn hang_limit() -> Arg {
    number("hang-limit", "S", "900", 86_400).help(
        "Seconds without progress (a shape compiled by the driver, a step) after which a measuring \
         process is stopped",
    )
}

fn number(name: &'static str, value: &'static str, default: &'static str, most: i64) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .default_value(default)
        .value_parser(value_parser!(u32).range(1..=most))
        .help_heading(HEADING)
}
