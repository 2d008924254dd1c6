//! A clip, analysed for the measures.

use myxtts_audio::units::{Decibels, Frames, SampleRate, Samples, Seconds};
use myxtts_audio::{
    Compression, Mel, MelError, MelFrontEnd, MelSpec, ResampleSpec, Resampler, Trim, Waveform, trim,
};

use crate::cepstra::{Cepstra, log_bands};
use crate::pitch::PitchTrack;

/// The sample rate that every clip is converted to.
pub const RATE: SampleRate = SampleRate::XTTS;
/// The distance between the frames of all measures.
pub const HOP: Samples = Samples(256);

/// 80 bands up to 8 kHz, which a recording at 16 kHz still has.
const MEL: MelSpec = MelSpec {
    hop: HOP,
    compression: Compression::Power,
    ..MelSpec::DVAE
};

/// A clip whose highest sample is below this has no speech in it.
const SILENCE: Decibels = Decibels(-60.0);

/// The shortest clip that is scored, without the silence around it.
const SHORTEST: Seconds = Seconds(0.1);

/// Why a clip has no scores.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// There is no sound in the clip.
    #[error("it is silent: its highest sample is {peak:.5} of full scale")]
    Silent {
        /// The highest sample, as a fraction of full scale.
        peak: f32,
    },
    /// There is too little sound in the clip.
    #[error("it has {found} of audio, and at least {least} is needed", least = SHORTEST)]
    TooShort {
        /// The duration without the silence around it.
        found: Seconds,
    },
    /// The two clips are too long to align.
    #[error(
        "the two are too long to align: {first} and {second}, and their product may be a hundred \
         million, two clips of almost two minutes"
    )]
    TooLong {
        /// The number of frames of the first clip.
        first: Frames,
        /// The number of frames of the second clip.
        second: Frames,
    },
    /// The mel front end refused the clip.
    #[error(transparent)]
    Mel(#[from] MelError),
}

/// The measurements of one clip.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The duration without the silence around it.
    pub duration: Seconds,
    /// Logarithms of the powers in mel bands, for a picture.
    pub mel: Mel,
    /// The shape of the spectrum of each frame.
    pub cepstra: Cepstra,
    /// The pitch of each frame.
    pub pitch: PitchTrack,
}

/// Analyses clips. It keeps FFT plans and the last resampling filter.
#[derive(Debug)]
pub struct Analyser {
    mel: MelFrontEnd,
    resampler: Option<(SampleRate, Resampler)>,
}

impl Analyser {
    /// Makes an analyser, to be used for every clip of an evaluation.
    pub fn new() -> Result<Self, ScoreError> {
        Ok(Self {
            mel: MelFrontEnd::new(MEL, None)?,
            resampler: None,
        })
    }

    /// Measures a clip of any sample rate.
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
        // Trimmed to the sound itself, because one clip comes with silence around
        // it and another does not.
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
