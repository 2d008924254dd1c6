//! Cross entropy.

use rayon::prelude::*;

use super::math::{exp, max, sum, vectorize};
use super::rows_per_piece;

/// The loss, and what its gradient needs.
#[derive(Debug)]
pub(crate) struct CrossEntropy {
    pub(crate) loss: f32,
    /// The logarithm of the sum of exponentials of each row.
    pub(crate) log_sums: Vec<f32>,
}

fn counted(targets: &[i64]) -> f32 {
    targets.iter().filter(|&&t| t >= 0).count().max(1) as f32
}

/// Returns the class of a row, if the row counts.
#[inline(always)]
fn class(target: i64) -> Option<usize> {
    usize::try_from(target).ok()
}

/// Computes the mean over the rows whose target is not negative.
pub(crate) fn cross_entropy(logits: &[f32], targets: &[i64], smoothing: f32) -> CrossEntropy {
    let classes = logits.len() / targets.len().max(1);
    let rows = rows_per_piece(classes);
    let (log_sums, losses): (Vec<f32>, Vec<f32>) = logits
        .par_chunks(classes.max(1))
        .with_min_len(rows)
        .zip(targets)
        .map(|(logits, &target)| {
            let Some(class) = class(target) else {
                return (0.0, 0.0);
            };
            vectorize(
                #[inline(always)]
                || {
                    let top = max(logits);
                    let log_sum = top + sum(logits, |x| exp(x - top)).ln();
                    let hit = log_sum - logits[class];
                    let spread = if smoothing > 0.0 {
                        log_sum - sum(logits, |x| x) / classes as f32
                    } else {
                        0.0
                    };
                    (log_sum, hit * (1.0 - smoothing) + spread * smoothing)
                },
            )
        })
        .unzip();
    let total: f64 = losses.iter().map(|&l| f64::from(l)).sum();
    #[expect(clippy::cast_possible_truncation, reason = "the loss is f32")]
    let loss = (total / f64::from(counted(targets))) as f32;
    CrossEntropy { loss, log_sums }
}

/// Replaces the logits by their gradient.
pub(crate) fn cross_entropy_backward(
    logits: &mut [f32],
    targets: &[i64],
    log_sums: &[f32],
    smoothing: f32,
    gradient: f32,
) {
    let classes = logits.len() / targets.len().max(1);
    let scale = gradient / counted(targets);
    let even = smoothing / classes as f32;
    logits
        .par_chunks_mut(classes.max(1))
        .with_min_len(rows_per_piece(classes))
        .zip(targets)
        .zip(log_sums)
        .for_each(|((row, &target), &log_sum)| match class(target) {
            None => row.fill(0.0),
            Some(class) => vectorize(
                #[inline(always)]
                || {
                    for x in row.iter_mut() {
                        *x = scale * (exp(*x - log_sum) - even);
                    }
                    row[class] -= scale * (1.0 - smoothing);
                },
            ),
        });
}
