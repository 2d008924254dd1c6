//! Reading a file into memory.
//!
//! Files are read and not mapped: a mapping of a file that somebody shortens
//! ends the whole process with a bus error, and datasets on network drives are
//! copied over while they are read. A read that comes up short is a fault of
//! that one file. It costs a copy of a few hundred kilobytes, which decoding
//! does not notice (`benchmarks/data.md`).

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use super::Limits;
use super::fault::Fault;

/// The bytes of one second of sound in the widest format anybody records in:
/// eight channels of 32 bits at 192 kHz.
const WIDEST_SECOND: f64 = 8.0 * 4.0 * 192_000.0;
/// Room for headers, tags and pictures, in bytes.
const BESIDE_THE_SOUND: u64 = 64 << 20;

/// Reads the file at `path` into `bytes`, whose memory is reused.
///
/// Of a file that is far too large for the longest recording allowed, only as
/// much is read as such a recording could take: that is enough to find that it is
/// too long, and memory stays bounded.
pub(super) fn read(path: &Path, limits: &Limits, bytes: &mut Vec<u8>) -> Result<(), Fault> {
    bytes.clear();
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    if length == 0 {
        return Err(Fault::Empty);
    }
    let most = most(limits);
    if length > HEAD {
        // The header of a WAV file states its length, so that five hours are
        // refused without being read.
        (&mut file).take(HEAD).read_to_end(bytes)?;
        super::refuse_long_wav(bytes, length, limits)?;
    }
    let left = length.min(most).saturating_sub(bytes.len() as u64);
    bytes.reserve(usize::try_from(left).unwrap_or(0).saturating_add(1));
    file.take(most.saturating_sub(bytes.len() as u64))
        .read_to_end(bytes)?;
    if bytes.is_empty() {
        // The file was emptied since its length was asked for.
        return Err(Fault::Empty);
    }
    Ok(())
}

/// Opens a file. Its kind is checked first, because opening a pipe waits for a
/// writer that may never come.
pub(super) fn open(path: &Path) -> Result<File, Fault> {
    let kind = fs::metadata(path)?;
    if kind.is_dir() {
        return Err(Fault::Directory);
    }
    if !kind.is_file() {
        return Err(Fault::NotAFile);
    }
    Ok(File::open(path)?)
}

/// Files up to this size, in bytes, are read at once.
const HEAD: u64 = 16 << 20;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion of floats saturates, and a limit of no use allows everything"
)]
fn most(limits: &Limits) -> u64 {
    let sound = (limits.longest.0 * WIDEST_SECOND) as u64;
    sound.saturating_add(BESIDE_THE_SOUND)
}
