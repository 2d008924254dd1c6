//! Finding the power spectrum behind band powers.
//!
//! Hundreds of bins come from eighty bands: there are many answers, and the
//! wanted one is non-negative and smooth. Multiplicative updates of the
//! generalised Kullback-Leibler divergence (Lee and Seung) keep it non-negative
//! by construction, start from a smooth guess and move it no further than needed;
//! and that divergence weighs a quiet band like a loud one, as the logarithm of a
//! mel does. A plain pseudo-inverse would give negative power.

use crate::mel::{FilterBank, MelSpec};

/// Updates per frame. Four times as many change the mel of the final audio by
/// less than a tenth of what is left to change.
const UPDATES: usize = 50;
/// A number that keeps ratios finite where a band is silent.
const TINY: f32 = 1e-12;

/// The inverse of one filter bank.
#[derive(Debug)]
pub(super) struct Unmixer {
    bank: FilterBank,
    bins: usize,
    /// The sum of the weights of each bin over all bands.
    shares: Vec<f32>,
}

impl Unmixer {
    pub(super) fn new(spec: &MelSpec) -> Self {
        let bank = FilterBank::new(spec);
        let bins = spec.n_fft.0 / 2 + 1;
        let mut shares = vec![0.0; bins];
        let ones = vec![1.0; bank.bands.len()];
        spread(&bank, &ones, &mut shares);
        Self { bank, bins, shares }
    }

    /// Finds a spectrum of `n_fft / 2 + 1` powers whose bands are near `bands`.
    /// Bins outside of every band are silent.
    pub(super) fn power(&self, bands: &[f32]) -> Vec<f32> {
        let mut power = vec![0.0; self.bins];
        // The first guess is each band's own level, flat over its triangle.
        let levels: Vec<f32> = self
            .bank
            .bands
            .iter()
            .zip(bands)
            .map(|(band, &value)| value / (band.weights.iter().sum::<f32>() + TINY))
            .collect();
        spread(&self.bank, &levels, &mut power);
        for (power, share) in power.iter_mut().zip(&self.shares) {
            *power /= share + TINY;
        }
        let mut ratios = vec![0.0; bands.len()];
        let mut factors = vec![0.0; self.bins];
        for _ in 0..UPDATES {
            for ((ratio, band), &wanted) in ratios.iter_mut().zip(&self.bank.bands).zip(bands) {
                let bins = &power[band.start..band.start + band.weights.len()];
                let now: f32 = bins.iter().zip(&band.weights).map(|(p, w)| p * w).sum();
                *ratio = wanted / (now + TINY);
            }
            spread(&self.bank, &ratios, &mut factors);
            for ((power, factor), share) in power.iter_mut().zip(&factors).zip(&self.shares) {
                *power *= factor / (share + TINY);
            }
        }
        power
    }
}

/// Applies the transpose of the bank: spreads band values over their bins.
fn spread(bank: &FilterBank, values: &[f32], bins: &mut [f32]) {
    bins.fill(0.0);
    for (band, &value) in bank.bands.iter().zip(values) {
        let bins = &mut bins[band.start..band.start + band.weights.len()];
        for (bin, weight) in bins.iter_mut().zip(&band.weights) {
            *bin += weight * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bands_of_the_answer_are_the_bands_asked_for() {
        let unmixer = Unmixer::new(&MelSpec::DVAE);
        // Harmonics as wide as a window makes them, falling with frequency.
        let truth: Vec<f32> = (0..unmixer.bins)
            .map(|bin| {
                let tilt = (-(bin as f32) / 60.0).exp();
                tilt * (0.01 + (bin as f32 * std::f32::consts::PI / 11.0).cos().powi(8))
            })
            .collect();
        let bands_of = |power: &[f32]| -> Vec<f32> {
            let sum = |band: &crate::mel::Band| -> f32 {
                power[band.start..]
                    .iter()
                    .zip(&band.weights)
                    .map(|(p, w)| p * w)
                    .sum()
            };
            unmixer.bank.bands.iter().map(sum).collect()
        };
        let wanted = bands_of(&truth);
        let power = unmixer.power(&wanted);
        assert!(power.iter().all(|p| p.is_finite() && *p >= 0.0));
        for (band, (got, wanted)) in bands_of(&power).iter().zip(&wanted).enumerate() {
            let error = (got / wanted).ln().abs();
            assert!(error < 0.05, "band {band}: {got} for {wanted}");
        }
    }

    #[test]
    fn silence_stays_silent() {
        let unmixer = Unmixer::new(&MelSpec::DVAE);
        assert!(unmixer.power(&[0.0; 80]).iter().all(|&p| p == 0.0));
    }
}
