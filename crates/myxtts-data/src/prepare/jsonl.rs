//! One JSON object a line: streamed out, streamed back in.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempPath;

use super::PrepareError;
use crate::atomic;

/// Writes lines to a file that gets its name at the end.
pub(super) struct Writer<T> {
    file: BufWriter<File>,
    /// The path of the file until then.
    temporary: TempPath,
    path: PathBuf,
    lines: u64,
    records: PhantomData<fn(T)>,
}

impl<T: Serialize> Writer<T> {
    pub(super) fn create(path: &Path) -> Result<Self, PrepareError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let file = atomic::temporary(folder).map_err(PrepareError::output(path))?;
        let (file, temporary) = file.into_parts();
        Ok(Self {
            file: BufWriter::new(file),
            temporary,
            path: path.to_owned(),
            lines: 0,
            records: PhantomData,
        })
    }

    pub(super) fn write(&mut self, record: &T) -> Result<(), PrepareError> {
        serde_json::to_writer(&mut self.file, record)
            .map_err(std::io::Error::from)
            .and_then(|()| self.file.write_all(b"\n"))
            .map_err(PrepareError::output(&self.path))?;
        self.lines += 1;
        Ok(())
    }

    /// Returns the file, written but without its name, and the number of its lines.
    pub(super) fn finish(self) -> Result<(Finished, u64), PrepareError> {
        let (path, lines) = (self.path.clone(), self.lines);
        let file = self.flushed()?;
        Ok((Finished { file, path }, lines))
    }

    /// Returns the file without a name, to be read again and deleted.
    pub(super) fn flushed(mut self) -> Result<TempPath, PrepareError> {
        self.file
            .flush()
            .map_err(PrepareError::output(&self.path))?;
        Ok(self.temporary)
    }
}

/// A file that waits for its name.
pub(super) struct Finished {
    file: TempPath,
    path: PathBuf,
}

impl Finished {
    /// Writes a whole file with these bytes, still without its name.
    pub(super) fn of(path: &Path, bytes: &[u8]) -> Result<Self, PrepareError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let written = atomic::temporary(folder).and_then(|file| {
            file.as_file().write_all(bytes)?;
            Ok(file.into_temp_path())
        });
        Ok(Self {
            file: written.map_err(PrepareError::output(path))?,
            path: path.to_owned(),
        })
    }

    /// Gives the file its name.
    pub(super) fn publish(self) -> Result<(), PrepareError> {
        let Self { file, path } = self;
        file.persist(&path)
            .map_err(|failed| PrepareError::output(&path)(failed.error))
    }
}

/// Reads lines back, one in memory at a time.
#[derive(Debug)]
pub(super) struct Reader<T> {
    file: BufReader<File>,
    path: PathBuf,
    line: u64,
    records: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Reader<T> {
    pub(super) fn open(path: &Path) -> Result<Self, PrepareError> {
        let file = File::open(path).map_err(|why| PrepareError::Metadata {
            path: path.to_owned(),
            why,
        })?;
        Ok(Self {
            file: BufReader::new(file),
            path: path.to_owned(),
            line: 0,
            records: PhantomData,
        })
    }
}

impl<T: DeserializeOwned> Iterator for Reader<T> {
    type Item = Result<T, PrepareError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut text = Vec::new();
        match self.file.read_until(b'\n', &mut text) {
            Ok(0) => return None,
            Ok(_) => self.line += 1,
            Err(why) => {
                let path = self.path.clone();
                return Some(Err(PrepareError::Metadata { path, why }));
            }
        }
        Some(
            serde_json::from_slice(&text).map_err(|why| PrepareError::Malformed {
                path: self.path.clone(),
                line: self.line,
                why: why.to_string(),
            }),
        )
    }
}
