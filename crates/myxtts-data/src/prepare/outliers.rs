//! Clips whose text does not fit their length.
//!
//! Measured in characters per second on a logarithmic scale, since speaking
//! twice as fast is as unusual as half as fast. The median and the median
//! absolute deviation do not move when some texts are wrong, as a mean would.

/// The fewest clips that have a usual rate.
const FEWEST: usize = 20;
/// A scaled deviation beyond which a text is noted. 3.5 is the textbook's; real
/// speech has heavier tails than a normal distribution, and at 5 what is left
/// is nearly always a wrong text.
const BEYOND: f32 = 5.0;
/// Scales the median absolute deviation to a standard deviation.
const SCALE: f32 = 1.4826;
/// The least spread assumed, about 15 %, so that nothing within half and twice the
/// usual rate is ever noted: in a very even dataset that does not mean a wrong
/// text.
const LEAST_SPREAD: f32 = 0.15;

/// Returns the logarithm of the characters per second, as the statistics see them.
/// Without a character or a second there is no such number, and no such clip gets
/// here.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a statistic; f32 keeps it small"
)]
pub(super) fn rate(characters: usize, seconds: f64) -> f32 {
    (characters as f64 / seconds).ln() as f32
}

/// The usual rate and its spread, on a logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Usual {
    median: f32,
    spread: f32,
}

impl Usual {
    /// Finds what is usual among all rates; `None` where there are too few.
    pub(super) fn of(rates: &[f32]) -> Option<Self> {
        if rates.len() < FEWEST {
            return None;
        }
        let mut values = rates.to_vec();
        let median = middle(&mut values)?;
        values.iter_mut().for_each(|x| *x = (*x - median).abs());
        let spread = (SCALE * middle(&mut values)?).max(LEAST_SPREAD);
        Some(Self { median, spread })
    }

    pub(super) fn is_outlier(&self, rate: f32) -> bool {
        (rate - self.median).abs() > BEYOND * self.spread
    }

    /// Returns the usual rate in characters per second.
    pub(super) fn characters_per_second(&self) -> f32 {
        self.median.exp()
    }
}

fn middle(values: &mut [f32]) -> Option<f32> {
    let at = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let (_, middle, _) = values.select_nth_unstable_by(at, f32::total_cmp);
    Some(*middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_texts_stand_out_and_do_not_move_what_is_usual() {
        let mut rates: Vec<f32> = (0..100).map(|n| rate(35 + n % 15, 3.0)).collect();
        rates.extend([rate(2, 3.0); 10]);
        let usual = Usual::of(&rates).unwrap();
        assert!((12.0..16.0).contains(&usual.characters_per_second()));
        let odd = rates.iter().filter(|r| usual.is_outlier(**r)).count();
        assert_eq!(odd, 10);
    }

    #[test]
    fn a_handful_has_no_usual_and_equal_clips_no_outlier() {
        assert_eq!(Usual::of(&[1.0; FEWEST - 1]), None);
        let usual = Usual::of(&[1.0; FEWEST]).unwrap();
        assert!(!usual.is_outlier(1.0 + 2.0_f32.ln()));
        assert!(usual.is_outlier(1.0 + 3.0_f32.ln()));
    }
}
