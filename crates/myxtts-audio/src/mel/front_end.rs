//! The mel front end: frames, power spectra, bands, logarithm.
//!
//! Eight frames are worked on together. Their power spectra are kept
//! interleaved, `power[bin][frame]`, so that the filter bank, the logarithm and
//! the division run over eight values at a time whatever the width of a
//! triangle, and the result already has the order of the output (a run of
//! frames of one band). A naive DFT and a dense bank stand beside it in the
//! tests.

use std::fmt;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::filter_bank::FilterBank;
use super::log::ln;
use super::{Compression, Mel, MelError, MelSpec};
use crate::cast;
use crate::frames::Framing;
use crate::units::Samples;

/// Frames worked on together: two vectors of the narrowest machine we build for.
const BLOCK: usize = 8;
/// What `torch.nn.InstanceNorm1d` adds to a variance.
const INSTANCE_NORM_EPSILON: f64 = 1e-5;

/// Computes the mels of one [`MelSpec`]. It holds its plan, tables and scratch,
/// so that a call allocates nothing but its output; make one per thread, and keep it.
pub struct MelFrontEnd {
    spec: MelSpec,
    stats: Option<Vec<f32>>,
    framing: Framing,
    bank: FilterBank,
    fft: Arc<dyn Fft<f32>>,
    fft_scratch: Vec<Complex<f32>>,
    /// [`BLOCK`] / 2 spectra, each of two frames.
    packed: Vec<Complex<f32>>,
    edges: Vec<f32>,
    power: Vec<[f32; BLOCK]>,
    emphasised: Vec<f32>,
}

impl MelFrontEnd {
    /// Prepares a front end. Each band is divided by its number in `stats`, after
    /// the logarithm; these are the `mel_stats` of a checkpoint.
    pub fn new(spec: MelSpec, stats: Option<Vec<f32>>) -> Result<Self, MelError> {
        spec.check(stats.as_deref())?;
        let framing = Framing::new(&spec);
        let fft = FftPlanner::new().plan_fft_forward(framing.n_fft);
        let mut bank = FilterBank::new(&spec);
        // The halves in the formulas of `frames`, squared, go into the weights.
        for weight in bank.bands.iter_mut().flat_map(|band| &mut band.weights) {
            *weight *= 0.25;
        }
        let zero = Complex::new(0.0, 0.0);
        Ok(Self {
            fft_scratch: vec![zero; fft.get_inplace_scratch_len()],
            packed: vec![zero; framing.n_fft * BLOCK / 2],
            edges: vec![0.0; 2 * framing.window.len()],
            power: vec![[0.0; BLOCK]; bank.bins()],
            emphasised: Vec::new(),
            spec,
            stats,
            framing,
            bank,
            fft,
        })
    }

    /// Returns the constants of the front end.
    pub fn spec(&self) -> &MelSpec {
        &self.spec
    }

    /// Computes the mel of a waveform at the rate of the spec. Samples must be
    /// finite, which decoding guarantees.
    pub fn mel(&mut self, samples: &[f32]) -> Result<Mel, MelError> {
        let length = Samples(samples.len());
        let shortest = self.spec.shortest();
        if length < shortest {
            return Err(MelError::TooShort { length, shortest });
        }
        let frames = self.spec.frames(length);
        let mut values = vec![0.0; self.spec.bands * frames.0];
        let emphasised = std::mem::take(&mut self.emphasised);
        let emphasised = match self.spec.pre_emphasis {
            Some(amount) => pre_emphasise(samples, amount, emphasised),
            None => emphasised,
        };
        let samples = if self.spec.pre_emphasis.is_some() {
            &emphasised
        } else {
            samples
        };
        for first in (0..frames.0).step_by(BLOCK) {
            self.block_power(samples, frames.0, first);
            self.block_bands(frames.0, first, &mut values);
        }
        self.emphasised = emphasised;
        if self.spec.instance_norm {
            values.chunks_exact_mut(frames.0).for_each(standardise);
        }
        Ok(Mel {
            bands: self.spec.bands,
            frames,
            values,
        })
    }

    /// Fills `power` (times four) with the spectra of frames `first..first + BLOCK`.
    fn block_power(&mut self, samples: &[f32], frames: usize, first: usize) {
        let n_fft = self.framing.n_fft;
        for (pair, packed) in self.packed.chunks_exact_mut(n_fft).enumerate() {
            self.framing
                .pack(samples, frames, first + 2 * pair, &mut self.edges, packed);
        }
        self.fft
            .process_with_scratch(&mut self.packed, &mut self.fft_scratch);
        for (pair, spectrum) in self.packed.chunks_exact(n_fft).enumerate() {
            let mirror = spectrum[..1].iter().chain(spectrum[1..].iter().rev());
            for ((power, z), m) in self.power.iter_mut().zip(spectrum).zip(mirror) {
                let (sum_re, difference_re) = (z.re + m.re, z.re - m.re);
                let (sum_im, difference_im) = (z.im + m.im, z.im - m.im);
                power[2 * pair] = sum_re * sum_re + difference_im * difference_im;
                power[2 * pair + 1] = sum_im * sum_im + difference_re * difference_re;
            }
        }
    }

    /// Computes bands, compression and division of the block in `power`.
    fn block_bands(&self, frames: usize, first: usize, values: &mut [f32]) {
        let width = BLOCK.min(frames - first);
        for (index, (band, row)) in self
            .bank
            .bands
            .iter()
            .zip(values.chunks_exact_mut(frames))
            .enumerate()
        {
            let mut sums = [0.0; BLOCK];
            let bins = &self.power[band.start..band.start + band.weights.len()];
            for (power, &weight) in bins.iter().zip(&band.weights) {
                for lane in 0..BLOCK {
                    sums[lane] += weight * power[lane];
                }
            }
            match self.spec.compression {
                Compression::Power => {}
                Compression::LogFloor(floor) => {
                    sums = sums.map(|x| ln(if x > floor { x } else { floor }));
                }
                Compression::LogOffset(offset) => sums = sums.map(|x| ln(x + offset)),
            }
            if let Some(stats) = &self.stats {
                sums = sums.map(|x| x / stats[index]);
            }
            row[first..first + width].copy_from_slice(&sums[..width]);
        }
    }
}

impl fmt::Debug for MelFrontEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MelFrontEnd")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

/// Computes `y[t] = x[t] - a x[t - 1]`, where the sample before the first is a
/// reflection.
fn pre_emphasise(samples: &[f32], amount: f32, mut output: Vec<f32>) -> Vec<f32> {
    output.clear();
    if let [first, second, ..] = samples {
        output.push(first - amount * second);
    }
    output.extend(samples.windows(2).map(|pair| pair[1] - amount * pair[0]));
    output
}

/// Brings a row to zero mean and unit variance.
fn standardise(row: &mut [f32]) {
    let count = row.len() as f64;
    let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
    let variance = row
        .iter()
        .map(|&x| (f64::from(x) - mean).powi(2))
        .sum::<f64>()
        / count;
    let scale = 1.0 / (variance + INSTANCE_NORM_EPSILON).sqrt();
    for value in row {
        *value = cast::to_f32((f64::from(*value) - mean) * scale);
    }
}
