//! Damaged checkpoints: the command line that uses the newest other one of the run.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use myxtts::checkpoint::{CheckpointError, Damage, whole_steps};
use myxtts::{Step, report, shell};

use crate::output::Failure;

/// Explains the failure of a command that reads the weights of `checkpoint`: if they are
/// damaged, it says what to do. `again` puts another checkpoint into the command line.
pub(super) fn explained(
    failure: Failure,
    checkpoint: &Path,
    again: impl FnOnce(Vec<OsString>, &Path) -> Vec<OsString>,
) -> Failure {
    let Failure::Job(message) = &failure else {
        return failure;
    };
    let Some(damage) = Damage::of(checkpoint) else {
        return failure;
    };
    let fix = match damage.newest_whole() {
        Some(other) => line(again(arguments(), other)),
        None => "put back a copy of its files, or train again".to_owned(),
    };
    let message = message.to_string();
    let first = message.lines().next().unwrap_or_default();
    Failure::Job(report!(
        "{first}";
        why: "{}", damage.what;
        found: "{}", damage.others();
        fix: "{fix}"
    ))
}

/// Returns the failure of a training that resumes from a damaged checkpoint of `run`.
pub(super) fn resuming(what: &CheckpointError, whole: &[Step], run: &Path) -> Failure {
    let arguments = arguments();
    let arguments = match whole.last() {
        Some(step) => with_flag(arguments, "--resume", step.to_string()),
        None => {
            let arguments = without_flag(arguments, "--resume");
            with_flag(arguments, "--checkpoint-dir", beside(run))
        }
    };
    Failure::Job(report!(
        "{what}";
        found: "{}", whole_steps(whole);
        fix: "{}", line(arguments)
    ))
}

/// Returns a folder name like this one that does not exist yet, for a run that starts over.
fn beside(run: &Path) -> OsString {
    let numbered = (2..).map(|number: u64| {
        let mut name = run.as_os_str().to_owned();
        name.push(format!("-{number}"));
        name
    });
    let mut free = numbered.skip_while(|name| Path::new(name).exists());
    free.next().unwrap_or_default()
}

/// Returns what was typed after `myxtts`.
fn arguments() -> Vec<OsString> {
    std::env::args_os().skip(1).collect()
}

fn line(arguments: Vec<OsString>) -> String {
    shell::command(arguments.iter().map(OsString::as_os_str))
}

/// Returns the arguments with one flag given once, with this value.
pub(super) fn with_flag(
    arguments: Vec<OsString>,
    flag: &str,
    value: impl Into<OsString>,
) -> Vec<OsString> {
    let mut arguments = without_flag(arguments, flag);
    arguments.extend([flag.into(), value.into()]);
    arguments
}

/// Returns the arguments without a flag that takes a value, in both of its spellings.
fn without_flag(arguments: Vec<OsString>, flag: &str) -> Vec<OsString> {
    let joined = format!("{flag}=");
    let mut kept = Vec::with_capacity(arguments.len());
    let mut is_value = false;
    for argument in arguments {
        let is_flag = argument == OsStr::new(flag);
        let is_joined = argument.to_string_lossy().starts_with(&joined);
        if !is_value && !is_flag && !is_joined {
            kept.push(argument);
        }
        is_value = !is_value && is_flag;
    }
    kept
}

/// Returns the arguments with the last one that equals `path` replaced: a folder that is given
/// without a flag. (The value of a flag may happen to be the same folder, before or after it as
/// the user likes; `out` is never the source.)
pub(super) fn with_path(mut arguments: Vec<OsString>, path: &Path, other: &Path) -> Vec<OsString> {
    let found = arguments
        .iter()
        .rposition(|argument| argument == path.as_os_str());
    if let Some(at) = found {
        arguments[at] = other.into();
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_flag_is_replaced_in_every_spelling() {
        let with = |line: &str| {
            let line = with_flag(words(line), "--resume", "7");
            super::line(line)
        };
        for line in [
            "train --quick",
            "train --resume auto --quick",
            "train --resume=auto --quick",
            "train --quick --resume 3 --resume=4",
        ] {
            assert_eq!(with(line), "myxtts train --quick --resume 7");
        }
        // A value that looks like the flag is a value.
        assert_eq!(
            with("train --resume --resume --quick"),
            "myxtts train --quick --resume 7"
        );
        let line = with_path(
            words("export run --out there"),
            "run".as_ref(),
            "x".as_ref(),
        );
        assert_eq!(super::line(line), "myxtts export x --out there");
    }
}
