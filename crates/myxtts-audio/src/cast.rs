//! The few numeric conversions that lose something, each named and saturating.

/// Rounds to the nearest `f32`; values beyond its range become infinite.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to f32 is the purpose"
)]
pub(crate) const fn to_f32(x: f64) -> f32 {
    x as f32
}

/// Rounds to the nearest whole number; negative numbers and NaN become 0, huge
/// ones saturate.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` from float saturates, which is the purpose"
)]
pub(crate) fn to_usize(x: f64) -> usize {
    x.round() as usize
}

/// Rounds to the nearest whole number, saturating at the ends of `i64`.
#[expect(clippy::cast_possible_truncation, reason = "`as` from float saturates")]
pub(crate) fn to_i64(x: f64) -> i64 {
    x.round() as i64
}

/// Converts a sample in [-1, 1] to 16-bit PCM, the inverse of division by 32,768.
#[expect(
    clippy::cast_possible_truncation,
    reason = "clamped to the range of i16"
)]
pub(crate) fn to_pcm16(x: f32) -> i16 {
    (x * 32_768.0).round().clamp(-32_768.0, 32_767.0) as i16
}
