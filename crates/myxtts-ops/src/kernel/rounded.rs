//! A linear layer of one row with its weight in eight bits.
//!
//! Guessing a code reads all weights once for one position, so it takes as long as reading does:
//! a line of a panel fills a line of the cache, panels are read from front to back, and their
//! sums stay in registers.

use rayon::prelude::*;

use super::math::vectorize;
use super::panels::{PANEL, Panels};

/// Elements of a weight below which a second thread is not worth it.
const SHARED: usize = 1 << 18;

/// A weight `(in, out)` in eight bits, with a factor for each output.
#[derive(Clone, Debug)]
pub(crate) struct Rounded {
    /// The weight as `(panels, in, PANEL)`, zero beyond the last output.
    packed: Vec<[i8; PANEL]>,
    scale: Vec<f32>,
}

impl Rounded {
    /// Rounds a weight to the nearest in eight bits.
    pub(crate) fn new(panels: &Panels) -> Self {
        let (inputs, outputs) = (panels.inputs().max(1), panels.outputs());
        let mut scale = vec![0.0_f32; outputs];
        let each = panels.lines().par_chunks(inputs);
        each.zip(scale.par_chunks_mut(PANEL))
            .for_each(|(lines, scale)| {
                for line in lines {
                    for (scale, weight) in scale.iter_mut().zip(line) {
                        *scale = scale.max(weight.abs() / 127.0);
                    }
                }
            });
        let mut packed = vec![[0; PANEL]; panels.lines().len()];
        let each = panels.lines().par_chunks(inputs);
        each.zip(packed.par_chunks_mut(inputs))
            .zip(scale.par_chunks(PANEL))
            .for_each(|((from, to), scale)| {
                for (from, to) in from.iter().zip(to) {
                    for ((from, to), scale) in from.iter().zip(to).zip(scale) {
                        *to = nearest(from / scale);
                    }
                }
            });
        Self { packed, scale }
    }

    /// Computes `y += x w` for one row.
    pub(crate) fn add_product(&self, x: &[f32], y: &mut [f32]) {
        let outputs = self.scale.len();
        assert_eq!(y.len(), outputs, "the output's size");
        let panels = outputs.div_ceil(PANEL);
        assert_eq!(self.packed.len(), x.len() * panels, "the weight's size");
        if x.is_empty() {
            return;
        }
        let pieces = match x.len() * outputs < SHARED {
            true => 1,
            false => rayon::current_num_threads(),
        };
        let piece = panels.div_ceil(pieces).max(1);
        let work = |lines: &[[i8; PANEL]], y: &mut [f32], scale: &[f32]| {
            let panels = lines.chunks_exact(x.len()).zip(y.chunks_mut(PANEL));
            for ((lines, y), scale) in panels.zip(scale.chunks(PANEL)) {
                let sums = vectorize(
                    #[inline(always)]
                    || sums_of(x, lines),
                );
                for ((y, sum), scale) in y.iter_mut().zip(sums).zip(scale) {
                    *y += sum * scale;
                }
            }
        };
        let lines = self.packed.par_chunks(piece * x.len());
        let all = lines
            .zip(y.par_chunks_mut(piece * PANEL))
            .zip(self.scale.par_chunks(piece * PANEL));
        match pieces {
            1 => work(&self.packed, y, &self.scale),
            _ => all
                .with_max_len(1)
                .for_each(|((lines, y), scale)| work(lines, y, scale)),
        }
    }
}

/// Returns the sum of `x_i line_i`.
#[inline(always)]
fn sums_of(x: &[f32], lines: &[[i8; PANEL]]) -> [f32; PANEL] {
    let mut sums = [0.0_f32; PANEL];
    for (&x, line) in x.iter().zip(lines) {
        for (sum, &weight) in sums.iter_mut().zip(line) {
            *sum = x.mul_add(f32::from(weight), *sum);
        }
    }
    sums
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "within -127 and 127, or not a number"
)]
fn nearest(x: f32) -> i8 {
    x.round() as i8
}

#[cfg(test)]
mod tests {
    use super::super::registers::numbers;
    use super::*;

    #[test]
    fn a_rounded_weight_is_near_and_its_product_exact() {
        for (inputs, outputs) in [(1, 1), (13, 70), (300, 1030)] {
            let x = numbers(inputs, 1);
            let mut weight = numbers(inputs * outputs, 2);
            // An output that hears nothing.
            weight.iter_mut().step_by(outputs).for_each(|w| *w = 0.0);
            let rounded = Rounded::new(&Panels::new(&weight, outputs));
            let mut y = vec![0.5; outputs];
            rounded.add_product(&x, &mut y);
            for (o, y) in y.iter().enumerate() {
                let line = |i: usize| rounded.packed[o / PANEL * inputs + i];
                let near = |i: usize| f32::from(line(i)[o % PANEL]) * rounded.scale[o];
                let want: f32 = (0..inputs).map(|i| x[i] * near(i)).sum::<f32>() + 0.5;
                assert!((y - want).abs() < 1e-4, "{inputs} x {outputs}: {y} {want}");
                for i in 0..inputs {
                    let off = (near(i) - weight[i * outputs + o]).abs();
                    assert!(off <= rounded.scale[o] * 0.5001);
                }
            }
        }
    }
}
