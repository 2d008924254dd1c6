//! The windowed-sinc filter, one set of taps per output phase.
//!
//! With the rates reduced to `input_step : output_step`, output sample
//! `block * output_step + phase` sits at input position
//! `block * input_step + phase * input_step / output_step`, and its taps are
//!
//! ```text
//! h(q) = sinc(t) w(t) base / input_step,   t = (q / input_step - phase / output_step) base
//! base = rolloff * min(input_step, output_step),   |t| < zero crossings
//! ```
//!
//! for input positions `q` relative to the block. Only the taps inside the
//! window are kept: for coprime rates such as 44,099 to 22,050 the dense kernel
//! of the reference would have a thousand million zeros.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::LANES;
use crate::cast;
use crate::units::SampleRate;

/// The window that limits the sinc.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taper {
    /// A raised cosine, torchaudio's default.
    Hann,
    /// A Kaiser window of this beta: a deeper stop band for the same length.
    Kaiser(f64),
}

/// How the filter is designed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResampleSpec {
    /// Zero crossings of the sinc on each side; more are sharper and slower.
    pub zero_crossings: u32,
    /// The cutoff, as a fraction of the lower Nyquist frequency.
    pub rolloff: f64,
    /// The window that limits the sinc.
    pub taper: Taper,
}

impl ResampleSpec {
    /// The defaults of torchaudio, which XTTS loads audio with.
    pub const XTTS: Self = Self {
        zero_crossings: 6,
        rolloff: 0.99,
        taper: Taper::Hann,
    };
    /// The long Kaiser filter the reference uses towards 24 kHz.
    pub const KAISER_BEST: Self = Self {
        zero_crossings: 64,
        rolloff: 0.947_593_716_739_959_6,
        taper: Taper::Kaiser(14.769_656_459_379_492),
    };
}

/// All taps of a pair of rates.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    /// Input samples per block.
    pub(super) input_step: usize,
    /// Output samples per block, which is the number of phases.
    pub(super) output_step: usize,
    /// Taps per phase, a multiple of [`LANES`].
    pub(super) taps: usize,
    /// Zeros needed before the first input sample.
    pub(super) reach: usize,
    /// Where each phase starts to read, relative to its block in the padded input.
    starts: Vec<usize>,
    /// The taps, in `output_step` rows of `taps`.
    weights: Vec<f32>,
}

/// The taps of one output phase.
pub(super) struct Phase<'a> {
    pub(super) start: usize,
    pub(super) taps: &'a [f32],
}

impl Kernel {
    pub(super) fn design(from: SampleRate, to: SampleRate, spec: ResampleSpec) -> Self {
        let shared = gcd(from.hz(), to.hz());
        let (input, output) = (from.hz() / shared, to.hz() / shared);
        let (input_f, output_f) = (f64::from(input), f64::from(output));
        let base = input_f.min(output_f) * spec.rolloff;
        let crossings = f64::from(spec.zero_crossings);
        // Half the length of the window, in input samples.
        let half = crossings * input_f / base;
        let reach = cast::to_i64(half.ceil());
        let taps = cast::to_usize((2.0 * half).floor() + 1.0).next_multiple_of(LANES);

        let mut starts = Vec::new();
        let mut weights = Vec::new();
        for phase in 0..output {
            let centre = f64::from(phase) * input_f / output_f;
            let first = cast::to_i64((centre - half).ceil());
            starts.push(usize::try_from(first + reach).unwrap_or_default());
            weights.extend((first..).take(taps).map(|q| {
                let t = (q as f64 / input_f - f64::from(phase) / output_f) * base;
                cast::to_f32(windowed_sinc(t, crossings, spec.taper) * base / input_f)
            }));
        }
        Self {
            input_step: input as usize,
            output_step: output as usize,
            taps,
            reach: usize::try_from(reach).unwrap_or_default(),
            starts,
            weights,
        }
    }

    pub(super) fn phases(&self) -> impl Iterator<Item = Phase<'_>> {
        self.starts
            .iter()
            .zip(self.weights.chunks_exact(self.taps))
            .map(|(&start, taps)| Phase { start, taps })
    }
}

/// Computes the ideal filter times its window; zero outside of it.
pub(super) fn windowed_sinc(t: f64, crossings: f64, taper: Taper) -> f64 {
    let x = t / crossings;
    if x.abs() >= 1.0 {
        return 0.0;
    }
    let sinc = if t == 0.0 {
        1.0
    } else {
        (PI * t).sin() / (PI * t)
    };
    let window = match taper {
        Taper::Hann => (PI * x / 2.0).cos().powi(2),
        Taper::Kaiser(beta) => bessel_i0(beta * (1.0 - x * x).sqrt()) / bessel_i0(beta),
    };
    sinc * window
}

/// Computes the modified Bessel function of order zero by its power series, which
/// converges fast for the betas of windows (below 20).
fn bessel_i0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..200 {
        term *= quarter / f64::from(k * k);
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
