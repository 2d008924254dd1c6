//! Files whose header says how long they are, so they are made when all the sound
//! is there.

use myxtts_audio::units::SampleRate;
use myxtts_audio::{Waveform, flac_pcm16, wav_pcm16};

use super::{EncodeError, Kind};

pub(super) struct WholeWav(Waveform);

pub(super) struct WholeFlac(Waveform);

impl WholeWav {
    pub(super) fn new(rate: SampleRate) -> Self {
        Self(silence(rate))
    }
}

impl WholeFlac {
    pub(super) fn new(rate: SampleRate) -> Self {
        Self(silence(rate))
    }
}

fn silence(rate: SampleRate) -> Waveform {
    Waveform {
        samples: Vec::new(),
        rate,
    }
}

impl Kind for WholeWav {
    fn push(&mut self, samples: &[f32]) -> Result<Vec<u8>, EncodeError> {
        self.0.samples.extend_from_slice(samples);
        Ok(Vec::new())
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, EncodeError> {
        wav_pcm16(&self.0).ok_or_else(|| "the speech is longer than a WAV file holds".into())
    }
}

impl Kind for WholeFlac {
    fn push(&mut self, samples: &[f32]) -> Result<Vec<u8>, EncodeError> {
        self.0.samples.extend_from_slice(samples);
        Ok(Vec::new())
    }

    fn finish(self: Box<Self>) -> Result<Vec<u8>, EncodeError> {
        Ok(flac_pcm16(&self.0)?)
    }
}
