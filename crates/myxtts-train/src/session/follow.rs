//! Reads the lines that were added to a file since the last look.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use serde::de::DeserializeOwned;

/// Follows a file of JSON lines that grows or is rotated.
#[derive(Debug)]
pub(crate) struct LineFollower {
    path: PathBuf,
    /// Bytes that were read already.
    offset: u64,
}

impl LineFollower {
    /// Starts at the present end of the file: what is there belongs to an earlier session.
    pub(crate) fn from_here(path: PathBuf) -> Self {
        let offset = path.metadata().map_or(0, |file| file.len());
        Self { path, offset }
    }

    /// Gives every new line to `take`. A line without its newline is still being written; one
    /// that does not parse is skipped.
    pub(crate) fn each<T: DeserializeOwned>(&mut self, mut take: impl FnMut(T)) -> io::Result<()> {
        let mut file = match File::open(&self.path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        if file.metadata()?.len() < self.offset {
            self.offset = 0;
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = vec![];
        file.read_to_end(&mut bytes)?;
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(());
        };
        for line in bytes[..end].split(|byte| *byte == b'\n') {
            if let Ok(line) = serde_json::from_slice(line) {
                take(line);
            }
        }
        self.offset += end as u64 + 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::LineFollower;

    #[test]
    fn every_new_line_is_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut seen: Vec<u32> = vec![];
        let mut before = LineFollower::from_here(path.clone());
        before.each(|number| seen.push(number)).unwrap();
        fs::write(&path, "1\n2\n").unwrap();
        let mut follow = LineFollower::from_here(path.clone());
        let mut look = |text: &str| {
            fs::write(&path, text).unwrap();
            follow.each(|number| seen.push(number)).unwrap();
        };
        look("1\n2\n3\nnot a number\n4");
        look("1\n2\n3\nnot a number\n42\n5\n");
        look("1\n2\n3\nnot a number\n42\n5\n");
        // Rotated away, and begun anew.
        look("6\n");
        look("6\n7\n");
        before.each(|number| seen.push(number)).unwrap();
        assert_eq!(seen, [3, 42, 5, 6, 7, 6, 7]);
    }
}
