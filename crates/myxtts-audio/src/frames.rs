//! Cutting a waveform into windowed frames, two to a complex buffer.
//!
//! The spectra of two real signals come out of one complex FFT: with
//! `z = a + i b`, `A[k] = (Z[k] + conj Z[-k]) / 2` and
//! `B[k] = (Z[k] - conj Z[-k]) / 2i`. Unlike a half-length real FFT, that
//! needs no twiddle factors afterwards, only sums. Rounding
//! errors of one frame reach the other, so the two are always neighbours: they
//! share three quarters of their samples and are about as loud.

use rustfft::num_complex::Complex;

use crate::cast;
use crate::mel::{MelSpec, Window};

/// Where frames lie, and the window over them.
#[derive(Clone, Debug)]
pub(crate) struct Framing {
    pub(crate) n_fft: usize,
    pub(crate) hop: usize,
    /// The window, without the zeros that centre it in the FFT.
    pub(crate) window: Vec<f32>,
    /// The number of zeros before the window in the FFT.
    pub(crate) left: usize,
}

impl Framing {
    pub(crate) fn new(spec: &MelSpec) -> Self {
        let length = spec.win_length.0;
        Self {
            n_fft: spec.n_fft.0,
            hop: spec.hop.0,
            window: window(spec.window, length),
            left: (spec.n_fft.0 - length) / 2,
        }
    }

    /// Windows frames `first` and `first + 1` of `samples` into the real and
    /// imaginary parts of `packed`. Frames from `frames` on are silent.
    ///
    /// `samples` must be longer than half an FFT, so that one reflection at
    /// each end covers every frame. `edges` is scratch of two window lengths.
    pub(crate) fn pack(
        &self,
        samples: &[f32],
        frames: usize,
        first: usize,
        edges: &mut [f32],
        packed: &mut [Complex<f32>],
    ) {
        let win = self.window.len();
        let (edge_a, edge_b) = edges.split_at_mut(win);
        let a = self.frame(samples, frames, first, edge_a);
        let b = self.frame(samples, frames, first + 1, edge_b);
        let zero = Complex::new(0.0, 0.0);
        packed[..self.left].fill(zero);
        packed[self.left + win..].fill(zero);
        let middle = &mut packed[self.left..self.left + win];
        for (((z, &a), &b), &w) in middle.iter_mut().zip(a).zip(b).zip(&self.window) {
            *z = Complex::new(a * w, b * w);
        }
    }

    /// Returns the samples under the window of one frame: a slice of the
    /// waveform, or, where the frame hangs over an end, a reflected copy in `edge`.
    fn frame<'a>(
        &self,
        samples: &'a [f32],
        frames: usize,
        frame: usize,
        edge: &'a mut [f32],
    ) -> &'a [f32] {
        let half = self.n_fft / 2;
        let win = self.window.len();
        if frame >= frames {
            edge.fill(0.0);
            return edge;
        }
        // The position plus `half`, which is never negative.
        let shifted = frame * self.hop + self.left;
        if shifted >= half
            && let Some(inside) = samples.get(shifted - half..shifted - half + win)
        {
            return inside;
        }
        let last = samples.len().saturating_sub(1);
        for (offset, value) in edge.iter_mut().enumerate() {
            let at = (shifted + offset).abs_diff(half);
            let at = if shifted + offset >= half && at > last {
                (2 * last).saturating_sub(at)
            } else {
                at
            };
            *value = samples.get(at).copied().unwrap_or_default();
        }
        edge
    }
}

/// Returns a periodic window: one period of a cosine over `length` samples.
fn window(kind: Window, length: usize) -> Vec<f32> {
    let (mean, swing) = match kind {
        Window::Hann => (0.5, 0.5),
        Window::Hamming => (0.54, 0.46),
    };
    (0..length)
        .map(|n| {
            let turn = std::f64::consts::TAU * n as f64 / length as f64;
            cast::to_f32(mean - swing * turn.cos())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Samples;

    #[test]
    fn edges_are_reflected_without_repeating_the_end() {
        let spec = MelSpec {
            n_fft: Samples(8),
            win_length: Samples(8),
            hop: Samples(2),
            ..MelSpec::DVAE
        };
        let framing = Framing::new(&spec);
        let samples: Vec<f32> = (0_u8..6).map(f32::from).collect();
        let frame = |n| framing.frame(&samples, 4, n, &mut [0.0; 8]).to_vec();
        assert_eq!(frame(0), [4.0, 3.0, 2.0, 1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(frame(1), [2.0, 1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(frame(2), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 4.0, 3.0]);
        assert_eq!(frame(3), [2.0, 3.0, 4.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
        assert_eq!(frame(4), [0.0; 8]);
    }
}
