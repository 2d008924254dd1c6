//! What to speak, and where it goes.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts::speech::batch::{Parsed, read_lines};
use myxtts::{NewFile, report};

use super::text;
use crate::cli::Format;
use crate::output::{Failure, Output};

/// What the flags ask for, before the model is loaded.
pub(super) enum Request {
    /// One voice, and perhaps one text.
    One(Wanted),
    /// Many texts, each to a recording of its own.
    Lines {
        /// The lines, or why one cannot be spoken.
        lines: Vec<Parsed>,
        /// The folder that their recordings go to.
        folder: PathBuf,
    },
}

/// What to do with a voice.
pub(super) struct Wanted {
    /// The file that the voice is saved to.
    pub(super) save_voice: Option<PathBuf>,
    /// The text to speak, and where the audio goes.
    pub(super) speech: Option<(String, Target)>,
}

/// Where the audio of a text goes.
pub(super) enum Target {
    /// To a file, once it is complete.
    File(PathBuf),
    /// To the standard output.
    Stdout {
        /// The format of the audio.
        format: Format,
        /// Whether audio is written while it is made.
        stream: bool,
    },
}

impl Request {
    pub(super) fn of(matches: &ArgMatches, output: &Output) -> Result<Self, Failure> {
        let path = |name: &str| matches.get_one::<PathBuf>(name).cloned();
        if let Some(folder) = path("out-dir") {
            let Some(file) = path("text-file") else {
                return Err(Failure::Usage(report!(
                    "--out-dir takes its lines from a file";
                    fix: "name it with --text-file: one text per line, or JSON lines in a .jsonl \
                          file"
                )));
            };
            let lines = read_lines(&file)?;
            return Ok(Self::Lines { lines, folder });
        }
        let save_voice = path("save-voice");
        if let Some(path) = &save_voice {
            must_end(path, "save-voice", "voice")?;
            try_to_write(path, "voice", "--save-voice")?;
        }
        let target = target(matches, output)?;
        let is_text = matches.contains_id("text") || matches.contains_id("text-file");
        let speech = match (is_text, target) {
            (true, Some(target)) => {
                if let Target::File(path) = &target {
                    try_to_write(path, "recording", "--out")?;
                }
                Some((text::read(matches)?, target))
            }
            (false, None) if save_voice.is_some() => None,
            (true, None) => {
                return Err(Failure::Usage(report!(
                    "where does the speech go?";
                    fix: "name a file with --out FILE.wav, or play it while it is made with \
                          --stream"
                )));
            }
            (false, _) => {
                return Err(Failure::Usage(report!(
                    "what should be said?";
                    fix: "give it with --text \"...\", --text-file FILE, or --text - for stdin"
                )));
            }
        };
        Ok(Self::One(Wanted { save_voice, speech }))
    }
}

fn target(matches: &ArgMatches, output: &Output) -> Result<Option<Target>, Failure> {
    let out = matches.get_one::<PathBuf>("out");
    let stream = matches.get_flag("stream");
    let format = matches.get_one::<Format>("format").copied();
    let is_stdout = out.is_some_and(|out| out == Path::new("-"));
    if stream || is_stdout {
        if let Some(out) = out.filter(|_| !is_stdout) {
            return Err(Failure::Usage(report!(
                "--stream writes to stdout, and --out {} is a file, which appears whole or not \
                 at all", out.display();
                fix: "leave one of them out, or write --stream > {}", out.display()
            )));
        }
        if output.is_json() {
            return Err(Failure::Usage(report!(
                "--json prints its document where the audio goes";
                fix: "write the audio to a file with --out FILE.wav, or leave --json out"
            )));
        }
        if io::stdout().is_terminal() {
            return Err(Failure::Usage(report!(
                "a terminal cannot play audio";
                fix: "send stdout to a player or a file, for example: ... --stream | aplay"
            )));
        }
        let format = format.unwrap_or(Format::Wav);
        return Ok(Some(Target::Stdout { format, stream }));
    }
    if format.is_some() {
        return Err(Failure::Usage(report!(
            "--format applies to stdout, and nothing goes there";
            fix: "add --stream or --out -, or leave --format out"
        )));
    }
    if let Some(out) = out {
        must_end(out, "out", "wav")?;
    }
    Ok(out.cloned().map(Target::File))
}

fn must_end(path: &Path, flag: &str, kind: &str) -> Result<(), Failure> {
    if path
        .extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(kind))
    {
        return Ok(());
    }
    let fix = match kind {
        "wav" => "only WAV files are written",
        _ => "name a file that ends in .voice, so that it is recognised as one",
    };
    Err(Failure::Usage(report!(
        "--{flag} {} does not end in .{kind}", path.display();
        fix: "{fix}"
    )))
}

/// Tries to write before minutes of work, so that an unwritable path is reported at once.
/// Nothing stays there, so that a signal leaves nothing behind.
fn try_to_write(path: &Path, what: &str, flag: &str) -> Result<(), Failure> {
    let tried = NewFile::beside(path).map(drop);
    tried.map_err(|why| unwritable(what, flag, path, &why))
}

/// Returns the failure of a file that cannot be written.
pub(super) fn unwritable(what: &str, flag: &str, path: &Path, why: &io::Error) -> Failure {
    Failure::Job(report!(
        "the {what} cannot be written: {why}";
        at: "{}", path.display();
        fix: "name a file after {flag} in a folder that exists, may be written to and has space"
    ))
}
