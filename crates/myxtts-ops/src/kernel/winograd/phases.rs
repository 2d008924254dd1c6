//! Splits a row into phases, whose vectors hold the same place of many tiles.
//!
//! A tile is [`STEP`] columns that lie `dilation` apart; tiles that begin beside
//! each other stand beside each other:
//!
//! ```text
//! dilation 3   columns  0 1 2  3 4 5  6 7 8  9 10 11 | 12 13 14 ...
//!              phase 0  0 1 2                          12 13 14
//!              phase 1         3 4 5                            ...
//! ```

use super::STEP;

/// Splits a row into phases, one after the other, each as long as `phases` has room for; zero
/// beyond the row.
#[inline(always)]
pub(super) fn split(row: &[f32], dilation: usize, phases: &mut [f32]) {
    let long = phases.len() / STEP;
    let (a, rest) = phases.split_at_mut(long);
    let (b, rest) = rest.split_at_mut(long);
    let (c, d) = rest.split_at_mut(long);
    let phases = [a, b, c, d];
    match dilation {
        1 => split_by::<1>(row, phases),
        3 => split_by::<3>(row, phases),
        5 => split_by::<5>(row, phases),
        _ => split_rest(row, dilation, 0, phases),
    }
}

/// Restores the row that [`split`] would make these phases of.
#[inline(always)]
pub(super) fn join(phases: &[f32], dilation: usize, row: &mut [f32]) {
    let long = phases.len() / STEP;
    let phases: [&[f32]; STEP] = [0, 1, 2, 3].map(|phase| &phases[phase * long..][..long]);
    match dilation {
        1 => join_by::<1>(phases, row),
        3 => join_by::<3>(phases, row),
        5 => join_by::<5>(phases, row),
        _ => join_rest(phases, dilation, 0, row),
    }
}

/// Splits with a dilation that is known at compile time.
#[inline(always)]
fn split_by<const D: usize>(row: &[f32], phases: [&mut [f32]; STEP]) {
    let blocks = row.as_chunks::<D>().0.as_chunks::<STEP>().0;
    let [a, b, c, d] = phases;
    {
        let a = &mut a.as_chunks_mut::<D>().0[..blocks.len()];
        let b = &mut b.as_chunks_mut::<D>().0[..blocks.len()];
        let c = &mut c.as_chunks_mut::<D>().0[..blocks.len()];
        let d = &mut d.as_chunks_mut::<D>().0[..blocks.len()];
        for (at, block) in blocks.iter().enumerate() {
            [a[at], b[at], c[at], d[at]] = *block;
        }
    }
    split_rest(row, D, blocks.len(), [a, b, c, d]);
}

/// Splits everything from a block of tiles on.
#[inline(always)]
fn split_rest(row: &[f32], dilation: usize, block: usize, phases: [&mut [f32]; STEP]) {
    let (mut at, rest) = (block * dilation, &row[block * dilation * STEP..]);
    let [a, b, c, d] = phases;
    for block in rest.chunks(dilation * STEP) {
        let mut runs = block.chunks(dilation);
        for phase in [&mut *a, &mut *b, &mut *c, &mut *d] {
            let run = runs.next().unwrap_or(&[]);
            phase[at..at + run.len()].copy_from_slice(run);
            phase[at + run.len()..at + dilation].fill(0.0);
        }
        at += dilation;
    }
    for phase in [a, b, c, d] {
        phase[at..].fill(0.0);
    }
}

#[inline(always)]
fn join_by<const D: usize>(phases: [&[f32]; STEP], row: &mut [f32]) {
    let blocks = row.as_chunks_mut::<D>().0.as_chunks_mut::<STEP>().0;
    let count = blocks.len();
    let [a, b, c, d] = phases.map(|phase| &phase.as_chunks::<D>().0[..count]);
    for (at, block) in blocks.iter_mut().enumerate() {
        *block = [a[at], b[at], c[at], d[at]];
    }
    join_rest(phases, D, count, row);
}

#[inline(always)]
fn join_rest(phases: [&[f32]; STEP], dilation: usize, block: usize, row: &mut [f32]) {
    let rest = &mut row[block * dilation * STEP..];
    for (block, columns) in (block..).zip(rest.chunks_mut(dilation * STEP)) {
        for (phase, run) in phases.iter().zip(columns.chunks_mut(dilation)) {
            run.copy_from_slice(&phase[block * dilation..][..run.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_columns_a_dilation_apart_and_join_to_the_row() {
        for dilation in [1, 2, 3, 5, 7] {
            for width in [0, 1, 3, 4, 19, 20, 21, 60, 61, 143] {
                let row: Vec<f32> = (1_u8..).take(width).map(f32::from).collect();
                let long = width.div_ceil(STEP * dilation) * dilation + 2;
                let mut phases = vec![f32::NAN; STEP * long];
                split(&row, dilation, &mut phases);
                for (at, &found) in phases.iter().enumerate() {
                    let (phase, tile) = (at / long, at % long);
                    let column = tile / dilation * dilation * STEP + phase * dilation;
                    let want = row.get(column + tile % dilation).copied();
                    assert_eq!(found, want.unwrap_or(0.0), "{dilation}, {width}");
                }
                let mut joined = vec![f32::NAN; width];
                join(&phases, dilation, &mut joined);
                assert_eq!(joined, row);
            }
        }
    }
}
