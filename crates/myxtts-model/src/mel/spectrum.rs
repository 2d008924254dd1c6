//! Power spectra of the frames of waveforms.

use burn::signal::rfft;
use burn::tensor::ops::PadMode;
use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::MelSpec;

use super::beside;

/// The way from frames to spectra.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// The engine's FFT, for powers of two.
    Fft,
    /// A product with the matrix of the discrete Fourier transform.
    Matrix,
}

impl Transform {
    /// The way a front end goes: every backend we build has the FFT, and it
    /// takes powers of two only.
    pub fn of(spec: &MelSpec) -> Self {
        if spec.n_fft.0.is_power_of_two() {
            Self::Fft
        } else {
            Self::Matrix
        }
    }
}

/// Window, and matrix where it goes that way.
#[derive(Clone, Debug)]
pub(super) struct PowerSpectrum {
    n_fft: usize,
    hop: usize,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Fft {
        window_1n: Tensor<2>,
    },
    /// Windowed cosines, then windowed sines, `(n_fft, 2 bins)`.
    Matrix {
        waves_nk: Tensor<2>,
    },
}

impl PowerSpectrum {
    pub(super) fn new(transform: Transform, spec: &MelSpec, device: &Device) -> Self {
        let n_fft = spec.n_fft.0;
        let window = spec.padded_window();
        let way = match transform {
            Transform::Fft => Way::Fft {
                window_1n: Tensor::from_data(TensorData::new(window, [1, n_fft]), device),
            },
            Transform::Matrix => {
                let waves = TensorData::new(windowed_waves(&window), [n_fft, n_fft + 2]);
                Way::Matrix {
                    waves_nk: Tensor::from_data(waves, device),
                }
            }
        };
        Self {
            n_fft,
            hop: spec.hop.0,
            way,
        }
    }

    /// `(batch * frames, bins)` of `(batch, samples)`: frames centred on
    /// multiples of the hop, edges reflected.
    pub(super) fn forward(&self, wave_bt: Tensor<2>) -> Tensor<2> {
        let half = self.n_fft / 2;
        let padded_bt = wave_bt.pad([(half, half)], PadMode::Reflect);
        let frames_bfn: Tensor<3> = padded_bt.unfold(1, self.n_fft, self.hop);
        let [batch, frames, _] = frames_bfn.dims();
        let frames_fn = frames_bfn.reshape([batch * frames, self.n_fft]);
        let (re_fk, im_fk) = match &self.way {
            Way::Fft { window_1n } => {
                let window_1n = beside(window_1n, &frames_fn);
                rfft(frames_fn * window_1n, 1, None)
            }
            Way::Matrix { waves_nk } => {
                let waves_nk = beside(waves_nk, &frames_fn);
                let both_fk = frames_fn.matmul(waves_nk);
                let bins = half + 1;
                (
                    both_fk.clone().narrow(1, 0, bins),
                    both_fk.narrow(1, bins, bins),
                )
            }
        };
        re_fk.square() + im_fk.square()
    }
}

/// One row per sample of a frame: its cosines, then its sines, times the window.
#[expect(clippy::cast_possible_truncation, reason = "tensors are f32")]
fn windowed_waves(window: &[f32]) -> Vec<f32> {
    let n_fft = window.len();
    let bins = n_fft / 2 + 1;
    let mut waves = Vec::with_capacity(n_fft * 2 * bins);
    for (sample, &weight) in window.iter().enumerate() {
        let turn = |bin: usize| {
            // Reduced before it is a float, so that large products stay exact.
            std::f64::consts::TAU * (sample * bin % n_fft) as f64 / n_fft as f64
        };
        let weight = f64::from(weight);
        waves.extend((0..bins).map(|bin| (weight * turn(bin).cos()) as f32));
        waves.extend((0..bins).map(|bin| (weight * turn(bin).sin()) as f32));
    }
    waves
}
