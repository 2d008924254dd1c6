//! Numbers over time, as many as can be shown.

use std::collections::VecDeque;

/// The most numbers that are kept: more than the widest terminal has columns, so
/// that a picture of all of them shows what happened and not only what happens.
const MOST: usize = 2048;

/// The last numbers of something, in order. NaN stands for a gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Series {
    points: VecDeque<(u64, f64)>,
}

/// What stands for several numbers in one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Squeeze {
    /// The mean, for a trend.
    Mean,
    /// The largest, which must not be overlooked.
    Max,
}

impl Series {
    /// Appends the number at `at`. Numbers at or after it are replaced, as a resumed
    /// run replaces the steps it takes again.
    pub(crate) fn push(&mut self, at: u64, value: f64) {
        while self.points.back().is_some_and(|(last, _)| *last >= at) {
            self.points.pop_back();
        }
        if self.points.len() == MOST {
            self.points.pop_front();
        }
        self.points.push_back((at, value));
    }

    /// Returns positions and numbers, in order.
    pub(crate) fn points(&self) -> impl DoubleEndedIterator<Item = (u64, f64)> + '_ {
        self.points.iter().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    /// Returns the last number, if there is one.
    pub(crate) fn last(&self) -> Option<f64> {
        self.points.back().map(|(_, value)| *value)
    }

    /// Returns the last `count` numbers in order, gaps left out.
    pub(crate) fn recent(&self, count: usize) -> Vec<f64> {
        let first = self.points.len().saturating_sub(count);
        let recent = self.points.range(first..).map(|(_, value)| *value);
        recent.filter(|value| value.is_finite()).collect()
    }

    /// Squeezes everything into at most `columns` numbers, each standing for equally many.
    pub(crate) fn columns(&self, columns: usize, squeeze: Squeeze) -> Vec<f64> {
        if columns == 0 || self.points.is_empty() {
            return Vec::new();
        }
        let columns = columns.min(self.points.len());
        let edge = |column: usize| column * self.points.len() / columns;
        let column = |column: usize| {
            let part = self.points.range(edge(column)..edge(column + 1));
            let known = part.map(|(_, value)| *value).filter(|v| v.is_finite());
            let (mut count, mut sum, mut most) = (0_u32, 0.0, f64::NEG_INFINITY);
            for value in known {
                count += 1;
                sum += value;
                most = most.max(value);
            }
            match (count, squeeze) {
                (0, _) => f64::NAN,
                (_, Squeeze::Mean) => sum / f64::from(count),
                (_, Squeeze::Max) => most,
            }
        };
        (0..columns).map(column).collect()
    }
}

/// Returns the mean; `None` for no values.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the value that `percent` of all values are at most.
pub(crate) fn percentile(values: &[f64], percent: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last * percent).div_ceil(100)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Series {
        let mut series = Series::default();
        for (at, value) in (0..).zip(values) {
            series.push(at, *value);
        }
        series
    }

    #[test]
    fn a_step_that_is_taken_again_replaces_all_after_it() {
        let mut series = of(&[1.0, 2.0, 3.0, 4.0]);
        series.push(1, 9.0);
        assert_eq!(series.points().collect::<Vec<_>>(), [(0, 1.0), (1, 9.0)]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut series = Series::default();
        for at in 0..10_000 {
            series.push(at, 1.0);
        }
        assert_eq!(
            (series.len(), series.points().next()),
            (MOST, Some((7952, 1.0)))
        );
    }

    #[test]
    fn columns_stand_for_equally_many() {
        let series = of(&[1.0, 3.0, 5.0, f64::NAN, 2.0, 8.0]);
        assert_eq!(series.columns(3, Squeeze::Mean), [2.0, 5.0, 5.0]);
        assert_eq!(series.columns(3, Squeeze::Max), [3.0, 5.0, 8.0]);
        assert_eq!(series.columns(99, Squeeze::Max).len(), 6);
        assert!(series.columns(0, Squeeze::Max).is_empty());
        assert_eq!(series.recent(3), [2.0, 8.0]);
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&values, 50), Some(51.0));
        assert_eq!(percentile(&values, 95), Some(96.0));
        assert_eq!(percentile(&values, 100), Some(100.0));
        assert_eq!(percentile(&[7.0], 95), Some(7.0));
        assert_eq!((percentile(&[], 95), mean(&[])), (None, None));
    }
}
