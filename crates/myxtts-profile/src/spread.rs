//! How a time is spread: its mean, its deviation, and what most are below.

use serde::Serialize;

/// Times of one kind, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// How many.
    pub count: usize,
    /// Their mean.
    pub mean_s: f64,
    /// Their standard deviation, over all of them.
    pub std_s: f64,
    /// Half are at most this.
    pub p50_s: f64,
    /// 95 of a hundred are at most this.
    pub p95_s: f64,
    /// 99 of a hundred are at most this.
    pub p99_s: f64,
}

impl Spread {
    /// Of these times, in any order.
    pub fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let count = seconds.len();
        if count == 0 {
            return Self::default();
        }
        let mean = seconds.iter().sum::<f64>() / count as f64;
        let squares: f64 = seconds.iter().map(|time| (time - mean).powi(2)).sum();
        Self {
            count,
            mean_s: mean,
            std_s: (squares / count as f64).sqrt(),
            p50_s: percentile(&seconds, 50.0),
            p95_s: percentile(&seconds, 95.0),
            p99_s: percentile(&seconds, 99.0),
        }
    }
}

/// What `percent` of the sorted values are at most, between two of them
/// by their distance, as numpy has it.
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let place = percent / 100.0 * (sorted.len().saturating_sub(1)) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the length"
    )]
    let below = place.floor() as usize;
    let value = |index: usize| sorted.get(index).or(sorted.last()).copied().unwrap_or(0.0);
    let (low, high) = (value(below), value(below + 1));
    low + (high - low) * (place - place.floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_and_one_numbers_the_percentiles_are_themselves() {
        let spread = Spread::of((0..=100).rev().map(f64::from).collect());
        assert_eq!(
            (spread.p50_s, spread.p95_s, spread.p99_s),
            (50.0, 95.0, 99.0)
        );
        assert_eq!(spread.mean_s, 50.0);
        // (n^2 - 1) / 12 for n equal steps.
        assert!((spread.std_s - 850.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn between_two_numbers_a_percentile_is_between_them() {
        let spread = Spread::of(vec![1.0, 3.0]);
        assert_eq!((spread.p50_s, spread.p95_s), (2.0, 2.9));
    }

    #[test]
    fn few_or_none_are_no_trouble() {
        assert_eq!(Spread::of(vec![]), Spread::default());
        assert_eq!(Spread::of(vec![7.0]).p99_s, 7.0);
    }
}
