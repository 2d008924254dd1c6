//! The buffers of one batch.

use myxtts_audio::units::Samples;
use myxtts_text::TokenId;

use crate::schedule::{BucketShape, ClipIndex, ConditioningSegment, ConditioningSpec};
use crate::units::Tokens;

/// A batch on the host: rows of one static shape, padded with zeros, with the
/// true length of each. The length of an empty row is zero.
///
/// Rows lie one behind the other, so that a slice is a tensor (b rows,
/// n samples, t tokens, s samples of conditioning).
#[derive(Clone, Debug, PartialEq)]
pub struct HostBatch {
    shape: BucketShape,
    conditioning_length: Samples,
    wave_bn: Vec<f32>,
    wave_lengths: Vec<Samples>,
    text_bt: Vec<i32>,
    text_lengths: Vec<Tokens>,
    conditioning_bs: Vec<f32>,
    segments: Vec<ConditioningSegment>,
    firsts: Vec<Samples>,
    clips: Vec<Option<ClipIndex>>,
}

/// What the conditioning of a row is cut from.
pub(super) enum Voice<'a> {
    /// The row's own waveform.
    Own(ConditioningSegment),
    /// The waveform of another clip.
    Other(&'a [f32], ConditioningSegment),
}

/// The segment of an empty row, and of one whose voice is another clip's.
const NOTHING: ConditioningSegment = ConditioningSegment {
    start: Samples(0),
    length: Samples(0),
};

impl HostBatch {
    /// Makes a batch of empty rows.
    pub fn for_shape(shape: BucketShape, rows: usize, conditioning: ConditioningSpec) -> Self {
        let mut batch = Self {
            shape,
            conditioning_length: conditioning.max,
            wave_bn: vec![],
            wave_lengths: vec![],
            text_bt: vec![],
            text_lengths: vec![],
            conditioning_bs: vec![],
            segments: vec![],
            firsts: vec![],
            clips: vec![],
        };
        batch.reshape(shape, rows, conditioning);
        batch
    }

    /// Takes another shape. Memory is kept, so a buffer that has held the largest
    /// bucket allocates no more. Rows hold what is left over from before until each
    /// is set or cleared.
    pub(super) fn reshape(
        &mut self,
        shape: BucketShape,
        rows: usize,
        conditioning: ConditioningSpec,
    ) {
        self.shape = shape;
        self.conditioning_length = conditioning.max.max(conditioning.min);
        self.wave_bn.resize(rows * self.samples_per_row(), 0.0);
        self.wave_lengths.resize(rows, Samples(0));
        self.text_bt.resize(rows * self.tokens_per_row(), 0);
        self.text_lengths.resize(rows, Tokens(0));
        self.conditioning_bs
            .resize(rows * self.conditioning_length.0, 0.0);
        self.segments.resize(rows, NOTHING);
        self.firsts.resize(rows, Samples(0));
        self.clips.resize(rows, None);
    }

    /// Empties every row of the batch.
    pub fn reset(&mut self) {
        for row in 0..self.rows() {
            self.clear_row(row);
        }
    }

    pub(super) fn clear_row(&mut self, row: usize) {
        self.write_row(row, None, &[], &[], NOTHING, &[]);
        self.firsts[row] = Samples(0);
    }

    /// Writes every value of a row, with its conditioning cut from `voice`. Inputs
    /// longer than the shape has room for have been refused before.
    pub(super) fn set_row(
        &mut self,
        row: usize,
        clip: ClipIndex,
        first: Samples,
        samples: &[f32],
        voice: Voice<'_>,
        ids: &[TokenId],
    ) {
        let (from, cut, kept) = match voice {
            Voice::Own(segment) => (samples, segment, segment),
            Voice::Other(other, segment) => (other, segment, NOTHING),
        };
        let conditioning = &from[cut.start.0..cut.start.0 + cut.length.0];
        self.write_row(row, Some(clip), samples, conditioning, kept, ids);
        self.firsts[row] = first;
    }

    fn write_row(
        &mut self,
        row: usize,
        clip: Option<ClipIndex>,
        samples: &[f32],
        conditioning: &[f32],
        segment: ConditioningSegment,
        ids: &[TokenId],
    ) {
        let (n, t, s) = (
            self.samples_per_row(),
            self.tokens_per_row(),
            self.conditioning_length.0,
        );
        pad_copy(&mut self.wave_bn[row * n..(row + 1) * n], samples);
        pad_copy(
            &mut self.conditioning_bs[row * s..(row + 1) * s],
            conditioning,
        );
        let text = &mut self.text_bt[row * t..(row + 1) * t];
        let (head, tail) = text.split_at_mut(ids.len());
        for (to, id) in head.iter_mut().zip(ids) {
            *to = id.cast_signed();
        }
        tail.fill(0);
        self.wave_lengths[row] = Samples(samples.len());
        self.text_lengths[row] = Tokens(u32::try_from(ids.len()).unwrap_or(u32::MAX));
        self.segments[row] = segment;
        self.clips[row] = clip;
    }

    /// Returns the shape of the rows.
    pub fn shape(&self) -> BucketShape {
        self.shape
    }

    /// Returns the number of rows, empty ones included.
    pub fn rows(&self) -> usize {
        self.clips.len()
    }

    /// Returns the waveforms, row by row.
    pub fn wave_bn(&self) -> &[f32] {
        &self.wave_bn
    }

    /// Returns the number of samples of each waveform.
    pub fn wave_lengths(&self) -> &[Samples] {
        &self.wave_lengths
    }

    /// Returns the token ids, row by row, without start and stop.
    pub fn text_bt(&self) -> &[i32] {
        &self.text_bt
    }

    /// Returns the number of tokens of each text.
    pub fn text_lengths(&self) -> &[Tokens] {
        &self.text_lengths
    }

    /// Returns the conditioning segments, row by row.
    pub fn conditioning_bs(&self) -> &[f32] {
        &self.conditioning_bs
    }

    /// Returns where in its waveform each segment lies; the length is 0 where it
    /// was cut from another clip.
    pub fn segments(&self) -> &[ConditioningSegment] {
        &self.segments
    }

    /// Returns the sample of its recording that each waveform begins with.
    pub(crate) fn firsts(&self) -> &[Samples] {
        &self.firsts
    }

    /// Returns the clip in each row, `None` for an empty row.
    pub fn clips(&self) -> &[Option<ClipIndex>] {
        &self.clips
    }

    /// Returns the number of samples that a waveform row has room for.
    pub fn samples_per_row(&self) -> usize {
        self.shape.audio.samples().0
    }

    /// Returns the number of tokens that a text row has room for.
    pub fn tokens_per_row(&self) -> usize {
        self.shape.text.0 as usize
    }

    /// Returns the number of samples that a conditioning row has room for.
    pub fn conditioning_per_row(&self) -> usize {
        self.conditioning_length.0
    }

    /// Returns the bytes of memory held, whatever part of it this shape uses.
    pub fn bytes(&self) -> usize {
        fn of<T>(buffer: &Vec<T>) -> usize {
            buffer.capacity() * size_of::<T>()
        }
        of(&self.wave_bn)
            + of(&self.wave_lengths)
            + of(&self.text_bt)
            + of(&self.text_lengths)
            + of(&self.conditioning_bs)
            + of(&self.segments)
            + of(&self.firsts)
            + of(&self.clips)
    }
}

/// Copies `from` to the start of `to` and fills the rest with zeros.
fn pad_copy(to: &mut [f32], from: &[f32]) {
    let (head, tail) = to.split_at_mut(from.len());
    head.copy_from_slice(from);
    tail.fill(0.0);
}
