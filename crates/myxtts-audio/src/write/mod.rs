//! Writing waveforms to files.

mod flac;
mod flac_stream;
mod wav;

use std::fmt;
use std::io;
use std::path::PathBuf;

use myxtts_base::report;

pub use flac::{flac_pcm16, write_flac_pcm16};
pub use flac_stream::FlacStream;
pub use wav::{pcm16, wav_pcm16, wav_pcm16_header, write_wav_f32, write_wav_pcm16};

/// A recording that could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The operating system refused.
    #[error(
        "{}",
        report!(
            "the recording cannot be written: {source}";
            at: "{}", path.display();
            fix: "check that the folder exists, is writable and has space"
        )
    )]
    Io {
        /// The file that was to be written.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// The encoder refused the waveform.
    #[error(
        "{}",
        report!(
            "the recording cannot be encoded as FLAC: {source}";
            at: "{}", path.display();
            fix: "write it as WAV"
        )
    )]
    Encode {
        /// The file that was to be written.
        path: PathBuf,
        /// The reason the encoder gave.
        source: FlacError,
    },
    /// The waveform is too long for a WAV file.
    #[error(
        "{}",
        report!(
            "a WAV file holds at most 4 GiB, but this waveform needs {bytes} bytes";
            at: "{}", path.display();
            fix: "write it in parts"
        )
    )]
    TooLong {
        /// The file that was to be written.
        path: PathBuf,
        /// The size of the audio, in bytes.
        bytes: usize,
    },
}

/// The reason for which the FLAC encoder refused a waveform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct FlacError {
    why: String,
}

impl FlacError {
    /// Takes the words of any of the encoder's own errors, of which it has several types.
    fn new(why: impl fmt::Display) -> Self {
        Self {
            why: why.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let path = PathBuf::from("DATA/x.wav");
        let errors = [
            WriteError::Encode {
                path: path.clone(),
                source: FlacError::new("no such rate"),
            },
            WriteError::TooLong {
                path,
                bytes: 5_000_000_000,
            },
        ];
        insta::assert_snapshot!(errors.map(|error| error.to_string()).join("\n\n"));
    }
}
