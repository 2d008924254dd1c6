//! Functions that compile to vector instructions.

/// Runs `work` compiled for the widest vectors this machine has.
///
/// `work` and everything it calls must be `#[inline(always)]`, or it is compiled for narrow
/// vectors.
#[inline(always)]
pub(crate) fn vectorize<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return pulp::Simd::vectorize(simd, work);
    } else if let Some(simd) = pulp::x86::V3::try_new() {
        return pulp::Simd::vectorize(simd, work);
    }
    work()
}

/// Returns `e^x` to 2 units in the last place; 0 below -87, where `f32` loses its precision.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const LOW: f32 = -87.0;
    const HIGH: f32 = 88.0;
    // Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let kept = if x < LOW { LOW } else { x };
    let kept = if kept > HIGH { HIGH } else { kept };
    let shifted = kept * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 is split in two parts, the first exact in a few bits.
    let r = (kept - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let mut p = 1.987_569_1e-4;
    p = p * r + 1.398_199_9e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 1.666_666_6e-1;
    p = p * r + 0.5;
    let mantissa = p * r * r + r + 1.0;
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    if x < LOW { 0.0 } else { mantissa * power }
}

/// Lanes of a running sum: enough for the widest vectors, and the same on every machine.
const LANES: usize = 16;

/// Returns the sum of `f(a_i)`.
#[inline(always)]
pub(crate) fn sum(a: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (blocks, rest) = a.as_chunks::<LANES>();
    for block in blocks {
        for (lane, &a) in lanes.iter_mut().zip(block) {
            *lane += f(a);
        }
    }
    for (lane, &a) in lanes.iter_mut().zip(rest) {
        *lane += f(a);
    }
    fold(lanes)
}

/// Returns the sum of `f(a_i, b_i)`.
#[inline(always)]
pub(crate) fn sum2(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (blocks_a, rest_a) = a.as_chunks::<LANES>();
    let (blocks_b, rest_b) = b.as_chunks::<LANES>();
    for (block_a, block_b) in blocks_a.iter().zip(blocks_b) {
        for ((lane, &a), &b) in lanes.iter_mut().zip(block_a).zip(block_b) {
            *lane += f(a, b);
        }
    }
    for ((lane, &a), &b) in lanes.iter_mut().zip(rest_a).zip(rest_b) {
        *lane += f(a, b);
    }
    fold(lanes)
}

/// Returns the largest value; negative infinity if there is none.
#[inline(always)]
pub(crate) fn max(a: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (blocks, rest) = a.as_chunks::<LANES>();
    for block in blocks {
        for (lane, &a) in lanes.iter_mut().zip(block) {
            *lane = if a > *lane { a } else { *lane };
        }
    }
    for (lane, &a) in lanes.iter_mut().zip(rest) {
        *lane = if a > *lane { a } else { *lane };
    }
    lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

#[inline(always)]
fn fold(lanes: [f32; LANES]) -> f32 {
    let mut half = lanes;
    let mut width = LANES / 2;
    while width > 0 {
        let (low, high) = half.split_at_mut(width);
        for (l, h) in low.iter_mut().zip(high.iter()) {
            *l += *h;
        }
        width /= 2;
    }
    half[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_close_to_the_librarys() {
        let mut worst = 0.0_f64;
        for step in -86_900..88_000_i32 {
            let x = step as f32 * 1e-3;
            let want = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) - want).abs() / want);
        }
        assert!(worst < 2.5e-7, "{worst:e}");
        assert_eq!(exp(f32::MIN), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn sums_take_every_element() {
        for n in 0..70_u16 {
            let a: Vec<f32> = (0..n).map(f32::from).collect();
            let n = f32::from(n);
            assert_eq!(sum(&a, |x| x), n * (n - 1.0) / 2.0);
            assert_eq!(sum2(&a, &a, |x, y| x - y + 1.0), n);
            assert_eq!(max(&a), if n == 0.0 { f32::NEG_INFINITY } else { n - 1.0 });
        }
    }
}
