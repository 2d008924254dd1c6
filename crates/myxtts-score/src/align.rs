//! Dynamic time warping: which frames of two clips say the same.
//!
//! The alignment is the cheapest path from both beginnings to both ends, where
//! each step advances in one clip or in both. It is exact: there is no band and
//! no coarser grid that a slow speaker would fall out of. Costs are kept for two
//! rows and steps in a byte each, and the number of pairs is bounded.

use myxtts_audio::units::{Decibels, Frames};

use crate::analysis::ScoreError;
use crate::cepstra::{Cepstra, distortion};

/// The most pairs of frames that are compared: two clips of almost two minutes, a
/// hundred megabytes and about a second.
const MOST_PAIRS: usize = 100_000_000;

/// Which frames of two clips belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// Pairs of frames, of the first and the second clip, from the beginning.
    pub path: Vec<(usize, usize)>,
    /// The mean distortion of the pairs.
    pub distortion: Decibels,
}

/// Which clip, or both, a step of the path advances in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Both,
    First,
    Second,
}

/// Aligns two clips by their cepstra.
pub(crate) fn align(first: &Cepstra, second: &Cepstra) -> Result<Alignment, ScoreError> {
    let (rows, columns) = (first.frames(), second.frames());
    let pairs = rows.0.checked_mul(columns.0);
    if pairs.is_none_or(|pairs| pairs > MOST_PAIRS) {
        return Err(ScoreError::TooLong {
            first: rows,
            second: columns,
        });
    }
    Ok(cheapest(rows, columns, |row, column| {
        distortion(&first.as_slice()[row], &second.as_slice()[column])
    }))
}

/// Finds the cheapest path; of equal ones, the most diagonal.
fn cheapest(
    Frames(rows): Frames,
    Frames(columns): Frames,
    cost: impl Fn(usize, usize) -> f32,
) -> Alignment {
    let mut steps = Vec::with_capacity(rows * columns);
    let mut above = vec![f64::INFINITY; columns];
    let mut row_costs = vec![f64::INFINITY; columns];
    for row in 0..rows {
        for column in 0..columns {
            let here = f64::from(cost(row, column));
            let before = |costs: &[f64]| match column {
                0 => f64::INFINITY,
                _ => costs[column - 1],
            };
            let (both, from_first, from_second) =
                (before(&above), above[column], before(&row_costs));
            let (step, total) = if row == 0 && column == 0 {
                (Step::Both, 0.0)
            } else if both <= from_first && both <= from_second {
                (Step::Both, both)
            } else if from_first <= from_second {
                (Step::First, from_first)
            } else {
                (Step::Second, from_second)
            };
            steps.push(step);
            row_costs[column] = total + here;
        }
        std::mem::swap(&mut above, &mut row_costs);
    }
    let total = above.last().copied().unwrap_or_default();
    let path = walked(&steps, rows, columns);
    Alignment {
        distortion: Decibels(total / path.len().max(1) as f64),
        path,
    }
}

/// Returns the path, which is walked from its end.
fn walked(steps: &[Step], rows: usize, columns: usize) -> Vec<(usize, usize)> {
    let mut path = Vec::with_capacity(rows + columns);
    if steps.is_empty() {
        return path;
    }
    let (mut row, mut column) = (rows - 1, columns - 1);
    loop {
        path.push((row, column));
        if row == 0 && column == 0 {
            break;
        }
        match steps[row * columns + column] {
            Step::Both => (row, column) = (row - 1, column - 1),
            Step::First => row -= 1,
            Step::Second => column -= 1,
        }
    }
    path.reverse();
    path
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss, reason = "test code")]
mod tests {
    use super::*;
    use myxtts_audio::Mel;
    use proptest::prelude::*;

    /// The cheapest of all paths, each tried.
    fn plain(costs: &[Vec<f32>], row: usize, column: usize) -> f64 {
        let here = f64::from(costs[row][column]);
        let mut before = vec![];
        if row > 0 && column > 0 {
            before.push(plain(costs, row - 1, column - 1));
        }
        if row > 0 {
            before.push(plain(costs, row - 1, column));
        }
        if column > 0 {
            before.push(plain(costs, row, column - 1));
        }
        here + before.into_iter().reduce(f64::min).unwrap_or(0.0)
    }

    proptest! {
        #[test]
        fn the_path_is_the_cheapest_of_all(
            costs in (1_usize..6, 1_usize..6).prop_flat_map(|(rows, columns)| {
                prop::collection::vec(prop::collection::vec(0.0_f32..10.0, columns), rows)
            })
        ) {
            let (rows, columns) = (costs.len(), costs[0].len());
            let found = cheapest(Frames(rows), Frames(columns), |row, column| costs[row][column]);
            let expected = plain(&costs, rows - 1, columns - 1);
            let sum: f64 = found.path.iter().map(|(row, column)| f64::from(costs[*row][*column])).sum();
            prop_assert!((sum - expected).abs() < 1e-4, "{sum} {expected}");
            prop_assert!((found.distortion.0 * found.path.len() as f64 - expected).abs() < 1e-4);
            prop_assert_eq!(found.path[0], (0, 0));
            prop_assert_eq!(found.path[found.path.len() - 1], (rows - 1, columns - 1));
            for pair in found.path.windows(2) {
                let step = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
                prop_assert!([(1, 1), (1, 0), (0, 1)].contains(&step));
            }
        }
    }

    #[test]
    fn what_is_too_long_is_refused_before_memory_is_taken() {
        let clip = |frames: usize| {
            Cepstra::of(&Mel {
                bands: 1,
                frames: Frames(frames),
                values: vec![0.0; frames],
            })
        };
        let refused = align(&clip(10_001), &clip(10_000)).unwrap_err();
        insta::assert_snapshot!(refused, @"the two are too long to align: 10001 frames and 10000 frames, and their product may be a hundred million, two clips of almost two minutes");
        assert!(align(&clip(100), &clip(1_000)).is_ok());
    }

    #[test]
    fn a_clip_stretched_in_time_costs_nothing() {
        let second: Vec<usize> = vec![0, 0, 1, 2, 2, 2, 3];
        let found = cheapest(Frames(4), Frames(7), |row, column| {
            (row as f32 - second[column] as f32).abs()
        });
        assert_eq!(found.distortion, Decibels(0.0));
        assert!(
            found
                .path
                .iter()
                .all(|(row, column)| second[*column] == *row)
        );
    }
}
