//! A distribution in buckets of equal width.

/// Number of buckets: as many as TensorBoard shows without resampling.
const BUCKETS: usize = 30;

/// How a set of numbers is distributed.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) sum: f64,
    pub(super) sum_of_squares: f64,
    /// The upper end of each bucket.
    pub(super) limits: Vec<f64>,
    pub(super) counts: Vec<f64>,
}

impl Histogram {
    /// Makes the distribution of the finite numbers in `values`; `None` when
    /// there are none.
    pub fn of(values: &[f32]) -> Option<Self> {
        let finite = || {
            values
                .iter()
                .filter(|value| value.is_finite())
                .map(|v| f64::from(*v))
        };
        let min = finite().reduce(f64::min)?;
        let max = finite().reduce(f64::max)?;
        // Equal values still need a bucket with a width.
        let width = if max > min {
            (max - min) / BUCKETS as f64
        } else {
            1.0
        };
        let mut counts = vec![0.0; if max > min { BUCKETS } else { 1 }];
        let last = counts.len() - 1;
        for value in finite() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not negative, and bounded by `last`"
            )]
            let bucket = (((value - min) / width) as usize).min(last);
            if let Some(count) = counts.get_mut(bucket) {
                *count += 1.0;
            }
        }
        let limits = (1..=counts.len())
            .map(|bucket| min + width * bucket as f64)
            .collect();
        Some(Self {
            min,
            max,
            sum: finite().sum(),
            sum_of_squares: finite().map(|value| value * value).sum(),
            limits,
            counts,
        })
    }

    pub(super) fn count(&self) -> f64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Histogram;

    proptest! {
        #[test]
        fn every_finite_value_is_in_its_bucket(values: Vec<f32>) {
            let finite = values.iter().filter(|v| v.is_finite()).count();
            let Some(h) = Histogram::of(&values) else {
                prop_assert_eq!(finite, 0);
                return Ok(());
            };
            prop_assert_eq!(h.count(), finite as f64);
            prop_assert!(h.limits.is_sorted());
            prop_assert_eq!(h.limits.len(), h.counts.len());
        }
    }

    #[test]
    fn known_counts() {
        let rising: Vec<f32> = (0..60).map(|v| v as f32).collect();
        let h = Histogram::of(&rising).unwrap();
        assert_eq!(h.counts, vec![2.0; 30]);
        assert_eq!((h.min, h.max, h.sum), (0.0, 59.0, 1770.0));
        let same = Histogram::of(&[3.0, 3.0, f32::NAN]).unwrap();
        assert_eq!((same.limits, same.counts), (vec![4.0], vec![2.0]));
    }
}
