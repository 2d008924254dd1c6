//! The text to speak: an argument, a file, or stdin.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts::report;
use myxtts::speech::{LONGEST_TEXT, unreadable};

use crate::output::Failure;

/// What stands for stdin instead of a text or a file.
const STDIN: &str = "-";

pub(super) fn read(matches: &ArgMatches) -> Result<String, Failure> {
    if let Some(text) = matches.get_one::<String>("text") {
        return match text == STDIN {
            true => stdin(),
            false => Ok(text.clone()),
        };
    }
    let Some(path) = matches.get_one::<PathBuf>("text-file") else {
        return Err(Failure::Usage(
            "neither --text nor --text-file was given".into(),
        ));
    };
    if path == Path::new(STDIN) {
        return stdin();
    }
    if path.extension().is_some_and(|kind| kind == "jsonl") {
        return Err(Failure::Usage(report!(
            "JSON lines become one recording each";
            at: "{}", path.display();
            fix: "name a folder for the recordings with --out-dir instead of --out"
        )));
    }
    let place = path.display().to_string();
    let file = File::open(path).map_err(|why| unreadable(&place, &why))?;
    limited(file, &place)
}

fn stdin() -> Result<String, Failure> {
    limited(io::stdin().lock(), "stdin")
}

fn limited(source: impl Read, place: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    // One byte over the limit is enough to know, whatever the size claims.
    let read = source.take(LONGEST_TEXT + 1).read_to_end(&mut bytes);
    read.map_err(|why| unreadable(place, &why))?;
    if bytes.len() as u64 > LONGEST_TEXT {
        return Err(Failure::Usage(report!(
            "the text is longer than {LONGEST_TEXT} bytes, about two hours of speech";
            at: "{place}";
            fix: "split it into several files, or into lines, and speak those with --out-dir"
        )));
    }
    Ok(String::from_utf8(bytes).map_err(|why| unreadable(place, &why))?)
}
