//! A natural logarithm that vectorises.
//!
//! `f32::ln` is a call per value; this one is straight arithmetic, so eight
//! values go through it together: the exponent by shifting, the mantissa
//! in [sqrt(1/2), sqrt(2)) by the series of `2 atanh((m - 1) / (m + 1))`, whose
//! first dropped term is below 1e-9.

/// Computes `ln(x)` for positive, normal, finite `x`, within two units in the
/// last place of `f32` around 1, and within 1e-6 everywhere.
#[inline]
pub(super) fn ln(x: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let shifted = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = (shifted.cast_signed() >> 23) as f32;
    let m = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(SQRT_HALF));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let series = s * (2.0 + z * (2.0 / 3.0 + z * (2.0 / 5.0 + z * (2.0 / 7.0 + z * (2.0 / 9.0)))));
    // ln 2 in two parts; the first ends in zeros, so the product is exact.
    exponent * 0.693_359_4 + (exponent * -2.121_944_4e-4 + series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_library_over_the_whole_range() {
        let mut worst = 0.0_f64;
        for bits in (f32::MIN_POSITIVE.to_bits()..f32::MAX.to_bits()).step_by(4099) {
            let x = f32::from_bits(bits);
            let exact = f64::from(x).ln();
            worst = worst.max((f64::from(ln(x)) - exact).abs() / exact.abs().max(1.0));
        }
        assert!(worst < 2e-7, "{worst:.2e}");
        assert_eq!(ln(1.0), 0.0);
    }
}
