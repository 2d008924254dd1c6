//! A file that is written beside the one it replaces, and then takes its name:
//! a full disk leaves the old one as it was.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file on its way to a path.
pub struct NewFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl NewFile {
    /// Begins a file for `path`. An unwritable path is reported now, and nothing appears there
    /// until the file is complete.
    ///
    /// # Errors
    /// When nothing can be written beside it, or it is a folder.
    pub fn beside(path: &Path) -> io::Result<Self> {
        // A symbolic link stays, and what it points to is replaced.
        let path = match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => fs::canonicalize(path)?,
            _ => path.to_owned(),
        };
        if path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let folder = myxtts_files::folder_of(&path);
        fs::metadata(folder)?;
        Ok(Self {
            // The name of the temporary file would mean nothing to anybody.
            file: myxtts_files::temporary(folder, ".myxtts-")
                .map_err(|why| io::Error::from(why.kind()))?,
            path,
        })
    }

    /// Writes the whole file and gives it its name.
    ///
    /// # Errors
    /// When it cannot be written; then what was there before is there still.
    pub fn keep(self, bytes: &[u8]) -> io::Result<()> {
        let path = self.written(bytes)?;
        path.1.persist(path.0)?;
        Ok(())
    }

    /// Does the same if no file has the name yet.
    ///
    /// # Errors
    /// When it cannot be written, or a file has the name.
    pub fn keep_new(self, bytes: &[u8]) -> io::Result<()> {
        let path = self.written(bytes)?;
        path.1.persist_noclobber(path.0)?;
        Ok(())
    }

    fn written(mut self, bytes: &[u8]) -> io::Result<(PathBuf, NamedTempFile)> {
        self.file.write_all(bytes)?;
        self.file.as_file().sync_all()?;
        Ok((self.path, self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_there_until_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wav");
        fs::write(&path, "old").unwrap();
        let file = NewFile::beside(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.keep(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let taken = NewFile::beside(&path).unwrap().keep_new(b"newer");
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop(NewFile::beside(&path).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(NewFile::beside(folder.path()).is_err());
        assert!(NewFile::beside(&folder.path().join("none/a.wav")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["a.wav", "b.wav"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        NewFile::beside(&link).unwrap().keep(b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
