//! An external recogniser: a command that prints a transcript.
//!
//! The program is run without a shell, once per clip, with the clip's path in place of `{wav}`.
//! What it prints on stdout is the transcript. If the program fails, hangs or prints something
//! other than text, that is reported, and the clip has no part in the figures.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use myxtts_base::{Report, report};

/// The placeholder for the clip's path.
const PLACE: &str = "{wav}";
/// The most that is read of a transcript, and of what is printed to stderr.
const MOST_BYTES: u64 = 64 * 1024;
/// How often to check whether the program has ended.
const EVERY: Duration = Duration::from_millis(10);
/// How long to wait for the output of a program that has ended: a child of its own may hold the
/// pipe open.
const GRACE: Duration = Duration::from_secs(2);

/// A recogniser, as it was typed.
#[derive(Clone, Debug)]
pub struct Recogniser {
    typed: String,
    words: Vec<String>,
    timeout: Duration,
}

/// The reason why there is no transcript.
#[derive(Debug)]
pub(super) enum Unheard {
    /// The program could not be started at all, and never will be.
    NotStarted(Report),
    /// Something went wrong with this clip.
    Failed(Report),
}

impl Recogniser {
    /// Reads a command with `{wav}` in it.
    ///
    /// # Errors
    /// When there is no place for the clip, or a quote is not closed.
    pub fn parse(typed: &str) -> Result<Self, Report> {
        let words = split(typed)?;
        if words.is_empty() {
            return Err("expected a command, for example 'listen {wav}'".into());
        }
        if !words.iter().skip(1).any(|word| word.contains(PLACE)) {
            return Err(report!(
                "the command needs {PLACE} where the clip's path goes, for example 'listen {PLACE}'"
            ));
        }
        Ok(Self {
            typed: typed.to_owned(),
            words,
            timeout: Duration::from_secs(60),
        })
    }

    /// Sets how long the program may take for a clip.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Returns the command as it was typed.
    pub(super) fn name(&self) -> &str {
        &self.typed
    }

    /// Returns the transcript of a recording.
    pub(super) fn transcript(&self, wav: &Path) -> Result<String, Unheard> {
        let mut arguments = self.words.iter().map(|word| with_path(word, wav));
        let program = arguments.next().unwrap_or_default();
        let child = Command::new(&program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|why| {
            Unheard::NotStarted(report!("`{}`: {why}", program.to_string_lossy()))
        })?;
        let printed = child.stdout.take().map(reading);
        let beside = child.stderr.take().map(reading);
        let Some(status) = self.wait(&mut child) else {
            return Err(Unheard::Failed(report!(
                "it had not finished after {} s and was stopped",
                self.timeout.as_secs_f64()
            )));
        };
        let status = status.map_err(|why| Unheard::Failed(Report::new(why.to_string())))?;
        if !status.success() {
            let beside = beside.and_then(|beside| received(&beside));
            let beside = String::from_utf8_lossy(&beside.unwrap_or_default()).into_owned();
            let last = beside.lines().rfind(|line| !line.trim().is_empty());
            let last: String = last
                .unwrap_or("nothing on stderr")
                .trim()
                .chars()
                .take(200)
                .collect();
            return Err(Unheard::Failed(report!("it ended with {status}: {last}")));
        }
        let printed = printed.and_then(|printed| received(&printed));
        text_of(printed).map_err(Unheard::Failed)
    }

    /// Waits for the end; `None` if the program had to be stopped.
    fn wait(&self, child: &mut Child) -> Option<io::Result<ExitStatus>> {
        let started = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Some(Ok(status)),
                Ok(None) if started.elapsed() < self.timeout => thread::sleep(EVERY),
                Ok(None) => {
                    // If it has ended by now, there is nothing to stop.
                    let _ = child.kill();
                    let _ = child.wait();
                    return None;
                }
                Err(why) => return Some(Err(why)),
            }
        }
    }
}

/// Reads a pipe on a thread of its own, so that a full pipe blocks nobody.
fn reading(pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut pipe = pipe;
        let mut bytes = vec![];
        // A pipe that breaks has given what it had.
        let _ = pipe.by_ref().take(MOST_BYTES + 1).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
        // Excess output is read and dropped, so that a full pipe does not block the program.
        let _ = io::copy(&mut pipe, &mut io::sink());
    });
    receiver
}

fn received(pipe: &Receiver<Vec<u8>>) -> Option<Vec<u8>> {
    pipe.recv_timeout(GRACE).ok()
}

fn text_of(printed: Option<Vec<u8>>) -> Result<String, Report> {
    let bytes = printed.ok_or("it ended, but something it started still holds its stdout open")?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(report!(
            "it printed more than {MOST_BYTES} bytes, which is not a transcript"
        ));
    }
    let text = String::from_utf8(bytes)
        .map_err(|why| report!("what it printed is not text in UTF-8: {why}"))?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns a word with the path in place of the placeholder, whatever bytes the path has.
fn with_path(word: &str, wav: &Path) -> OsString {
    let mut filled = OsString::new();
    for (index, part) in word.split(PLACE).enumerate() {
        if index > 0 {
            filled.push(wav);
        }
        filled.push(part);
    }
    filled
}

/// Splits words as a shell would: quotes keep spaces, and a backslash outside single quotes
/// keeps the next character. Nothing else is special.
fn split(typed: &str) -> Result<Vec<String>, Report> {
    let mut words: Vec<String> = vec![];
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = typed.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                let next = characters.next().ok_or("the command ends in a backslash")?;
                word.get_or_insert_default().push(next);
            }
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote in the command is not closed".into());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_as_a_shell_reads_them() {
        let words = |typed: &str| split(typed).unwrap();
        assert_eq!(words("a  b\tc"), ["a", "b", "c"]);
        assert_eq!(
            words(r#"py 'my file.py' "x \"y\"" z\ z ''"#),
            ["py", "my file.py", "x \"y\"", "z z", ""]
        );
        assert!(split("a 'b").is_err());
        assert!(split("a \\").is_err());
    }

    #[test]
    fn a_command_without_a_place_for_the_clip_is_refused() {
        let refused = |typed: &str| Recogniser::parse(typed).unwrap_err().to_string();
        insta::assert_snapshot!(
            [
                refused(""),
                refused("listen"),
                refused("{wav}"),
                refused("listen '{wav}")
            ]
            .join("\n")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_path_goes_where_it_belongs_and_is_one_argument() {
        let recogniser = Recogniser::parse("echo a={wav} {wav}").unwrap();
        let heard = recogniser
            .transcript(Path::new("my file; rm x.wav"))
            .unwrap();
        assert_eq!(heard, "a=my file; rm x.wav my file; rm x.wav");
    }

    #[cfg(unix)]
    #[test]
    fn what_goes_wrong_is_told() {
        let heard = |typed: &str| {
            let mut recogniser = Recogniser::parse(typed).unwrap();
            recogniser.timeout = Duration::from_millis(300);
            match recogniser.transcript(Path::new("x.wav")) {
                Ok(text) => format!("heard {text:?}"),
                Err(Unheard::NotStarted(why)) => format!("not started: {why}"),
                Err(Unheard::Failed(why)) => format!("failed: {why}"),
            }
        };
        let started = Instant::now();
        let told = [
            heard("no-such-recogniser {wav}"),
            heard("sh -c 'echo no model >&2; exit 3' {wav}"),
            heard("sh -c 'sleep 30' {wav}"),
            heard(r"printf '\377\376' {wav}"),
            heard("sh -c 'yes | head -c 100000' {wav}"),
            heard("true {wav}"),
        ];
        insta::assert_snapshot!(told.join("\n"));
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
