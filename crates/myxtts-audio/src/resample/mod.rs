//! Resampling, tap for tap as torchaudio does it.
//!
//! The public checkpoints were trained on audio resampled by
//! `torchaudio.functional.resample`, so its filter is part of the front end: a
//! better filter would be a different input. A general resampling crate cannot
//! be told this filter, and the polyphase form is small enough to own.
//!
//! The filter is designed in `f64` (`kernel`); the signal runs in `f32` with
//! one dot product per output sample, over taps padded to whole vectors. The
//! obvious double sum stands beside it in the tests.

mod kernel;
mod stream;

use kernel::Kernel;
pub use kernel::{ResampleSpec, Taper};
pub use stream::ResampleStream;

use crate::units::{SampleRate, Samples};

/// Vector width of the dot product: taps are padded with zeros to a multiple.
const LANES: usize = 8;

/// Converts from one rate to another. It holds the filter and a scratch buffer;
/// make one per thread and pair of rates, and keep it.
#[derive(Clone, Debug)]
pub struct Resampler {
    /// `None` when the rates are equal: the samples pass through untouched.
    kernel: Option<Kernel>,
    /// The input between zeros, reused from call to call.
    padded: Vec<f32>,
}

impl Resampler {
    /// Designs the filter from `from` to `to`.
    pub fn new(from: SampleRate, to: SampleRate, spec: ResampleSpec) -> Self {
        let kernel = (from != to).then(|| Kernel::design(from, to, spec));
        Self {
            kernel,
            padded: Vec::new(),
        }
    }

    /// Returns how many samples `process` makes of an input of this length.
    pub fn output_len(&self, input: Samples) -> Samples {
        match &self.kernel {
            None => input,
            Some(kernel) => Samples((input.0 * kernel.output_step).div_ceil(kernel.input_step)),
        }
    }

    /// Resamples a whole waveform; outside of it the signal is zero.
    pub fn process(&mut self, input: &[f32]) -> Vec<f32> {
        let mut output = Vec::new();
        self.process_into(input, &mut output);
        output
    }

    /// Like [`process`](Self::process), but into memory that is reused.
    pub(crate) fn process_into(&mut self, input: &[f32], output: &mut Vec<f32>) {
        let length = self.output_len(Samples(input.len())).0;
        output.clear();
        let Some(kernel) = &self.kernel else {
            output.extend_from_slice(input);
            return;
        };
        self.padded.clear();
        self.padded.resize(kernel.reach, 0.0);
        self.padded.extend_from_slice(input);
        let blocks = length.div_ceil(kernel.output_step);
        let last_read = blocks * kernel.input_step + 2 * kernel.reach + kernel.taps;
        self.padded.resize(self.padded.len().max(last_read), 0.0);

        output.resize(length, 0.0);
        for (block, out) in output.chunks_mut(kernel.output_step).enumerate() {
            let input = &self.padded[block * kernel.input_step..];
            for (out, phase) in out.iter_mut().zip(kernel.phases()) {
                *out = dot(&input[phase.start..phase.start + kernel.taps], phase.taps);
            }
        }
    }
}

/// Computes the inner product of two slices whose length is a multiple of [`LANES`].
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, _), (b, _)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "test code"
)]
mod tests;
