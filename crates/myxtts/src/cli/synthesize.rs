//! `myxtts synthesize`, as it is typed.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};
use myxtts::speech::{BEAMS, LENGTH_PENALTIES, Language, SPEEDS, SamplingDefaults, Vocoder};
use myxtts::{Report, report};

use super::flags;

/// The heading of the flags that choose codes, and of those that go with them.
const SAMPLING: &str = "Sampling";

/// The format of the audio written to stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A WAV file, with its header.
    Wav,
    /// Raw 16-bit samples without a header.
    Pcm,
}

pub(super) fn command() -> Command {
    let command = Command::new("synthesize")
        .about("Speak text with a trained voice: to a WAV file, to stdout, or to a file per line")
        .long_about(
            "Speak text with a trained voice: to a WAV file, to stdout while it is made (--stream), \
             or many lines to many files (--out-dir). A long text is split into sentences. \
             The voice comes from recordings (--speaker-wav), from a file (--voice), or from those \
             stored with the model (--speaker, --list-voices).",
        );
    let command = sampling(voice(output(text(command))));
    command.args(flags::device_arguments())
}

fn text(command: Command) -> Command {
    command
        .arg(
            Arg::new("text")
                .long("text")
                .value_name("TEXT")
                .allow_hyphen_values(true)
                .conflicts_with("text-file")
                .help("Text to speak; - reads it from stdin"),
        )
        .arg(file("text-file", "FILE").help(
            "File with the text to speak, in UTF-8, at most 128 KiB; with --out-dir one text per \
             line, or JSON lines if its name ends in .jsonl",
        ))
        .arg(
            Arg::new("language")
                .long("language")
                .value_name("TAG")
                .value_parser(value_parser!(Language))
                .help("Language of the text [default: the only one the model speaks]"),
        )
}

fn output(command: Command) -> Command {
    let output = |arg: Arg| arg.help_heading("Output");
    command
        .arg(output(file("out", "FILE.wav")).help(
            "WAV file to write; an existing one is replaced once the new one is complete; - is stdout",
        ))
        .arg(
            output(file("out-dir", "DIR"))
                .conflicts_with_all(["out", "stream", "text", "format", "save-voice"])
                .help(
                    "Folder for a recording of each line of --text-file, and manifest.jsonl; lines \
                     already in it are not spoken again",
                ),
        )
        .arg(
            output(Arg::new("stream").long("stream"))
                .action(ArgAction::SetTrue)
                .help("Write the audio to stdout while it is made [default: off]"),
        )
        .arg(
            output(Arg::new("format").long("format"))
                .value_name("wav|pcm")
                .value_parser(format)
                .help("What goes to stdout: a WAV file, or raw 16-bit mono samples [default: wav]"),
        )
        .arg(
            output(Arg::new("similarity").long("similarity"))
                .action(ArgAction::SetTrue)
                .conflicts_with("stream")
                .help(
                    "Let the model listen to what it spoke, and report how similar it finds it to the \
                     voice [default: off]",
                ),
        )
}

fn voice(command: Command) -> Command {
    let voice = |arg: Arg| arg.help_heading("Model and voice");
    command
        .arg(voice(file("checkpoint", "DIR")).help(
            "A run, one of its checkpoints, or imported weights [default: runs/default, else the newest run]",
        ))
        .arg(
            voice(Arg::new("best").long("best"))
                .action(ArgAction::SetTrue)
                .help("Use the run's best checkpoint instead of its newest [default: off]"),
        )
        .arg(
            voice(Arg::new("vocoder").long("vocoder"))
                .value_name("hifigan|griffin-lim")
                .value_parser(vocoder)
                .help("What produces the waveform [default: the model's own decoder, else griffin-lim]"),
        )
        .arg(
            voice(file("speaker-wav", "WAV"))
                .num_args(1..)
                .action(ArgAction::Append)
                .conflicts_with_all(["speaker", "voice"])
                .help("Recordings of the voice; a few seconds are enough [default: a stored voice]"),
        )
        .arg(
            voice(Arg::new("speaker").long("speaker"))
                .value_name("NAME")
                .conflicts_with("voice")
                .help("A voice stored with the model [default: the first by name]"),
        )
        .arg(voice(file("voice", "FILE.voice")).help("A voice written by --save-voice"))
        .arg(
            voice(file("save-voice", "FILE.voice"))
                .help("Save the voice to a small file; needs no text"),
        )
        .arg(
            voice(Arg::new("list-voices").long("list-voices"))
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["text", "text-file", "out", "out-dir", "stream", "save-voice"])
                .help("List the voices stored with the model, and quit"),
        )
}

fn sampling(command: Command) -> Command {
    let command = command
        .arg(
            Arg::new("speed")
                .long("speed")
                .value_name("X")
                .help_heading(SAMPLING)
                .value_parser(|text: &str| between(text, &SPEEDS))
                .help("How fast to speak, from 0.25 to 4 [default: 1]"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .help_heading(SAMPLING)
                .value_parser(value_parser!(u64))
                .help("Seed; the same seed gives the same speech [default: 0]"),
        );
    random_choice(likeliest_choice(command))
}

/// Adds the flags that choose codes without randomness.
fn likeliest_choice(command: Command) -> Command {
    command
        .arg(
            Arg::new("greedy")
                .long("greedy")
                .action(ArgAction::SetTrue)
                .help_heading(SAMPLING)
                .conflicts_with_all(["seed", "temperature", "top-k", "top-p"])
                .help("Take the likeliest code each time, without randomness [default: off]"),
        )
        .arg(
            Arg::new("beams")
                .long("beams")
                .value_name("N")
                .help_heading(SAMPLING)
                .value_parser(|text: &str| between(text, &BEAMS))
                .conflicts_with_all(["seed", "temperature", "top-k", "top-p"])
                .help("Search for the likeliest speech with N beams, without randomness [default: off]"),
        )
        .arg(
            number("length-penalty", LENGTH_PENALTIES)
                .allow_hyphen_values(true)
                .requires("beams")
                .help("Above 0 the search favours longer speech, below 0 shorter [default: 1]"),
        )
}

/// Adds the flags that shape the distribution from which codes are drawn.
fn random_choice(command: Command) -> Command {
    command
        .arg(
            number("temperature", SamplingDefaults::TEMPERATURES)
                .help("Below 1 speech is steadier, above 1 livelier [default: the model's]"),
        )
        .arg(
            Arg::new("top-k")
                .long("top-k")
                .value_name("N")
                .help_heading(SAMPLING)
                .value_parser(value_parser!(u32))
                .help("Draw from the N likeliest codes; 0 draws from all [default: the model's]"),
        )
        .arg(number("top-p", SamplingDefaults::SHARES).help(
            "Draw from the likeliest codes that together have this probability [default: the model's]",
        ))
        .arg(number("repetition-penalty", SamplingDefaults::PENALTIES).help(
            "Make codes that were already spoken less likely; 1 changes nothing [default: the model's, with --greedy 1]",
        ))
}

/// Returns a flag of the sampling that takes a number within `range`.
fn number(name: &'static str, range: RangeInclusive<f32>) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("X")
        .help_heading(SAMPLING)
        .value_parser(move |text: &str| between(text, &range))
}

fn file(name: &'static str, shown: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(shown)
        .value_parser(value_parser!(PathBuf))
}

fn vocoder(text: &str) -> Result<Vocoder, Report> {
    [Vocoder::Hifigan, Vocoder::GriffinLim]
        .into_iter()
        .find(|vocoder| vocoder.name() == text)
        .ok_or_else(|| Report::new("expected hifigan or griffin-lim"))
}

fn format(text: &str) -> Result<Format, Report> {
    match text {
        "wav" => Ok(Format::Wav),
        "pcm" => Ok(Format::Pcm),
        _ => Err("expected wav or pcm".into()),
    }
}

/// Parses a number and checks that it is within `range`.
pub(crate) fn between<T>(text: &str, range: &RangeInclusive<T>) -> Result<T, Report>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    match text.parse::<T>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(report!(
            "expected a number from {} to {}",
            range.start(),
            range.end()
        )),
    }
}
