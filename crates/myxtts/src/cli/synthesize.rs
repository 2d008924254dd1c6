//! `myxtts synthesize`, as it is typed.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgGroup, Command, value_parser};
use myxtts_infer::SamplingDefaults;
use myxtts_text::Language;

use super::flags;

pub(super) fn command() -> Command {
    let file = |name: &'static str, shown: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(shown)
            .value_parser(value_parser!(PathBuf))
    };
    let number = |name: &'static str, range: RangeInclusive<f32>| {
        Arg::new(name)
            .long(name)
            .value_name("X")
            .help_heading("Sampling")
            .value_parser(move |text: &str| between(text, &range))
    };
    Command::new("synthesize")
        .about("Speak text with a trained voice, to a WAV file")
        .long_about(
            "Speak text with a trained voice, to a WAV file. A long text is cut at its sentences. \
             The voice is that of recordings (--speaker-wav), or one stored with the checkpoint.",
        )
        .arg(
            Arg::new("text")
                .long("text")
                .value_name("TEXT")
                .help("What to say"),
        )
        .arg(file("text-file", "FILE").help("A text file with what to say, in UTF-8, of at most 128 KiB"))
        .group(
            ArgGroup::new("what")
                .args(["text", "text-file"])
                .required(true),
        )
        .arg(
            file("out", "FILE.wav")
                .required(true)
                .help("The recording to write; an existing one is replaced"),
        )
        .arg(file("checkpoint", "DIR").help(
            "A run, one of its checkpoints, or imported weights [default: runs/default, else the newest run]",
        ))
        .arg(
            Arg::new("best")
                .long("best")
                .action(ArgAction::SetTrue)
                .help("Take the run's best checkpoint in place of its newest [default: off]"),
        )
        .arg(
            file("speaker-wav", "WAV")
                .num_args(1..)
                .action(ArgAction::Append)
                .conflicts_with("speaker")
                .help("Recordings of the voice; a few seconds are enough [default: a stored voice]"),
        )
        .arg(
            Arg::new("speaker")
                .long("speaker")
                .value_name("NAME")
                .help("A voice stored with the checkpoint [default: the first by name]"),
        )
        .arg(
            Arg::new("language")
                .long("language")
                .value_name("TAG")
                .value_parser(value_parser!(Language))
                .help("Language of the text [default: the only one the model speaks]"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .help_heading("Sampling")
                .value_parser(value_parser!(u64))
                .help("The same seed says the same again [default: 0]"),
        )
        .arg(
            Arg::new("greedy")
                .long("greedy")
                .action(ArgAction::SetTrue)
                .help_heading("Sampling")
                .conflicts_with_all(["seed", "temperature", "top-k", "top-p"])
                .help("Take the likeliest code each time, without chance [default: off]"),
        )
        .arg(
            number("temperature", SamplingDefaults::TEMPERATURES)
                .help("Below 1 speaks steadier, above 1 livelier [default: the model's]"),
        )
        .arg(
            Arg::new("top-k")
                .long("top-k")
                .value_name("N")
                .help_heading("Sampling")
                .value_parser(value_parser!(u32))
                .help("Draw from the N likeliest codes; 0 from all [default: the model's]"),
        )
        .arg(
            number("top-p", SamplingDefaults::SHARES).help(
                "Draw from the likeliest codes of this probability together [default: the model's]",
            ),
        )
        .arg(number("repetition-penalty", SamplingDefaults::PENALTIES).help(
            "Makes spoken codes less likely; 1 does not [default: the model's, with --greedy 1]",
        ))
        .args(flags::device_arguments())
}

/// A number within bounds.
fn between(text: &str, range: &RangeInclusive<f32>) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!(
            "a number from {} to {} is needed",
            range.start(),
            range.end()
        )),
    }
}
