//! How times of one kind are spread: mean, deviation and percentiles.

use myxtts_doctor::stats;
use serde::Serialize;

/// The spread of times of one kind, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The number of times.
    pub count: usize,
    /// The mean of the times.
    pub mean_s: f64,
    /// Their standard deviation, over all of them.
    pub std_s: f64,
    /// Half of the times are at most this.
    pub p50_s: f64,
    /// 95 of a hundred times are at most this.
    pub p95_s: f64,
    /// 99 of a hundred times are at most this.
    pub p99_s: f64,
}

impl Spread {
    /// Computes the spread of times in any order; all zero for no times.
    pub fn of(seconds: &[f64]) -> Self {
        let percentile = |share: f64| stats::percentile(seconds, share).unwrap_or(0.0);
        Self {
            count: seconds.len(),
            mean_s: stats::mean(seconds).unwrap_or(0.0),
            std_s: stats::deviation(seconds).unwrap_or(0.0),
            p50_s: percentile(0.50),
            p95_s: percentile(0.95),
            p99_s: percentile(0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_and_one_numbers_the_percentiles_are_themselves() {
        let numbers: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        let spread = Spread::of(&numbers);
        let found = [spread.p50_s, spread.p95_s, spread.p99_s];
        for (found, want) in found.into_iter().zip([50.0, 95.0, 99.0]) {
            assert!((found - want).abs() < 1e-9, "{found}");
        }
        assert_eq!((spread.count, spread.mean_s), (101, 50.0));
        // (n^2 - 1) / 12 for n equal steps.
        assert!((spread.std_s - 850.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn few_or_none_are_handled() {
        assert_eq!(Spread::of(&[]), Spread::default());
        assert_eq!(Spread::of(&[7.0]).p99_s, 7.0);
    }
}
