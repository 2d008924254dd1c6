//! The flags of `myxtts bench`.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};

pub(super) fn command() -> Command {
    Command::new("bench")
        .about("Measure the figures that the documentation quotes")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(data())
        .subcommand(pipeline())
        .subcommand(train())
        .subcommand(telemetry())
        .subcommand(synth())
        .subcommand(step())
        .subcommand(super::profile::bench_gpu())
}

fn path(name: &'static str, shown: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(shown)
        .value_parser(value_parser!(PathBuf))
}

fn number(name: &'static str, default: &'static str, most: i64) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("N")
        .default_value(default)
        .value_parser(value_parser!(u32).range(1..=most))
}

fn data() -> Command {
    Command::new("data")
        .about("Measure decoding, log-mel and the whole host stage on one core")
        .arg(number("clips", "300", 99_999).help("Clips in the generated corpus"))
        .arg(
            path("corpus", "DIR")
                .conflicts_with("clips")
                .help("Measure on this dataset instead of a generated corpus"),
        )
        .arg(
            path("make-corpus", "DIR")
                .conflicts_with("corpus")
                .help("Only write the generated corpus to this folder"),
        )
        .arg(
            path("vocab", "FILE").help(
                "Tokenise with this vocab.json; without it, one is trained on the transcripts",
            ),
        )
        .arg(number("passes", "7", 1000).help("How many times each stage is measured"))
}

fn pipeline() -> Command {
    Command::new("pipeline")
        .about("Measure how long a train step waits for its batch, on the CPU")
        .long_about(
            "Send real batches of a generated corpus through the whole pipeline on the CPU to \
             a train step that only sleeps, and measure how long the step waits for data, with \
             codes made by a DVAE of the tiny size and with codes from the cache. The same \
             work in one loop is measured for comparison.",
        )
        .arg(number("clips", "1200", 99_999).help("Clips in the generated corpus"))
        .arg(
            number("steps", "200", 1_000_000)
                .help("Steps with cached codes, after one epoch without"),
        )
        .arg(
            number("step-ms", "50", 60_000)
                .value_name("MS")
                .help("How long the artificial train step takes"),
        )
        .arg(number("batch-size", "8", 1024).help("Rows of the longest bucket"))
        .arg(
            Arg::new("workers")
                .long("workers")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=256))
                .help("Host threads [default: one per core]"),
        )
}

fn train() -> Command {
    Command::new("train")
        .about("Measure training of the GPT on the sample corpus with cached codes, in clips per second")
        .long_about(
            "Train the GPT of a preset on the sample corpus through the whole pipeline. The \
             first epoch fills the cache of codes; the steps after it are measured. Given a \
             record of the Python reference on the same corpus and size, the ratio to it is \
             reported.",
        )
        .arg(
            Arg::new("size")
                .long("size")
                .value_name("tiny|small")
                .action(ArgAction::Append)
                .value_parser(["tiny", "small", "normal", "big", "xtts-v2"])
                .help("Preset to measure; may be repeated [default: tiny and small]"),
        )
        .arg(number("steps", "30", 1_000_000).help("Steps to measure"))
        .arg(number("batch-size", "16", 1024).help("Rows of the longest bucket"))
        .arg(path("peer", "FILE").help(
            "Record of the Python reference, as printed by `benchmarks/train_vs_reference.py`",
        ))
}

fn telemetry() -> Command {
    Command::new("telemetry")
        .about("Measure what it costs a training to record itself")
        .long_about(
            "Train the GPT of a preset on the sample corpus, in pairs of epochs that hold the \
             same clips. One epoch of a pair is recorded, with the times of every step, \
             readings of the devices and a verdict at the end; the other is not.",
        )
        .arg(
            Arg::new("size")
                .long("size")
                .value_name("tiny|small")
                .value_parser(["tiny", "small", "normal", "big", "xtts-v2"])
                .default_value("tiny")
                .help("Preset to measure"),
        )
        .arg(number("pairs", "10", 100_000).help("Pairs of epochs to measure"))
        .arg(number("batch-size", "16", 1024).help("Rows of the longest bucket"))
}

fn synth() -> Command {
    Command::new("synth")
        .about("Measure speaking on the CPU: whole sentences, and the first audio of a stream")
        .long_about(
            "Speak sentences of 100, 200 and 400 codes with random weights on the CPU, greedily, \
             from text tokens to samples, and measure when a stream gives its first audio. Given \
             the Python of an environment that has coqui-tts, the weights are made there and \
             imported, and both sides are measured in turn.",
        )
        .arg(
            Arg::new("size")
                .long("size")
                .value_name("tiny|small|xtts-v2")
                .default_value("tiny")
                .value_parser(["tiny", "small", "xtts-v2"])
                .hide_possible_values(true)
                .help("Preset to measure"),
        )
        .arg(number("rounds", "3", 1000).help("How many times each is measured"))
        .arg(path("peer", "PYTHON").help(
            "Python with coqui-tts 0.27.2 to compare with, as `benchmarks/synth_vs_reference.py` describes",
        ))
}

fn step() -> Command {
    Command::new("step")
        .about("Measure one training step of the GPT on the CPU: forward, backward, optimizer")
        .arg(
            Arg::new("steps")
                .long("steps")
                .value_name("N")
                .default_value("5")
                .value_parser(value_parser!(u32).range(1..=1000))
                .help("Steps to measure, after two warm-up steps"),
        )
        .arg(path("peer", "FILE").help(
            "Record of PyTorch doing the same, as `benchmarks/step_vs_pytorch --record` writes it",
        ))
}
