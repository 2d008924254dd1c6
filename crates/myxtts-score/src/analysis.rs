//! A clip as the measures see it.

use myxtts_audio::units::{Decibels, Frames, SampleRate, Samples, Seconds};
use myxtts_audio::{
    Compression, Mel, MelError, MelFrontEnd, MelSpec, ResampleSpec, Resampler, Trim, Waveform, trim,
};

use crate::cepstra::{Cepstra, log_bands};
use crate::pitch::PitchTrack;

/// What every clip is brought to.
pub const RATE: SampleRate = SampleRate::XTTS;
/// Between the frames of all measures.
pub const HOP: Samples = Samples(256);

/// 80 bands up to 8 kHz, which a recording at 16 kHz still has.
const MEL: MelSpec = MelSpec {
    hop: HOP,
    compression: Compression::Power,
    ..MelSpec::DVAE
};

/// A clip whose highest sample is below has no speech in it.
const SILENCE: Decibels = Decibels(-60.0);

/// A clip that is shorter, without the silence around it, says nothing.
const SHORTEST: Seconds = Seconds(0.1);

/// Why a clip has no scores.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// Nothing is heard.
    #[error("it is silent: its highest sample is {peak:.5} of full scale")]
    Silent {
        /// The highest sample.
        peak: f32,
    },
    /// Too little is heard.
    #[error("it has {found} of sound, and at least {least} are scored", least = SHORTEST)]
    TooShort {
        /// Without the silence around it.
        found: Seconds,
    },
    /// Too much to align.
    #[error(
        "the two are too long to align: {first} and {second}, and their product may be a hundred \
         million, two clips of almost two minutes"
    )]
    TooLong {
        /// Of the first clip.
        first: Frames,
        /// Of the second.
        second: Frames,
    },
    /// The front end refused.
    #[error(transparent)]
    Mel(#[from] MelError),
}

/// What is measured of one clip.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Without the silence around it.
    pub duration: Seconds,
    /// Logarithms of the powers of bands, for a picture.
    pub mel: Mel,
    /// The shape of its spectra.
    pub cepstra: Cepstra,
    /// Its pitch.
    pub pitch: PitchTrack,
}

/// Analyses clips. Keeps plans and the last resampling filter.
#[derive(Debug)]
pub struct Analyser {
    mel: MelFrontEnd,
    resampler: Option<(SampleRate, Resampler)>,
}

impl Analyser {
    /// One for every clip of an evaluation.
    pub fn new() -> Result<Self, ScoreError> {
        Ok(Self {
            mel: MelFrontEnd::new(MEL, None)?,
            resampler: None,
        })
    }

    /// What is measured of a clip at any rate.
    pub fn analyse(&mut self, waveform: &Waveform) -> Result<Analysis, ScoreError> {
        let peak = waveform
            .samples
            .iter()
            .fold(0.0_f32, |peak, x| peak.max(x.abs()));
        if peak < SILENCE.amplitude() {
            return Err(ScoreError::Silent { peak });
        }
        let mut heard = Waveform {
            samples: self.resampled(waveform),
            rate: RATE,
        };
        // To the sound itself: one clip comes with silence around it, another not.
        let to_the_sound = Trim {
            keep: Seconds(0.0),
            ..Trim::default()
        };
        trim(&mut heard, &to_the_sound);
        let duration = heard.duration();
        if duration.0 < SHORTEST.0 {
            return Err(ScoreError::TooShort { found: duration });
        }
        let mel = log_bands(self.mel.mel(&heard.samples)?);
        Ok(Analysis {
            duration,
            cepstra: Cepstra::of(&mel),
            pitch: PitchTrack::of(&heard.samples, RATE, mel.frames, HOP.0),
            mel,
        })
    }

    fn resampled(&mut self, waveform: &Waveform) -> Vec<f32> {
        let kept = self
            .resampler
            .take()
            .filter(|(from, _)| *from == waveform.rate);
        let (from, mut resampler) = kept.unwrap_or_else(|| {
            let from = waveform.rate;
            (from, Resampler::new(from, RATE, ResampleSpec::KAISER_BEST))
        });
        let samples = resampler.process(&waveform.samples);
        self.resampler = Some((from, resampler));
        samples
    }
}
