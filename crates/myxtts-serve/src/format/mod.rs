//! Sound into bytes, a part at a time.

mod mp3;
mod opus;
mod whole;

use std::error::Error;

use myxtts_audio::units::SampleRate;
use myxtts_audio::{FlacStream, ResampleSpec, ResampleStream, pcm16, wav_pcm16_header};

/// An audio format that a client may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Wav,
    Pcm,
    Flac,
    Mp3,
    Opus,
}

impl Format {
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("wav", Self::Wav),
        ("pcm", Self::Pcm),
        ("flac", Self::Flac),
        ("mp3", Self::Mp3),
        ("opus", Self::Opus),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut known = Self::ALL.iter();
        known.find(|(known, _)| *known == name).map(|(_, it)| *it)
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Wav => "audio/wav",
            Self::Pcm => "audio/pcm",
            Self::Flac => "audio/flac",
            Self::Mp3 => "audio/mpeg",
            Self::Opus => "audio/ogg; codecs=opus",
        }
    }

    /// Returns the sample rate of the encoded sound, where the model speaks at
    /// `spoken`. Clients read `pcm` as 24 kHz, because there is no header to say
    /// otherwise, and Opus has no 22,050 Hz.
    pub(crate) fn rate(self, spoken: SampleRate) -> SampleRate {
        match self {
            Self::Pcm | Self::Opus => SampleRate::VOCODER,
            Self::Mp3 => mp3::rate(spoken),
            Self::Wav | Self::Flac => spoken,
        }
    }

    /// Makes an encoder for sound at `spoken`. Where the sound is not `streamed`,
    /// headers wait until its length is known.
    pub(crate) fn encoder(
        self,
        spoken: SampleRate,
        streamed: bool,
    ) -> Result<Encoder, EncodeError> {
        let rate = self.rate(spoken);
        let kind: Box<dyn Kind> = match (self, streamed) {
            (Self::Wav, true) => Box::new(Wav(Some(wav_pcm16_header(rate)))),
            (Self::Wav, false) => Box::new(whole::WholeWav::new(rate)),
            (Self::Pcm, _) => Box::new(Wav(None)),
            (Self::Flac, true) => {
                let (stream, start) = FlacStream::new(rate)?;
                Box::new(Flac { stream, start })
            }
            (Self::Flac, false) => Box::new(whole::WholeFlac::new(rate)),
            (Self::Mp3, _) => Box::new(mp3::Mp3::new(rate, streamed)),
            (Self::Opus, _) => Box::new(opus::Opus::new(rate)?),
        };
        Ok(Encoder {
            resampler: ResampleStream::new(spoken, rate, ResampleSpec::KAISER_BEST),
            kind,
        })
    }
}

/// An encoder that turns sound into bytes, a part at a time.
pub(crate) struct Encoder {
    resampler: ResampleStream,
    kind: Box<dyn Kind>,
}

/// Why sound could not be encoded: an error of one of the encoders.
pub(crate) type EncodeError = Box<dyn Error + Send + Sync>;

/// One of the formats, at its own rate.
trait Kind: Send {
    /// Encodes samples and returns the bytes that are complete by now.
    fn push(&mut self, samples: &[f32]) -> Result<Vec<u8>, EncodeError>;
    /// Ends the sound and returns the last bytes.
    fn finish(self: Box<Self>) -> Result<Vec<u8>, EncodeError>;
}

impl Encoder {
    /// Encodes samples and returns the bytes that are complete by now.
    pub(crate) fn push(&mut self, samples: &[f32]) -> Result<Vec<u8>, EncodeError> {
        self.kind.push(&self.resampler.push(samples))
    }

    /// Ends the sound and returns the last bytes.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = self.kind.push(&self.resampler.finish())?;
        bytes.extend(self.kind.finish()?);
        Ok(bytes)
    }
}

/// 16-bit PCM, after the header of a WAV file where there is one.
struct Wav(Option<Vec<u8>>);

impl Kind for Wav {
    fn push(&mut self, samples: &[f32]) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = self.0.take().unwrap_or_default();
        bytes.extend(pcm16(samples));
        Ok(bytes)
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, EncodeError> {
        Ok(self.0.unwrap_or_default())
    }
}

struct Flac {
    stream: FlacStream,
    start: Vec<u8>,
}

impl Kind for Flac {
    fn push(&mut self, samples: &[f32]) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = std::mem::take(&mut self.start);
        bytes.extend(self.stream.push(samples)?);
        Ok(bytes)
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = self.start;
        bytes.extend(self.stream.finish()?);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
