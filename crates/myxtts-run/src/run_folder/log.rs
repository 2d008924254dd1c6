//! `train.log`: what an observer is told, with the time of each line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::FileError;
use crate::observer::Observer;

/// Writes each line to the log and tells it to an observer.
pub struct RunLog {
    file: Mutex<File>,
    observer: Arc<dyn Observer>,
}

impl RunLog {
    /// Opens the log at `path` to append to it, and repeats every line to `observer`.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path, observer: Arc<dyn Observer>) -> Result<Self, FileError> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(FileError::when("open", path))?;
        Ok(Self {
            file: Mutex::new(file),
            observer,
        })
    }

    /// Returns who is told the lines.
    pub fn observer(&self) -> &dyn Observer {
        &*self.observer
    }

    /// Logs `message`; each of its lines gets a timestamp in the file.
    ///
    /// # Errors
    /// When the file cannot be written; the observer was told all the same.
    pub fn line(&self, message: &str) -> io::Result<()> {
        let kept = self.note(message);
        self.observer.line(message.trim_end_matches('\n'));
        kept
    }

    /// Logs `message` to the file only.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(&self, message: &str) -> io::Result<()> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let time = utc(now.as_secs());
        let stamped: String = message
            .lines()
            .map(|line| format!("{time} {line}\n"))
            .collect();
        self.file().write_all(stamped.as_bytes())
    }

    /// Returns a writer of whole lines to the file only.
    pub fn notes(this: &Arc<Self>) -> Notes {
        Notes {
            log: Arc::clone(this),
            unwritten: vec![],
        }
    }

    /// Locks the file. A thread that panicked while it held the lock wrote a
    /// whole line or part of one; neither is a reason to lose this line.
    fn file(&self) -> MutexGuard<'_, File> {
        self.file
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A writer that collects text, and logs it to the file when it is flushed.
pub struct Notes {
    log: Arc<RunLog>,
    unwritten: Vec<u8>,
}

impl Write for Notes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unwritten.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let lines = std::mem::take(&mut self.unwritten);
        self.log.note(&String::from_utf8_lossy(&lines))
    }
}

/// Formats seconds since 1970 as `2026-03-01T12:00:00Z`.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March here, so that the leap day is the last of its year
    // and months follow a line of slope 153/5.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = year + 400 * era + carry;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{RunLog, utc};
    use crate::observer::Observer;

    /// Keeps the lines that it is told.
    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Observer for Told {
        fn line(&self, message: &str) {
            self.0.lock().unwrap().push(message.to_owned());
        }
    }

    /// By counting days one at a time.
    fn slow(mut days: u64) -> (u64, u64, u64) {
        let (mut year, mut month) = (1970, 1);
        loop {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            if days < length {
                return (year, month, days + 1);
            }
            days -= length;
            (year, month) = if month == 12 {
                (year + 1, 1)
            } else {
                (year, month + 1)
            };
        }
    }

    #[test]
    fn the_calendar_is_right_for_a_century_and_a_half() {
        for days in (0..55_000).chain([60_000, 100_000]) {
            let (year, month, day) = slow(days);
            let expected = format!("{year:04}-{month:02}-{day:02}T23:59:58Z");
            assert_eq!(utc(days * 86_400 + 86_398), expected);
        }
    }

    #[test]
    fn both_get_every_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.log");
        for _ in 0..2 {
            let told = Arc::new(Told::default());
            let log = RunLog::open(&path, Arc::<Told>::clone(&told)).unwrap();
            log.line("one\n  two").unwrap();
            log.line("three\n").unwrap();
            assert_eq!(*told.0.lock().unwrap(), ["one\n  two", "three"]);
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        let words: Vec<_> = kept
            .lines()
            .map(|line| line.split_once(' ').unwrap())
            .collect();
        assert!(
            words
                .iter()
                .all(|(time, _)| time.len() == "2026-03-01T12:00:00Z".len())
        );
        let words: Vec<_> = words.iter().map(|(_, word)| *word).collect();
        assert_eq!(words, ["one", "  two", "three", "one", "  two", "three"]);
    }
}
