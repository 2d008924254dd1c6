//! `myxtts evaluate`, as it is typed.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};
use myxtts::evaluate::Recogniser;
use myxtts::speech::Language;

use super::{flags, synthesize};

/// The flags that mean the same here as in `synthesize`.
const SHARED: [&str; 15] = [
    "checkpoint",
    "best",
    "vocoder",
    "speaker-wav",
    "speaker",
    "voice",
    "speed",
    "seed",
    "greedy",
    "beams",
    "length-penalty",
    "temperature",
    "top-k",
    "top-p",
    "repetition-penalty",
];

pub(super) fn command() -> Command {
    Command::new("evaluate")
        .about("Measure how a model speaks: speed, endings, distance from recordings, error rates")
        .long_about(
            "Speak a list of sentences and measure the real-time factor, the time to first audio, and \
             whether the model stops by itself; if there are recordings of the sentences, also \
             mel-cepstral distortion, pitch and voicing errors, and how similar the model finds the \
             voice; with a recogniser of yours, word and character error rates. Exits with code 1 if \
             a sentence could not be spoken or recognised.",
        )
        .args(sentences())
        .args(recogniser())
        .arg(path("page", "DIR").help(
            "Write a page with mels, alignments, pitch curves and audio to DIR/index.html [default: none]",
        ))
        .arg(
            Arg::new("language")
                .long("language")
                .value_name("TAG")
                .value_parser(value_parser!(Language))
                .help("Language of sentences that do not name one [default: the only one the model speaks]"),
        )
        .args(shared())
        .args(flags::device_arguments())
}

/// Returns the flags that say which sentences are spoken, or which recordings are copied.
fn sentences() -> [Arg; 4] {
    [
        path("sentences", "FILE").conflicts_with("dataset").help(
            "Sentences, one per line; or JSON lines (.jsonl) with `text` and, if known, \
             `recording`, `speaker` and `language` [default: the validation clips of the run]",
        ),
        path("dataset", "DIR").help(
            "A dataset, as for `prepare`, whose held-out clips are spoken and compared [default: none]",
        ),
        Arg::new("limit")
            .long("limit")
            .value_name("N")
            .value_parser(value_parser!(u32).range(1..))
            .help("Speak only the first N sentences [default: all]"),
        Arg::new("copy")
            .long("copy")
            .action(ArgAction::SetTrue)
            .help(
                "Speak nothing: turn the recordings into the model's codes and back, with --vocoder or \
                 with every vocoder the model has, and compare the copies [default: off]",
            ),
    ]
}

/// Returns the flags that name the recogniser and bound its time.
fn recogniser() -> [Arg; 2] {
    [
        Arg::new("recogniser")
            .long("recogniser")
            .value_name("COMMAND")
            .value_parser(Recogniser::parse)
            .help(
                "A command that prints the transcript of the WAV file {wav}, for example \
                 'listen {wav}'; run without a shell, once per clip [default: none]",
            ),
        Arg::new("recogniser-timeout")
            .long("recogniser-timeout")
            .value_name("SECONDS")
            .requires("recogniser")
            .value_parser(value_parser!(u64).range(1..=86_400))
            .help("How long the recogniser may take for a clip before it is stopped [default: 60]"),
    ]
}

fn path(name: &'static str, shown: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(shown)
        .value_parser(value_parser!(PathBuf))
}

fn shared() -> Vec<Arg> {
    let command = synthesize::command();
    let is_shared = |argument: &&Arg| SHARED.contains(&argument.get_id().as_str());
    command.get_arguments().filter(is_shared).cloned().collect()
}
