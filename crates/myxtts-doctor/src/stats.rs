//! Statistics of step times.

/// Returns the mean; `None` for no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the median; the mean of the two in the middle where there are two.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(values, 0.5)
}

/// Returns the value below which `share` of the values lie, between neighbours in
/// proportion.
pub fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    let part = place - below as f64;
    Some(sorted[below] * (1.0 - part) + sorted[above] * part)
}

/// Returns the standard deviation over all values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    Some((squares.sum::<f64>() / values.len() as f64).sqrt())
}

/// Returns the standard deviation over the mean; `None` unless the mean is positive.
pub fn variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean > 0.0)?;
    Some(deviation(values)? / mean)
}

/// Returns the median distance from the median.
pub fn mad(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&distances)
}

/// Returns the modified z-score: how far `value` lies from `middle`, in standard
/// deviations of a normal distribution with this `mad`.
pub fn modified_z(value: f64, middle: f64, mad: f64) -> f64 {
    0.6745 * (value - middle) / mad.max(f64::MIN_POSITIVE)
}

/// Returns how alike the series is to itself `lag` later, from -1 to 1.
fn autocorrelation(values: &[f64], lag: usize) -> Option<f64> {
    let mean = mean(values)?;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if total <= 0.0 || lag >= values.len() {
        return None;
    }
    let pairs = values.iter().zip(&values[lag..]);
    let shared: f64 = pairs.map(|(now, then)| (now - mean) * (then - mean)).sum();
    // The lagged sum has fewer terms than the total.
    let scale = values.len() as f64 / (values.len() - lag) as f64;
    Some(scale * shared / total)
}

/// Returns the lag from `lags` at which the series is most like itself and more so
/// than beside it, with the autocorrelation there: a slow drift is alike at every lag
/// and has no period.
pub fn period(values: &[f64], lags: std::ops::RangeInclusive<usize>) -> Option<(usize, f64)> {
    let at = |lag: usize| autocorrelation(values, lag);
    let peaks = lags.filter_map(|lag| {
        let here = at(lag)?;
        let is_peak = here > at(lag.checked_sub(1)?)? && here >= at(lag + 1).unwrap_or(-1.0);
        is_peak.then_some((lag, here))
    });
    let best = peaks.max_by(|(_, left), (_, right)| left.total_cmp(right))?;
    Some(best)
}

/// Returns the values without what `work` explains along a straight line, with
/// their mean kept; unchanged where work does not vary.
pub fn without_work(values: &[f64], work: &[f64]) -> Vec<f64> {
    let (Some(middle), Some(mean_work)) = (mean(values), mean(work)) else {
        return values.to_vec();
    };
    if values.len() != work.len() {
        return values.to_vec();
    }
    let spread: f64 = work.iter().map(|work| (work - mean_work).powi(2)).sum();
    if spread <= 0.0 {
        return values.to_vec();
    }
    let shared: f64 = values
        .iter()
        .zip(work)
        .map(|(value, work)| (value - middle) * (work - mean_work))
        .sum();
    // More work never takes less time: a negative slope is chance.
    let slope = (shared / spread).max(0.0);
    values
        .iter()
        .zip(work)
        .map(|(value, work)| value - slope * (work - mean_work))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn by_hand() {
        let values = [1.0, 2.0, 3.0, 4.0, 100.0];
        assert_eq!(median(&values), Some(3.0));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
        assert_eq!(percentile(&values, 1.0), Some(100.0));
        assert_eq!(mad(&values), Some(1.0));
        assert!((modified_z(100.0, 3.0, 1.0) - 65.4265).abs() < 1e-9);
        assert_eq!(median(&[]), None);
        assert_eq!(variation(&[0.0, 0.0]), None);
    }

    #[test]
    fn a_pause_every_seventh_step_has_period_seven() {
        let steps: Vec<f64> = (0..210)
            .map(|step| if step % 7 == 0 { 3.0 } else { 1.0 })
            .collect();
        let (lag, strength) = period(&steps, 2..=19).unwrap();
        assert_eq!(lag % 7, 0);
        assert!(strength > 0.9, "{strength}");
    }

    #[test]
    fn a_drift_has_no_period() {
        let steps: Vec<f64> = (0..200).map(|step| f64::from(step) * 0.01).collect();
        assert_eq!(period(&steps, 2..=19), None);
    }

    #[test]
    fn longer_clips_are_no_oscillation() {
        let work: Vec<f64> = (0..100).map(|step| f64::from(step % 5)).collect();
        let steps: Vec<f64> = work.iter().map(|work| 0.1 + 0.05 * work).collect();
        let even = without_work(&steps, &work);
        assert!(variation(&even).unwrap() < 1e-9);
        assert!((mean(&even).unwrap() - mean(&steps).unwrap()).abs() < 1e-12);
    }

    proptest! {
        /// Against the definition, value by value.
        #[test]
        fn percentile_is_between_neighbours(mut values in prop::collection::vec(-1e3..1e3_f64, 1..40), share in 0.0..=1.0_f64) {
            let found = percentile(&values, share).unwrap();
            values.sort_by(f64::total_cmp);
            let below = values.iter().filter(|value| **value < found - 1e-9).count();
            let above = values.iter().filter(|value| **value > found + 1e-9).count();
            let last = (values.len() - 1) as f64;
            prop_assert!(below as f64 <= share * last + 1.0);
            prop_assert!(above as f64 <= (1.0 - share) * last + 1.0);
        }
    }
}
