//! The short-time Fourier transform and its least-squares inverse.
//!
//! Frames go through the FFT in pairs, as in `frames`; spectra are kept as rows
//! of `n_fft / 2 + 1` bins, one per frame.

use std::fmt;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use crate::frames::Framing;
use crate::mel::MelSpec;

/// The least cover to divide by, where the windows hardly reach.
const LEAST_COVER: f32 = 1e-6;

pub(super) struct Stft {
    framing: Framing,
    forward: Arc<dyn Fft<f32>>,
    inverse: Arc<dyn Fft<f32>>,
    scratch: Vec<Complex<f32>>,
    packed: Vec<Complex<f32>>,
    edges: Vec<f32>,
    /// The sum of overlapping frames, with half an FFT on each side.
    sum: Vec<f32>,
    /// The sum of overlapping squared windows.
    cover: Vec<f32>,
}

impl fmt::Debug for Stft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stft")
            .field("framing", &self.framing)
            .finish_non_exhaustive()
    }
}

impl Stft {
    pub(super) fn new(spec: &MelSpec) -> Self {
        let framing = Framing::new(spec);
        let mut planner = FftPlanner::new();
        let forward = planner.plan_fft_forward(framing.n_fft);
        let inverse = planner.plan_fft_inverse(framing.n_fft);
        let scratch = forward
            .get_inplace_scratch_len()
            .max(inverse.get_inplace_scratch_len());
        let zero = Complex::new(0.0, 0.0);
        Self {
            scratch: vec![zero; scratch],
            packed: vec![zero; framing.n_fft],
            edges: vec![0.0; 2 * framing.window.len()],
            sum: Vec::new(),
            cover: Vec::new(),
            framing,
            forward,
            inverse,
        }
    }

    /// Returns the number of bins of one frame.
    pub(super) fn bins(&self) -> usize {
        self.framing.n_fft / 2 + 1
    }

    /// Computes the spectrum (frames, bins) of `samples`, which must be longer
    /// than half an FFT.
    pub(super) fn forward(
        &mut self,
        samples: &[f32],
        frames: usize,
        spectrum: &mut [Complex<f32>],
    ) {
        let bins = self.bins();
        for (pair, rows) in spectrum.chunks_mut(2 * bins).enumerate() {
            self.framing
                .pack(samples, frames, 2 * pair, &mut self.edges, &mut self.packed);
            self.forward
                .process_with_scratch(&mut self.packed, &mut self.scratch);
            let mirror = self.packed[..1].iter().chain(self.packed[1..].iter().rev());
            let (first, second) = rows.split_at_mut(bins);
            for ((a, z), m) in first.iter_mut().zip(&self.packed).zip(mirror.clone()) {
                *a = Complex::new(z.re + m.re, z.im - m.im) * 0.5;
            }
            for ((b, z), m) in second.iter_mut().zip(&self.packed).zip(mirror) {
                *b = Complex::new(z.im + m.im, m.re - z.re) * 0.5;
            }
        }
    }

    /// Finds the signal whose spectrum is nearest to `spectrum` in the
    /// least-squares sense, and writes it to `samples`, which are
    /// `(frames - 1) * hop` long.
    pub(super) fn inverse(
        &mut self,
        spectrum: &[Complex<f32>],
        frames: usize,
        samples: &mut [f32],
    ) {
        let (n_fft, hop, left) = (self.framing.n_fft, self.framing.hop, self.framing.left);
        let (bins, win) = (self.bins(), self.framing.window.len());
        let length = samples.len() + n_fft;
        self.sum.clear();
        self.sum.resize(length, 0.0);
        self.cover.clear();
        self.cover.resize(length, 0.0);
        let scale = 1.0 / n_fft as f32;
        for (pair, rows) in spectrum.chunks(2 * bins).enumerate() {
            let (first, second) = rows.split_at(bins);
            pack_spectra(first, second, &mut self.packed);
            self.inverse
                .process_with_scratch(&mut self.packed, &mut self.scratch);
            for (frame, is_second) in [(2 * pair, false), (2 * pair + 1, true)] {
                if frame >= frames {
                    break;
                }
                let at = frame * hop + left;
                let under = self.packed[left..left + win]
                    .iter()
                    .zip(&self.framing.window);
                let over = self.sum[at..at + win]
                    .iter_mut()
                    .zip(&mut self.cover[at..at + win]);
                for ((sum, cover), (z, w)) in over.zip(under) {
                    *sum += if is_second { z.im } else { z.re } * w * scale;
                    *cover += w * w;
                }
            }
        }
        let half = n_fft / 2;
        for ((x, sum), cover) in samples
            .iter_mut()
            .zip(&self.sum[half..])
            .zip(&self.cover[half..])
        {
            *x = sum / cover.max(LEAST_COVER);
        }
    }
}

/// Packs `A + i B` over the whole circle, from the halves of two real signals'
/// spectra. The last pair may lack its second.
fn pack_spectra(a: &[Complex<f32>], b: &[Complex<f32>], packed: &mut [Complex<f32>]) {
    let silence = Complex::new(0.0, 0.0);
    let b = b.iter().copied().chain(std::iter::repeat(silence));
    let last = a.len() - 1;
    for (k, (&a, b)) in a.iter().zip(b).enumerate() {
        // The spectrum of a real signal is real at both ends.
        let (a, b) = if k == 0 || k == last {
            (Complex::new(a.re, 0.0), Complex::new(b.re, 0.0))
        } else {
            (a, b)
        };
        packed[k] = Complex::new(a.re - b.im, a.im + b.re);
        if k != 0 {
            let mirrored = packed.len() - k;
            packed[mirrored] = Complex::new(a.re + b.im, b.re - a.im);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Samples;

    #[test]
    fn the_inverse_undoes_the_transform() {
        for spec in [MelSpec::DVAE, MelSpec::CONDITIONING] {
            for frames in [6, 9] {
                let mut stft = Stft::new(&spec);
                let length = (frames - 1) * spec.hop.0;
                let samples: Vec<f32> =
                    (0..length).map(|n| ((n * n) as f32 * 1e-3).sin()).collect();
                assert_eq!(spec.frames(Samples(length)).0, frames);
                let mut spectrum = vec![Complex::new(0.0, 0.0); frames * stft.bins()];
                stft.forward(&samples, frames, &mut spectrum);
                let mut back = vec![0.0; length];
                stft.inverse(&spectrum, frames, &mut back);
                let worst = samples
                    .iter()
                    .zip(&back)
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f32::max);
                assert!(worst < 1e-4, "{worst}");
            }
        }
    }
}
