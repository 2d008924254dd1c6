//! The host stage: a batch of the schedule becomes buffers of a static shape.
//!
//! ```text
//! Batch (which clips) -> per row: load once -> waveform row
//!                                          \-> its conditioning segment
//!                                 text -> clean -> encode -> token row
//! ```
//!
//! A recording is decoded once and its conditioning segment cut from the same
//! samples; with [`Companions`], from another clip of the speaker, which is
//! decoded for it. What a row holds is a pure function of (clip, seed, epoch):
//! not of the worker, the order of calls, or what the buffer held before.
//!
//! A recording that is gone, or has changed, is skipped while there are few of them
//! ([`LostClips`]): the next clip of the manifest that fits takes its row, so that
//! shapes, targets and the number of steps stay the same.
//!
//! [`HostStage`] is shared and immutable; each worker thread has a [`Scratch`], and
//! buffers ([`HostBatch`]) are reused. In the steady state nothing is allocated for
//! audio, and for text only the short strings of cleaning.

mod clip;
mod error;
mod feed;
mod host_batch;
mod lost;

use std::sync::Arc;

use myxtts_audio::units::Samples;
use myxtts_audio::{AudioConfig, Limits, Loader, Slowness, Spent, Waveform};
use myxtts_text::{CleanOptions, TokenId, Vocabulary, clean_with};

pub use clip::{Clip, ClipSource, ClipView};
pub use error::HostStageError;
pub use feed::{EmptySchedule, HostFeed, PreparedBatch};
pub use host_batch::HostBatch;
use host_batch::Voice;
pub use lost::{LostClips, Tell};

use crate::schedule::{
    Batch, Beginnings, ClipIndex, Companions, ConditioningSegment, ConditioningSpec,
};
use crate::units::{Codes, Tokens};

/// How conditioning segments are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments {
    /// Drawn anew in each epoch, as training wants them.
    Drawn {
        /// The seed of the run.
        seed: u64,
    },
    /// The same each time, as validation wants them.
    Fixed,
}

/// How clips become rows.
#[derive(Clone, Debug)]
pub struct HostStageConfig {
    /// How a file becomes a waveform.
    pub audio: AudioConfig,
    /// What may be spent on one file.
    pub limits: Limits,
    /// How a transcript is cleaned.
    pub text: CleanOptions,
    /// How long conditioning segments are.
    pub conditioning: ConditioningSpec,
    /// How they are chosen.
    pub segments: Segments,
}

/// The most clips that are tried in the place of one that is gone.
const MOST_SUBSTITUTES: usize = 500;

/// Fills batches; shared by all workers.
///
/// Token ids are made anew each time: cleaning and encoding are about 2 % of
/// the stage (`benchmarks/data.md`), and a table of ids would grow with the
/// corpus in every process.
#[derive(Debug)]
pub struct HostStage<C> {
    clips: C,
    vocabulary: Arc<Vocabulary>,
    config: HostStageConfig,
    companions: Option<Arc<Companions>>,
    beginnings: Beginnings,
    lost: Option<Arc<LostClips>>,
    slowness: Slowness,
}

/// What one worker keeps from clip to clip.
#[derive(Debug)]
pub struct Scratch {
    loader: Loader,
    waveform: Waveform,
    companion: Waveform,
}

impl Scratch {
    /// Returns where loading spent its time since the last call.
    pub(crate) fn take_spent(&mut self) -> Spent {
        self.loader.take_spent()
    }
}

impl<C: ClipSource> HostStage<C> {
    /// Makes a stage over `clips`.
    pub fn new(clips: C, vocabulary: Arc<Vocabulary>, config: HostStageConfig) -> Self {
        Self {
            clips,
            vocabulary,
            config,
            companions: None,
            beginnings: Beginnings::ONE,
            lost: None,
            slowness: Slowness::default(),
        }
    }

    /// Takes the conditioning of a clip from other clips of its speaker, where
    /// there are some. `companions` are of the same clips.
    #[must_use]
    pub fn conditioned_by(mut self, companions: Option<Arc<Companions>>) -> Self {
        self.companions = companions;
        self
    }

    /// Skips recordings that are gone while `lost` allows it; without this the
    /// first one is an error.
    #[must_use]
    pub fn skipping(mut self, lost: Arc<LostClips>) -> Self {
        self.lost = Some(lost);
        self
    }

    /// Lets clips begin at other places in other epochs, if segments are drawn anew
    /// as well.
    #[must_use]
    pub fn beginning_at(mut self, beginnings: Beginnings) -> Self {
        self.beginnings = beginnings;
        self
    }

    /// Slows loading down, for tests.
    #[doc(hidden)]
    #[must_use]
    pub(crate) fn slowed(mut self, slowness: Slowness) -> Self {
        self.slowness = slowness;
        self
    }

    /// Makes the working memory of one thread.
    pub fn scratch(&self) -> Scratch {
        let loader = Loader::new(self.config.audio.clone(), self.config.limits);
        Scratch {
            loader: loader.slowed(self.slowness.clone()),
            waveform: Waveform::default(),
            companion: Waveform::default(),
        }
    }

    /// Makes a buffer for batches of this shape and number of rows.
    pub fn buffer(&self, batch: &Batch) -> HostBatch {
        HostBatch::for_shape(batch.shape, batch.rows.len(), self.config.conditioning)
    }

    /// Fills `out` with a batch of an epoch.
    ///
    /// `out` may come from any earlier batch: it takes this batch's shape, and
    /// every value of it is written. After an error it holds nothing of use.
    ///
    /// # Errors
    /// Fails if a clip does not exist, cannot be read, or does not fit the shape.
    pub fn fill(
        &self,
        epoch: u64,
        batch: &Batch,
        out: &mut HostBatch,
        scratch: &mut Scratch,
    ) -> Result<(), HostStageError> {
        out.reshape(batch.shape, batch.rows.len(), self.config.conditioning);
        for (row, clip) in batch.rows.iter().enumerate() {
            match clip {
                Some(clip) => self.fill_or_replace(epoch, *clip, row, out, scratch)?,
                None => out.clear_row(row),
            }
        }
        Ok(())
    }

    /// Fills a row with its clip or, where that is gone, with the next one of the
    /// manifest that fits, which is always the same for the same losses.
    fn fill_or_replace(
        &self,
        epoch: u64,
        clip: ClipIndex,
        row: usize,
        out: &mut HostBatch,
        scratch: &mut Scratch,
    ) -> Result<(), HostStageError> {
        let Some(lost) = &self.lost else {
            return self.fill_row(epoch, clip, row, out, scratch);
        };
        let mut candidate = clip;
        let mut last = None;
        for _ in 0..MOST_SUBSTITUTES {
            let Some(spoken) = self.clips.clip(candidate) else {
                if candidate == ClipIndex(0) {
                    break;
                }
                candidate = ClipIndex(0);
                continue;
            };
            if !lost.contains(&spoken) {
                match self.fill_row(epoch, candidate, row, out, scratch) {
                    Ok(()) => return Ok(()),
                    // A clip too long for its own row has changed; one too long for
                    // another's row is only not a substitute.
                    Err(
                        HostStageError::AudioTooLong { .. } | HostStageError::TextTooLong { .. },
                    ) if candidate != clip => {}
                    Err(
                        why @ (HostStageError::Load { .. } | HostStageError::AudioTooLong { .. }),
                    ) => {
                        lost.note(&spoken, why)?;
                    }
                    Err(other) => return Err(other),
                }
            }
            if candidate == clip && last.is_none() {
                last = Some(spoken.audio.to_owned());
            }
            candidate = ClipIndex(candidate.0.saturating_add(1));
        }
        Err(HostStageError::NoSubstitute {
            audio: last.unwrap_or_default(),
        })
    }

    fn fill_row(
        &self,
        epoch: u64,
        clip: ClipIndex,
        row: usize,
        out: &mut HostBatch,
        scratch: &mut Scratch,
    ) -> Result<(), HostStageError> {
        let spoken = self.clips.clip(clip);
        let spoken = spoken.ok_or(HostStageError::NoSuchClip { clip })?;
        let Scratch {
            loader,
            waveform,
            companion,
        } = scratch;
        loader
            .load_span_into(spoken.audio, spoken.span, waveform)
            .map_err(|source| HostStageError::Load { clip, source })?;
        let first = self.beginning(epoch, clip, waveform.len());
        let samples = &waveform.samples[first.0..];
        let length = Samples(samples.len());
        if Codes::of(length) > out.shape().audio {
            return Err(HostStageError::AudioTooLong {
                clip,
                audio: spoken.audio.to_owned(),
                length: Codes::of(length),
                room: out.shape().audio,
            });
        }
        let ids = self.encode(clip, &spoken, out.shape().text)?;
        let voice = match self.load_companion(epoch, clip, loader, companion)? {
            true => {
                let segment = self.segment(epoch, clip, companion.len());
                Voice::Other(&companion.samples, segment)
            }
            false => Voice::Own(self.segment(epoch, clip, length)),
        };
        out.set_row(row, clip, first, samples, voice, &ids);
        Ok(())
    }

    /// Returns the sample that a clip begins at in an epoch.
    fn beginning(&self, epoch: u64, clip: ClipIndex, length: Samples) -> Samples {
        match self.config.segments {
            Segments::Drawn { seed } => self.beginnings.drawn(clip, length, seed, epoch),
            Segments::Fixed => Samples(0),
        }
    }

    /// Cleans and encodes the text of a clip, which must fit the row.
    fn encode(
        &self,
        clip: ClipIndex,
        spoken: &ClipView<'_>,
        room: Tokens,
    ) -> Result<Vec<TokenId>, HostStageError> {
        let cleaned = clean_with(spoken.text, spoken.language, &self.config.text);
        let encoded = self.vocabulary.encode(&cleaned.text, spoken.language);
        let ids = encoded.map_err(|source| HostStageError::Encode {
            clip,
            audio: spoken.audio.to_owned(),
            source,
        })?;
        let tokens = Tokens(u32::try_from(ids.len()).unwrap_or(u32::MAX));
        if tokens > room {
            return Err(HostStageError::TextTooLong {
                clip,
                audio: spoken.audio.to_owned(),
                length: tokens,
                room,
            });
        }
        Ok(ids)
    }

    /// Loads the clip whose voice stands for a clip's; returns `false` where its
    /// speaker has no other, or none that can still be read.
    fn load_companion(
        &self,
        epoch: u64,
        clip: ClipIndex,
        loader: &mut Loader,
        waveform: &mut Waveform,
    ) -> Result<bool, HostStageError> {
        let Some(companions) = &self.companions else {
            return Ok(false);
        };
        let (drawn, fixed) = match self.config.segments {
            Segments::Drawn { seed } => (Some(companions.drawn(clip, seed, epoch)), None),
            Segments::Fixed => (None, Some(companions.fixed(clip))),
        };
        let candidates = drawn.into_iter().flatten();
        let candidates = candidates.chain(fixed.into_iter().flatten());
        for companion in candidates.take(MOST_SUBSTITUTES) {
            let Some(spoken) = self.clips.clip(companion) else {
                continue;
            };
            if let Some(lost) = &self.lost
                && lost.contains(&spoken)
            {
                continue;
            }
            let loaded = loader.load_span_into(spoken.audio, spoken.span, waveform);
            match (loaded, &self.lost) {
                (Ok(_), _) => return Ok(true),
                (Err(source), Some(lost)) => {
                    let why = HostStageError::Load {
                        clip: companion,
                        source,
                    };
                    lost.note(&spoken, why)?;
                }
                (Err(source), None) => {
                    return Err(HostStageError::Load {
                        clip: companion,
                        source,
                    });
                }
            }
        }
        Ok(false)
    }

    fn segment(&self, epoch: u64, clip: ClipIndex, length: Samples) -> ConditioningSegment {
        let spec = &self.config.conditioning;
        match self.config.segments {
            Segments::Drawn { seed } => spec.segment(clip, length, seed, epoch),
            Segments::Fixed => spec.fixed(length),
        }
    }
}
