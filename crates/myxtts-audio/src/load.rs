//! The one way from a file to a waveform that the models may see.
//!
//! Decoding, averaging the channels, resampling and clipping to [-1, 1] follow
//! the reference. Trimming and levelling are choices of the user, and come after,
//! so that they see what the models will see. Training and synthesis both go
//! through here: what a voice was trained on is what it is conditioned on.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use myxtts_base::report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decode::{DecodeError, Decoded, Limits, Source, decode_beginning, decode_read, read};
use crate::level::{LevelError, Trim, normalize_loudness, normalize_peak, trim};
use crate::resample::{ResampleSpec, Resampler};
use crate::units::{Decibels, Lufs, SampleRate, Seconds, Span};
use crate::waveform::Waveform;

/// The programme loudness of EBU R 128.
const TARGET_LOUDNESS: Lufs = Lufs(-23.0);
/// The highest level of a sample, with room for what resampling and coding add
/// between samples.
const CEILING: Decibels = Decibels(-1.0);
/// The most filters kept at once. A dataset has one or two rates; a folder of
/// lying headers must not fill the memory with kernels.
const MOST_RESAMPLERS: usize = 4;

/// How recordings become waveforms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AudioConfig {
    /// Sample rate of the features, in Hz: that of the public XTTS models.
    /// Recordings of any rate are resampled to it.
    #[schemars(
        range(min = 22_050, max = 22_050),
        extend("x-only" = "the mel front ends and the vocoder are made for 22050 Hz; at another rate speech \
                           would come out at the wrong speed. Recordings of any rate are resampled to it")
    )]
    pub sample_rate: SampleRate,
    /// Trim silence from both ends of each clip.
    pub trim_silence: bool,
    /// What every clip is brought to the same level by: nothing, its highest sample, or loudness.
    pub normalize: Normalize,
}

/// What is made equal between clips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Normalize {
    /// Nothing.
    None,
    /// The highest sample, at -1 dB of full scale.
    Peak,
    /// EBU R 128 loudness, at -23 LUFS or as near as a ceiling of -1 dB allows.
    Loudness,
}

impl Default for AudioConfig {
    fn default() -> Self {
        Self {
            sample_rate: SampleRate::XTTS,
            trim_silence: true,
            normalize: Normalize::None,
        }
    }
}

/// A clip that could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The clip could not be brought to the level asked for.
    #[error(
        "{}",
        report!(
            "{source}";
            at: "{}", path.display();
            fix: "remove the clip, or set data.normalize to none"
        )
    )]
    Level {
        /// The path of the clip.
        path: PathBuf,
        /// Why the level cannot be reached.
        source: LevelError,
    },
    /// The recording has no such part.
    #[error(
        "{}",
        report!(
            "the recording lasts {length}, but the part of it that was prepared ends at {end}";
            at: "{}", path.display();
            why: "the recording changed after the dataset was indexed";
            fix: "prepare the dataset again"
        )
    )]
    NoSuchPart {
        /// The path of the recording.
        path: PathBuf,
        /// How long it is.
        length: Seconds,
        /// Where the part ends.
        end: Seconds,
    },
}

/// A clip as the models see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The waveform at the configured rate, within [-1, 1].
    pub waveform: Waveform,
    /// What the file held before it was converted.
    pub source: Source,
}

/// Loads clips. It keeps its resampling filters; make one per thread.
#[derive(Clone, Debug)]
pub struct Loader {
    config: AudioConfig,
    limits: Limits,
    /// The filters by the rate they convert from, oldest first.
    resamplers: Vec<(SampleRate, Resampler)>,
    /// The samples that resampling reads while it writes the caller's waveform.
    unresampled: Vec<f32>,
    /// The bytes of the file read last.
    bytes: Vec<u8>,
    spent: Spent,
    slowness: Slowness,
}

/// Where the time of loading went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time spent reading bytes from the disk.
    pub read: Duration,
    /// Time from bytes to what the models may see: decoding, resampling, levels.
    pub decode: Duration,
}

/// Slows loading down, to test whoever measures it.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct Slowness {
    /// A function called in each read of a file.
    pub read: Option<Arc<dyn Fn() + Send + Sync>>,
    /// How many extra times each file is decoded.
    pub decodes: u32,
}

impl fmt::Debug for Slowness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slowness")
            .field("read", &self.read.is_some())
            .field("decodes", &self.decodes)
            .finish()
    }
}

impl Loader {
    /// Makes a loader for this configuration.
    pub fn new(config: AudioConfig, limits: Limits) -> Self {
        Self {
            config,
            limits,
            resamplers: Vec::new(),
            unresampled: Vec::new(),
            bytes: Vec::new(),
            spent: Spent::default(),
            slowness: Slowness::default(),
        }
    }

    /// Slows the loader down.
    #[doc(hidden)]
    #[must_use]
    pub fn slowed(self, slowness: Slowness) -> Self {
        Self { slowness, ..self }
    }

    /// Takes the time that [`load_into`](Self::load_into) has spent since the
    /// last call.
    pub fn take_spent(&mut self) -> Spent {
        std::mem::take(&mut self.spent)
    }

    /// Returns the sample rate of what is loaded.
    pub fn rate(&self) -> SampleRate {
        self.config.sample_rate
    }

    /// Loads the file at `path`.
    pub fn load(&mut self, path: &Path) -> Result<Loaded, LoadError> {
        self.load_span(path, None)
    }

    /// Loads a part of the file at `path`, or all of it. The part is trimmed and
    /// levelled as if it were a file of its own.
    pub fn load_span(&mut self, path: &Path, span: Option<Span>) -> Result<Loaded, LoadError> {
        let mut waveform = Waveform::default();
        let source = self.load_span_into(path, span, &mut waveform)?;
        Ok(Loaded { waveform, source })
    }

    /// Like [`load`](Self::load), but into a waveform whose memory is reused: a
    /// worker that loads clip after clip allocates only for the longest. After an
    /// error the waveform holds nothing of use.
    pub fn load_into(&mut self, path: &Path, waveform: &mut Waveform) -> Result<Source, LoadError> {
        self.load_span_into(path, None, waveform)
    }

    /// Like [`load_span`](Self::load_span), but into a waveform whose memory is reused.
    pub fn load_span_into(
        &mut self,
        path: &Path,
        span: Option<Span>,
        waveform: &mut Waveform,
    ) -> Result<Source, LoadError> {
        Ok(self.load_part(path, span, waveform, |_, _| ())?.0)
    }

    /// Like [`load_into`](Self::load_into), but lets `see` look at the file's
    /// bytes and at what they decoded to, before anything is changed: a hash and
    /// a measure of clipping without opening the file a second time.
    pub fn load_seeing<T>(
        &mut self,
        path: &Path,
        waveform: &mut Waveform,
        see: impl FnOnce(&[u8], &Waveform) -> T,
    ) -> Result<(Source, T), LoadError> {
        self.load_part(path, None, waveform, see)
    }

    fn load_part<T>(
        &mut self,
        path: &Path,
        span: Option<Span>,
        waveform: &mut Waveform,
        see: impl FnOnce(&[u8], &Waveform) -> T,
    ) -> Result<(Source, T), LoadError> {
        let begin = Instant::now();
        read(path, &self.limits, &mut self.bytes)?;
        if let Some(read) = &self.slowness.read {
            read();
        }
        self.spent.read += begin.elapsed();
        let begin = Instant::now();
        for _ in 0..self.slowness.decodes {
            decode_read(path, &self.limits, &self.bytes, waveform)?;
            self.finish(path, span, waveform)?;
        }
        let source = decode_read(path, &self.limits, &self.bytes, waveform)?;
        let seen = see(&self.bytes, waveform);
        self.finish(path, span, waveform)?;
        self.spent.decode += begin.elapsed();
        Ok((source, seen))
    }

    /// Loads the first `most` of a file, and says whether that is all of it.
    /// However long the file is, no more of it is decoded, and the limits do not apply.
    pub fn load_beginning(
        &mut self,
        path: &Path,
        most: Seconds,
    ) -> Result<(Loaded, bool), LoadError> {
        let (decoded, is_whole) = decode_beginning(path, most)?;
        let Decoded {
            mut waveform,
            source,
        } = decoded;
        self.finish(path, None, &mut waveform)?;
        Ok((Loaded { waveform, source }, is_whole))
    }

    /// Turns what was decoded into what the models may see.
    fn finish(
        &mut self,
        path: &Path,
        span: Option<Span>,
        waveform: &mut Waveform,
    ) -> Result<(), LoadError> {
        self.resample(waveform, self.config.sample_rate);
        waveform
            .samples
            .iter_mut()
            .for_each(|x| *x = x.clamp(-1.0, 1.0));
        if let Some(span) = span {
            if waveform.len() < span.end() {
                return Err(LoadError::NoSuchPart {
                    path: path.to_owned(),
                    length: waveform.duration(),
                    end: span.end().at(waveform.rate),
                });
            }
            waveform.samples.truncate(span.end().0);
            waveform.samples.drain(..span.first.0);
        }
        self.level(path, waveform)
    }

    /// Trims and levels a waveform in place, as the configuration asks: what a loader
    /// does with a recording that has the model's rate and is cut.
    pub fn level(&self, path: &Path, waveform: &mut Waveform) -> Result<(), LoadError> {
        // Every key is named here, so that one nothing is made of does not compile.
        #[deny(unused_variables)]
        let AudioConfig {
            // Resampled to before.
            sample_rate: _,
            trim_silence,
            normalize,
        } = self.config;
        if trim_silence {
            trim(waveform, &Trim::default());
        }
        match normalize {
            Normalize::None => Ok(Decibels(0.0)),
            Normalize::Peak => normalize_peak(&mut waveform.samples, CEILING),
            Normalize::Loudness => normalize_loudness(waveform, TARGET_LOUDNESS, CEILING),
        }
        .map_err(|source| LoadError::Level {
            path: path.to_owned(),
            source,
        })?;
        Ok(())
    }

    fn resample(&mut self, waveform: &mut Waveform, to: SampleRate) {
        let from = waveform.rate;
        if from == to {
            return;
        }
        let known = self.resamplers.iter().position(|(rate, _)| *rate == from);
        let index = known.unwrap_or_else(|| {
            if self.resamplers.len() == MOST_RESAMPLERS {
                self.resamplers.remove(0);
            }
            self.resamplers
                .push((from, Resampler::new(from, to, ResampleSpec::XTTS)));
            self.resamplers.len() - 1
        });
        std::mem::swap(&mut self.unresampled, &mut waveform.samples);
        self.resamplers[index]
            .1
            .process_into(&self.unresampled, &mut waveform.samples);
        waveform.rate = to;
    }
}
