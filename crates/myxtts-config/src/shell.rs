//! Commands that a person can copy from a message and paste into a shell.

use std::borrow::Cow;
use std::ffi::OsStr;

/// Quotes one argument so that a POSIX shell reads it back: plain where it can
/// be, in single quotes where a space, a `$`, a `!` or a letter outside ASCII
/// could mean something to this shell or to another that the text passes through.
///
/// An argument that is not UTF-8 has no form that can be pasted everywhere; what
/// cannot be shown is replaced, as `Path::display` does.
pub fn quoted<'a>(argument: &'a (impl AsRef<OsStr> + ?Sized)) -> Cow<'a, str> {
    let text = argument.as_ref().to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    // Inside single quotes only the quote itself is special.
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// Returns `myxtts` and its arguments as one line, each quoted where it must be.
pub fn command<'a>(arguments: impl IntoIterator<Item = &'a OsStr>) -> String {
    let mut line = "myxtts".to_owned();
    for argument in arguments {
        line.push(' ');
        line.push_str(&quoted(argument));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const ARGUMENTS: [&str; 12] = [
        "runs/default",
        "",
        "my voice",
        "it's",
        "$HOME `id` \\ \"x\"",
        "wow!",
        "~",
        "a;b&c|d",
        "نانوا هفت سیب می‌برد.",
        "line\nbreak",
        "''",
        "--text=*",
    ];

    #[test]
    fn what_needs_no_quotes_has_none() {
        assert_eq!(
            quoted("runs/voice-1/step_000000100"),
            "runs/voice-1/step_000000100"
        );
        assert_eq!(quoted("my voice"), "'my voice'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    /// A shell gives back every argument as it was.
    #[cfg(unix)]
    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        let line = command(ARGUMENTS.map(OsStr::new));
        let script = format!("myxtts() {{ printf '%s\\0' \"$@\"; }}; {line}");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let read: Vec<&str> = std::str::from_utf8(&output.stdout)
            .unwrap()
            .split_terminator('\0')
            .collect();
        assert_eq!(read, ARGUMENTS);
    }
}
