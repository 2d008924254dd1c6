//! Power spectra of the frames of waveforms.

use burn::signal::rfft;
use burn::tensor::ops::PadMode;
use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::MelSpec;

use super::beside;

/// How spectra are computed from frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// With the engine's FFT, for powers of two.
    Fft,
    /// With two products by matrices of smaller Fourier transforms.
    Matrix,
}

impl Transform {
    /// Chooses the transform of a front end: every backend we build has the FFT, but it takes
    /// powers of two only.
    pub fn of(spec: &MelSpec) -> Self {
        if spec.n_fft.0.is_power_of_two() {
            Self::Fft
        } else {
            Self::Matrix
        }
    }
}

/// The window, and matrices if it uses products.
#[derive(Clone, Debug)]
pub(super) struct PowerSpectrum {
    n_fft: usize,
    hop: usize,
    window_1n: Tensor<2>,
    products: Option<Products>,
}

impl PowerSpectrum {
    pub(super) fn new(transform: Transform, spec: &MelSpec, device: &Device) -> Self {
        let n_fft = spec.n_fft.0;
        let window = TensorData::new(spec.padded_window(), [1, n_fft]);
        Self {
            n_fft,
            hop: spec.hop.0,
            window_1n: Tensor::from_data(window, device),
            products: match transform {
                Transform::Fft => None,
                Transform::Matrix => Some(Products::new(n_fft, device)),
            },
        }
    }

    /// Returns `(batch * frames, bins)` of `(batch, samples)`: frames centred on multiples of the
    /// hop, with reflected edges.
    pub(super) fn forward(&self, wave_bt: Tensor<2>) -> Tensor<2> {
        let half = self.n_fft / 2;
        let padded_bt = wave_bt.pad([(half, half)], PadMode::Reflect);
        let frames_bfn: Tensor<3> = padded_bt.unfold(1, self.n_fft, self.hop);
        let [batch, frames, _] = frames_bfn.dims();
        let frames_fn = frames_bfn.reshape([batch * frames, self.n_fft]);
        let window_1n = beside(&self.window_1n, &frames_fn);
        let frames_fn = frames_fn * window_1n;
        match &self.products {
            Some(products) => products.power(frames_fn),
            None => {
                let (re_fk, im_fk) = rfft(frames_fn, 1, None);
                re_fk.square() + im_fk.square()
            }
        }
    }
}

/// A Fourier transform of length `p * q` as one of length `p`, a rotation of every number, and
/// one of length `q`, after Cooley and Tukey.
///
/// One product with the whole matrix would do. But it adds `p * q` numbers, and in a quiet bin
/// beside loud ones nearly all of them cancel, so that the rounding errors of single precision
/// show in the logarithm: up to 3e-4, where an FFT has 4e-5. Sums of `p` and of `2 q` numbers are
/// as accurate as an FFT, and are an eighth of the work.
#[derive(Clone, Debug)]
struct Products {
    p: usize,
    q: usize,
    bins: usize,
    /// Cosines, then sines, `(p, 2 p)`.
    first_pk: Tensor<2>,
    /// Cosines and sines of the rotations, `(1, q, p)`.
    turns_1qp: [Tensor<3>; 2],
    /// From real then imaginary parts to real then imaginary parts of the bins that are wanted,
    /// `(2 q, 2 rows)`.
    second_qk: Tensor<2>,
}

impl Products {
    fn new(n_fft: usize, device: &Device) -> Self {
        let divides = |p: &usize| n_fft.is_multiple_of(*p) && p * p <= n_fft;
        let p = (1..=n_fft).filter(divides).max().unwrap_or(1);
        let q = n_fft / p;
        let bins = n_fft / 2 + 1;
        let rows = bins.div_ceil(p);
        let matrix = |height: usize, width: usize, value: &dyn Fn(usize, usize) -> f64| {
            let cells = (0..height * width).map(|cell| single(value(cell / width, cell % width)));
            TensorData::new(cells.collect::<Vec<f32>>(), [height, width])
        };
        let first = matrix(p, 2 * p, &|a, k| match k < p {
            true => turn(a * k, p).0,
            false => turn(a * (k - p), p).1,
        });
        let second = matrix(2 * q, 2 * rows, &|b, k| {
            let (cosine, sine) = turn((b % q) * (k % rows), q);
            match (b < q, k < rows) {
                (true, true) | (false, false) => cosine,
                (true, false) => sine,
                (false, true) => -sine,
            }
        });
        let turns = [0, 1].map(|part| {
            let value = |b: usize, k: usize| match part {
                0 => turn(b * k, n_fft).0,
                _ => turn(b * k, n_fft).1,
            };
            Tensor::<2>::from_data(matrix(q, p, &value), device).unsqueeze()
        });
        Self {
            p,
            q,
            bins,
            first_pk: Tensor::from_data(first, device),
            turns_1qp: turns,
            second_qk: Tensor::from_data(second, device),
        }
    }

    /// Returns `(frames, bins)` of windowed frames `(frames, p * q)`.
    fn power(&self, frames_fn: Tensor<2>) -> Tensor<2> {
        let (p, q) = (self.p, self.q);
        let [frames, _] = frames_fn.dims();
        // Sample `q a + b` of a frame is in row `b`, column `a`.
        let samples_fqp: Tensor<3> = frames_fn.reshape([frames, p, q]).swap_dims(1, 2);
        let rows_np = samples_fqp.reshape([frames * q, p]);
        let first_pk = beside(&self.first_pk, &rows_np);
        let both_fqk: Tensor<3> = rows_np.matmul(first_pk).reshape([frames, q, 2 * p]);
        let re_fqp = both_fqk.clone().narrow(2, 0, p);
        let im_fqp = both_fqk.narrow(2, p, p);
        let [cos_1qp, sin_1qp] = self
            .turns_1qp
            .each_ref()
            .map(|turns| beside(turns, &re_fqp));
        let turned = [
            re_fqp.clone() * cos_1qp.clone() - im_fqp.clone() * sin_1qp.clone(),
            re_fqp * sin_1qp + im_fqp * cos_1qp,
        ];
        let turned_fpq = turned.map(|part_fqp| part_fqp.swap_dims(1, 2)).to_vec();
        let rows_nq = Tensor::cat(turned_fpq, 2).reshape([frames * p, 2 * q]);
        let second_qk = beside(&self.second_qk, &rows_nq);
        let both_nk = rows_nq.matmul(second_qk);
        let rows = both_nk.dims()[1] / 2;
        let re_nk = both_nk.clone().narrow(1, 0, rows);
        let im_nk = both_nk.narrow(1, rows, rows);
        let power_nk = re_nk.square() + im_nk.square();
        // Bin `k + p r` is in row `k`, column `r`.
        let power_frp: Tensor<3> = power_nk.reshape([frames, p, rows]).swap_dims(1, 2);
        power_frp
            .reshape([frames, rows * p])
            .narrow(1, 0, self.bins)
    }
}

/// Returns cosine and sine of the transform's angle at `step` of `steps`.
fn turn(step: usize, steps: usize) -> (f64, f64) {
    // Reduced before it is a float, so that large products stay exact.
    let angle = -std::f64::consts::TAU * (step % steps) as f64 / steps as f64;
    (angle.cos(), angle.sin())
}

#[expect(clippy::cast_possible_truncation, reason = "tensors are f32")]
fn single(value: f64) -> f32 {
    value as f32
}
