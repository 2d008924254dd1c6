//! Triangles on the HTK mel scale, stored sparsely.

use super::spec::MelSpec;
use crate::cast;

/// One band: consecutive FFT bins and their weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    /// The index of the first bin.
    pub(crate) start: usize,
    /// The weights of the bins from `start` on, without zeros at the ends.
    pub(crate) weights: Vec<f32>,
}

/// All bands of a front end.
///
/// A triangle covers only a few of the hundreds of bins, so only those are kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FilterBank {
    pub(crate) bands: Vec<Band>,
}

impl FilterBank {
    /// Makes triangles over `linspace(mel(f_min), mel(f_max), bands + 2)`, as
    /// torchaudio does; the bin frequencies end at `rate // 2`.
    pub(crate) fn new(spec: &MelSpec) -> Self {
        let bins = spec.n_fft.0 / 2 + 1;
        let nyquist = f64::from(spec.sample_rate.hz() / 2);
        let bin_hz = nyquist / (bins - 1) as f64;
        let (low, high) = (mel(spec.f_min), mel(spec.f_max));
        let edge = |i: usize| hertz(low + (high - low) * i as f64 / (spec.bands + 1) as f64);
        let bands = (0..spec.bands).map(|band| {
            let (left, centre, right) = (edge(band), edge(band + 1), edge(band + 2));
            let height = if spec.area_norm {
                2.0 / (right - left)
            } else {
                1.0
            };
            let weight = |bin: usize| {
                let f = bin as f64 * bin_hz;
                height
                    * ((f - left) / (centre - left))
                        .min((right - f) / (right - centre))
                        .max(0.0)
            };
            let mut inside = (0..bins).skip_while(|&bin| weight(bin) == 0.0).peekable();
            let start = inside.peek().copied().unwrap_or_default();
            let weights = inside
                .map(weight)
                .take_while(|&w| w > 0.0)
                .map(cast::to_f32)
                .collect();
            Band { start, weights }
        });
        Self {
            bands: bands.collect(),
        }
    }

    /// Returns how many bins, from zero, carry any weight.
    pub(crate) fn bins(&self) -> usize {
        self.bands
            .iter()
            .map(|band| band.start + band.weights.len())
            .max()
            .unwrap_or_default()
    }
}

fn mel(hz: f64) -> f64 {
    2595.0 * (1.0 + hz / 700.0).log10()
}

fn hertz(mel: f64) -> f64 {
    700.0 * (10.0_f64.powf(mel / 2595.0) - 1.0)
}
