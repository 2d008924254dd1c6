//! Resampling a waveform that arrives in parts.
//!
//! An output sample needs the input around it, so the last samples of a part
//! wait for the next one. Work is done in the filter's own blocks
//! (`input_step` samples in, `output_step` out), which repeat exactly: a block
//! with enough input on both sides has the value it has in the whole waveform.

use super::{ResampleSpec, Resampler};
use crate::units::SampleRate;

/// Resamples a waveform in parts: what [`push`](Self::push) and
/// [`finish`](Self::finish) return, joined, is what [`Resampler::process`]
/// makes of the whole.
#[derive(Clone, Debug)]
pub struct ResampleStream {
    resampler: Resampler,
    /// Input from the first block that is still needed.
    held: Vec<f32>,
    /// Blocks at the start of `held` whose output was already returned; they are
    /// the past that later blocks read.
    given: usize,
}

impl ResampleStream {
    /// Makes a stream that converts from one rate to another.
    pub fn new(from: SampleRate, to: SampleRate, spec: ResampleSpec) -> Self {
        Self {
            resampler: Resampler::new(from, to, spec),
            held: Vec::new(),
            given: 0,
        }
    }

    /// Takes the next samples, and returns the output that they complete.
    pub fn push(&mut self, samples: &[f32]) -> Vec<f32> {
        let Some(kernel) = &self.resampler.kernel else {
            return samples.to_vec();
        };
        let (input_step, output_step) = (kernel.input_step, kernel.output_step);
        // Blocks that a block may read on either side of itself.
        let reach = (2 * kernel.reach + kernel.taps).div_ceil(input_step);
        self.held.extend_from_slice(samples);
        let ready = (self.held.len() / input_step).saturating_sub(reach);
        if ready <= self.given {
            return Vec::new();
        }
        let needed = self.held.len().min((ready + reach) * input_step);
        let output = self.resampler.process(&self.held[..needed]);
        let known = output[self.given * output_step..ready * output_step].to_vec();
        let past = ready.saturating_sub(reach);
        self.held.drain(..past * input_step);
        self.given = ready - past;
        known
    }

    /// Returns the rest of the output, as if silence followed.
    pub fn finish(mut self) -> Vec<f32> {
        let Some(kernel) = &self.resampler.kernel else {
            return Vec::new();
        };
        let given = self.given * kernel.output_step;
        let output = self.resampler.process(&self.held);
        output.get(given..).unwrap_or_default().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(length: usize) -> Vec<f32> {
        let sample = |n: usize| {
            let n = u16::try_from(n % 60_000).unwrap_or_default();
            (f32::from(n) * 0.031).sin() * 0.6 + (f32::from(n) * 0.47).sin() * 0.2
        };
        (0..length).map(sample).collect()
    }

    /// Parts of any length give, bit for bit, what the whole gives.
    #[test]
    fn parts_are_the_whole() {
        let rates = [22_050, 24_000, 16_000, 44_100].map(|hz| SampleRate::new(hz).unwrap());
        for spec in [ResampleSpec::XTTS, ResampleSpec::KAISER_BEST] {
            for (from, to) in [(0, 1), (1, 0), (0, 2), (3, 1), (1, 1)] {
                let (from, to) = (rates[from], rates[to]);
                for length in [0, 1, 146, 147, 148, 5_000, 20_001] {
                    let whole = wave(length);
                    let expected = Resampler::new(from, to, spec).process(&whole);
                    for part in [1, 7, 160, 1_024, 9_999] {
                        let mut stream = ResampleStream::new(from, to, spec);
                        let mut joined: Vec<f32> = Vec::new();
                        for part in whole.chunks(part) {
                            joined.extend(stream.push(part));
                        }
                        joined.extend(stream.finish());
                        assert_eq!(joined, expected, "{from} to {to}, {length} in {part}s");
                    }
                }
            }
        }
    }

    /// Sound is given as it is known, and the past is forgotten.
    #[test]
    fn a_long_stream_holds_little() {
        let mut stream = ResampleStream::new(
            SampleRate::XTTS,
            SampleRate::VOCODER,
            ResampleSpec::KAISER_BEST,
        );
        let mut given = 0;
        for _ in 0..100 {
            given += stream.push(&wave(1_000)).len();
            assert!(stream.held.len() < 3_000, "{}", stream.held.len());
        }
        assert!(given > 108_000, "{given} of 108,844 samples");
    }
}
