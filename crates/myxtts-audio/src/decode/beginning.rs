//! Decoding the beginning of a recording, however long it is.
//!
//! A voice is made of the first half minute of a recording. The other two hours
//! are neither read nor decoded: the cost depends on what is wanted.

use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use super::sniff::{self, Container};
use super::{DecodeError, Decoded, Fault, checked, compressed, wav, whole};
use crate::units::Seconds;
use crate::waveform::Waveform;

/// How much is read to find out what a file is, in bytes. Files up to this size
/// are read whole; the headers of larger ones lie within it.
const HEAD: u64 = 16 << 20;

/// Decodes the first `most` of the file at `path` to mono at its own rate, and
/// says whether that is all of it. A recording that is not longer must be as
/// whole as [`decode`](super::decode) requires.
pub(crate) fn decode_beginning(path: &Path, most: Seconds) -> Result<(Decoded, bool), DecodeError> {
    beginning(path, most).map_err(|fault| DecodeError {
        path: path.to_owned(),
        fault,
    })
}

fn beginning(path: &Path, most: Seconds) -> Result<(Decoded, bool), Fault> {
    let mut file = whole::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = vec![];
    (&mut file).take(HEAD).read_to_end(&mut bytes)?;
    let (decoded, is_whole) = match sniff::container(&bytes)? {
        Container::Wav => {
            if let Some(wanted) = wav::beginning(&bytes, length, most) {
                let left = wanted.end.saturating_sub(bytes.len() as u64);
                file.take(left).read_to_end(&mut bytes)?;
            }
            let mut waveform = Waveform::default();
            let (source, is_whole) = wav::decode_beginning(&bytes, length, most, &mut waveform)?;
            (Decoded { waveform, source }, is_whole)
        }
        Container::Compressed(name) if bytes.len() as u64 >= length => {
            compressed::decode_beginning(Box::new(Cursor::new(bytes)), name, most)?
        }
        Container::Compressed(name) => {
            drop(bytes);
            file.seek(SeekFrom::Start(0))?;
            compressed::decode_beginning(Box::new(file), name, most)?
        }
    };
    checked(&decoded.waveform)?;
    Ok((decoded, is_whole))
}
