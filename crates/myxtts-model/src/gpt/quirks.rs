//! The accidents of the public implementation.

use burn::tensor::{Bool, Int, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::batch::{IGNORED, TAIL, positions, wide};

/// Whether its accidents are repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the schema would take the docs of variants")]
pub enum Quirks {
    // What was meant.
    #[default]
    Fixed,
    // Number for number the public implementation.
    Compat,
}

impl Quirks {
    /// Returns the samples of a code by which prompts are measured.
    const fn samples_per_code(self) -> usize {
        match self {
            Self::Fixed => 1024,
            Self::Compat => 256,
        }
    }

    /// Removes the codes of the conditioning prompt from the targets, so that the model is not
    /// rewarded for copying.
    ///
    /// The public implementation measures the prompt in steps of 256 samples although a code has
    /// 1,024, and does so for the last clip only.
    pub(super) fn hide_prompts(
        self,
        targets_bm: Tensor<2, Int>,
        prompts_b2: &Tensor<2, Int>,
        code_lengths_b: &Tensor<1, Int>,
    ) -> Tensor<2, Int> {
        let [rows, length] = targets_bm.dims();
        let device = targets_bm.device();
        let step = self.samples_per_code() as i64;
        let bound = |column: usize| {
            let bound_b = prompts_b2.clone().narrow(1, column, 1).reshape([rows]);
            wide(&bound_b, length)
        };
        // Code i is in the prompt when start / step <= i < end / step, rounded down. This is the
        // same without a division.
        let end_bm = positions(rows, length, &device)
            .add_scalar(1)
            .mul_scalar(step);
        let inside_bm = end_bm
            .clone()
            .greater(bound(0))
            .bool_and(end_bm.lower_equal(bound(1)));
        let hidden_bm = match self {
            Self::Fixed => inside_bm,
            Self::Compat => inside_bm.bool_and(last_clip(code_lengths_b, length)),
        };
        targets_bm.mask_fill(hidden_bm, IGNORED)
    }
}

/// What the host knows about a row of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLengths {
    /// The number of text tokens.
    pub text: usize,
    /// The number of codes; 0 if the row is not a clip.
    pub codes: usize,
    /// Where its conditioning was cut, `[start, end)` in samples.
    pub prompt: Option<[usize; 2]>,
}

impl Quirks {
    /// Counts the targets that the losses of text and of codes are the means of.
    pub fn target_counts(self, rows: &[RowLengths]) -> [usize; 2] {
        let last = rows.iter().rposition(|row| row.codes > 0);
        let mut counts = [0, 0];
        for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.codes > 0) {
            let codes = row.codes + TAIL + 1;
            let step = self.samples_per_code();
            let hidden = row.prompt.map_or(0, |[start, end]| match self {
                Self::Compat if Some(index) != last => 0,
                _ => (end / step).min(codes) - (start / step).min(codes),
            });
            counts[0] += row.text + 1;
            counts[1] += codes - hidden;
        }
        counts
    }
}

/// Returns a mask that is true in the last row that is a clip.
fn last_clip(code_lengths_b: &Tensor<1, Int>, length: usize) -> Tensor<2, Bool> {
    let [rows] = code_lengths_b.dims();
    let present_b = code_lengths_b.clone().greater_elem(0).int();
    let number_b = Tensor::<1, Int>::arange(1..rows as i64 + 1, &code_lengths_b.device());
    let counted_b = number_b.clone() * present_b;
    let last_b = counted_b.max().expand([rows]);
    wide(&number_b, length).equal(wide(&last_b, length))
}
