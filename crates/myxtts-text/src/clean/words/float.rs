//! A decimal number as Python sees it.
//!
//! The reference turns `12,5` into a binary float before it speaks it, so what
//! is spoken is the shortest decimal that names that float: `1.10` is "one
//! point one", and the 17th digit is lost. The rules below are those of
//! Python's `repr` and of its exact decimal expansion, not of the written text.

/// A finite, non-negative float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::clean) struct Float(f64);

/// The power of ten from which Python writes a float in scientific notation.
const SCIENTIFIC_FROM: i32 = 16;
/// The power of ten below which Python does so as well.
const SCIENTIFIC_BELOW: i32 = -4;

impl Float {
    /// Reads `12.5`, `.5` or `12`, in ASCII digits only.
    pub(in crate::clean) fn parse(text: &str) -> Option<Self> {
        let valid = text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            && text.bytes().filter(|&b| b == b'.').count() <= 1
            && text.bytes().any(|b| b.is_ascii_digit());
        let value: f64 = valid.then(|| text.parse().ok()).flatten()?;
        value.is_finite().then_some(Self(value))
    }

    pub(in crate::clean) fn is_whole(self) -> bool {
        self.0.fract() == 0.0
    }

    /// Returns the part before the point, if it fits any table.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: 0..1e36"
    )]
    pub(in crate::clean) fn whole(self) -> Option<u128> {
        (self.0 < 1e36).then_some(self.0 as u128)
    }

    /// Returns the significant digits and the power of ten of the first.
    fn shortest(self) -> (String, i32) {
        let text = format!("{:e}", self.0);
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        (mantissa.replace('.', ""), power.parse().unwrap_or(0))
    }

    /// Returns what Python writes after the point (`"0"` for a whole number), or
    /// `None` when it would use scientific notation.
    pub(in crate::clean) fn written_fraction(self) -> Option<String> {
        let (_, power) = self.shortest();
        if self.0 != 0.0 && !(SCIENTIFIC_BELOW..SCIENTIFIC_FROM).contains(&power) {
            return None;
        }
        let text = format!("{}", self.0);
        Some(
            text.split_once('.')
                .map_or_else(|| "0".to_owned(), |(_, after)| after.to_owned()),
        )
    }

    /// Returns the digits spoken one by one after the point; none for a whole number.
    ///
    /// They are taken from the float by multiplication and rounding, as `num2words`
    /// does it, so the last digits of a long fraction can differ from the written
    /// ones.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: < 2^63"
    )]
    pub(in crate::clean) fn spoken_fraction(self) -> Option<Vec<u8>> {
        if self.is_whole() {
            return Some(Vec::new());
        }
        let (digits, power) = self.shortest();
        let last = power - (i32::try_from(digits.len()).ok()? - 1);
        let precision = usize::try_from(last.unsigned_abs()).ok()?;
        let scale: f64 = format!("1e{precision}").parse().ok()?;
        let scaled = self.0.fract() * scale;
        let nearest = scaled.round_ties_even();
        let kept = if (nearest - scaled).abs() < 0.01 {
            nearest
        } else {
            scaled.floor()
        };
        if kept >= 9e18 {
            return None;
        }
        let text = format!("{:0precision$}", kept as u64);
        Some(text.bytes().take(precision).map(|b| b - b'0').collect())
    }

    /// Returns whole units and hundredths, rounded half up from the exact value.
    pub(in crate::clean) fn cents(self) -> Option<(u128, u8)> {
        let exact = format!("{:.80}", self.0);
        let (whole, fraction) = exact.split_once('.')?;
        let whole: u128 = whole.parse().ok()?;
        let digits: Vec<u8> = fraction.bytes().map(|b| b - b'0').collect();
        let cents = digits.first()? * 10 + digits.get(1)? + u8::from(*digits.get(2)? >= 5);
        Some(if cents == 100 {
            (whole + 1, 0)
        } else {
            (whole, cents)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(text: &str) -> Float {
        Float::parse(text).unwrap()
    }

    #[test]
    fn what_is_spoken_is_the_shortest_name_of_the_float() {
        let spoken = |text| float(text).spoken_fraction().unwrap();
        assert_eq!(spoken("1.10"), [1]);
        assert_eq!(spoken("7.005"), [0, 0, 5]);
        assert!(spoken("3.0").is_empty());
        assert_eq!(spoken("0.00001"), [0, 0, 0, 0, 1]);
        assert_eq!(
            float("12345678901234567.5").whole(),
            Some(12_345_678_901_234_568)
        );
        assert_eq!(float("0.00001").written_fraction(), None);
        assert_eq!(float("100.0").written_fraction().as_deref(), Some("0"));
    }

    #[test]
    fn cents_round_the_exact_value() {
        assert_eq!(float("2.675").cents(), Some((2, 67)), "2.67499999…");
        assert_eq!(float("2.685").cents(), Some((2, 69)));
        assert_eq!(float("2.999").cents(), Some((3, 0)));
        assert_eq!(float(".5").cents(), Some((0, 50)));
    }

    #[test]
    fn what_python_refuses_is_refused() {
        for text in ["", ".", "1.2.3", "1e5", "-1", "inf"] {
            assert_eq!(Float::parse(text), None, "{text}");
        }
        assert_eq!(Float::parse(&"9".repeat(400)), None, "infinite");
    }
}
