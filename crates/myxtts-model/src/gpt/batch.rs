//! A training batch, and the sequences made of it.
//!
//! Shapes come from the bucket, lengths are data: everything that depends on
//! a length is computed on the device, so that no shape ever does.
//!
//! Suffixes: b batch, t text positions, m audio positions, p all positions.

use std::ops::Range;

use burn::tensor::{Bool, Device, Int, Tensor};
use myxtts_base::report;

use super::config::GptConfig;
use super::quirks::RowLengths;

/// STOP codes that follow the true codes in the targets, apart from the last: the public model
/// counts three codes more than the clip has.
pub(super) const TAIL: usize = 3;

/// A target that does not count.
pub(super) const IGNORED: i64 = -1;

/// A batch of clips in the static shape of a bucket, on the model's device.
///
/// What stands in the padding does not matter. A row whose `code_lengths_b` is 0 is not a clip,
/// and does not count.
#[derive(Clone, Debug)]
pub struct GptBatch {
    /// Text tokens, without START and STOP.
    pub text_bt: Tensor<2, Int>,
    /// The number of true tokens of each row.
    pub text_lengths_b: Tensor<1, Int>,
    /// Audio codes, without START and STOP.
    pub codes_bm: Tensor<2, Int>,
    /// The number of true codes of each row.
    pub code_lengths_b: Tensor<1, Int>,
    /// Conditioning mel, `(batch, bands, frames)`.
    pub conditioning_bcs: Tensor<3>,
    /// Where in its clip the conditioning was cut, `[start, end)` in samples: those codes are not
    /// targets. `None` in validation.
    pub prompts_b2: Option<Tensor<2, Int>>,
}

impl GptBatch {
    /// Moves the batch to another device.
    #[must_use]
    pub fn to_device(self, device: &Device) -> Self {
        Self {
            text_bt: self.text_bt.to_device(device),
            text_lengths_b: self.text_lengths_b.to_device(device),
            codes_bm: self.codes_bm.to_device(device),
            code_lengths_b: self.code_lengths_b.to_device(device),
            conditioning_bcs: self.conditioning_bcs.to_device(device),
            prompts_b2: self.prompts_b2.map(|prompts| prompts.to_device(device)),
        }
    }

    /// Returns some of the rows.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Self {
        let (start, length) = (rows.start, rows.len());
        let prompts_b2 = self.prompts_b2.clone();
        Self {
            text_bt: self.text_bt.clone().narrow(0, start, length),
            text_lengths_b: self.text_lengths_b.clone().narrow(0, start, length),
            codes_bm: self.codes_bm.clone().narrow(0, start, length),
            code_lengths_b: self.code_lengths_b.clone().narrow(0, start, length),
            conditioning_bcs: self.conditioning_bcs.clone().narrow(0, start, length),
            prompts_b2: prompts_b2.map(|prompts| prompts.narrow(0, start, length)),
        }
    }

    /// Reads back the lengths of the rows.
    pub fn row_lengths(&self) -> Vec<RowLengths> {
        let read = |values_b: &Tensor<1, Int>| -> Vec<usize> {
            let values = values_b.clone().into_data();
            let length = |value: i64| usize::try_from(value).unwrap_or(0);
            values.iter::<i64>().map(length).collect()
        };
        let (text, codes) = (read(&self.text_lengths_b), read(&self.code_lengths_b));
        let prompts: Vec<usize> = match &self.prompts_b2 {
            Some(prompts_b2) => read(&prompts_b2.clone().flatten(0, 1)),
            None => vec![],
        };
        let prompts = prompts.as_chunks::<2>().0;
        let rows = text.into_iter().zip(codes).enumerate();
        rows.map(|(row, (text, codes))| RowLengths {
            text,
            codes,
            prompt: prompts.get(row).copied(),
        })
        .collect()
    }

    /// Puts the batch on the autodiff device, as input of a model in training.
    #[must_use]
    pub fn autodiff(self) -> Self {
        Self {
            text_bt: Tensor::from_inner(self.text_bt),
            text_lengths_b: Tensor::from_inner(self.text_lengths_b),
            codes_bm: Tensor::from_inner(self.codes_bm),
            code_lengths_b: Tensor::from_inner(self.code_lengths_b),
            conditioning_bcs: Tensor::from_inner(self.conditioning_bcs),
            prompts_b2: self.prompts_b2.map(Tensor::from_inner),
        }
    }
}

/// The model has fewer positions than a sequence needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}",
    report!(
        "{found} {what} do not fit the model, which has positions for {most}";
        fix: "shorten the clip or the text, or use a model with more positions"
    )
)]
pub struct TooLong {
    what: &'static str,
    found: usize,
    most: usize,
}

impl TooLong {
    pub(crate) fn check(what: &'static str, found: usize, most: usize) -> Result<(), Self> {
        if found > most {
            return Err(Self { what, found, most });
        }
        Ok(())
    }
}

/// The inputs, targets and true lengths of one kind of token.
pub(super) struct Sequence {
    pub(super) inputs_bt: Tensor<2, Int>,
    pub(super) targets_bt: Tensor<2, Int>,
    /// The last position of each row that counts.
    pub(super) last_b: Tensor<1, Int>,
}

pub(super) fn text_sequence(batch: &GptBatch, config: &GptConfig) -> Result<Sequence, TooLong> {
    let vocabulary = &config.vocabulary;
    let [_, tokens] = batch.text_bt.dims();
    TooLong::check("text tokens", tokens, vocabulary.max_text_tokens)?;
    let lengths_b = batch.text_lengths_b.clone();
    Ok(Sequence::new(
        filled(batch.text_bt.clone(), &lengths_b, vocabulary.stop_text),
        lengths_b,
        batch,
        [vocabulary.start_text, vocabulary.stop_text],
        1,
    ))
}

pub(super) fn code_sequence(batch: &GptBatch, config: &GptConfig) -> Result<Sequence, TooLong> {
    let vocabulary = &config.vocabulary;
    let [_, codes] = batch.codes_bm.dims();
    let most = vocabulary.audio_positions() - TAIL - 2;
    TooLong::check("audio codes", codes, most)?;
    let stop = vocabulary.stop_audio();
    let lengths_b = batch.code_lengths_b.clone();
    Ok(Sequence::new(
        filled(batch.codes_bm.clone(), &lengths_b, stop),
        lengths_b.add_scalar(TAIL as i64),
        batch,
        [vocabulary.start_audio(), stop],
        TAIL + 1,
    ))
}

impl Sequence {
    /// Makes inputs of START, the tokens and `stops` STOPs; the targets are the same moved by
    /// one. Only rows that are clips have targets, up to the last position that counts.
    fn new(
        tokens_bt: Tensor<2, Int>,
        last_b: Tensor<1, Int>,
        batch: &GptBatch,
        [start, stop]: [u32; 2],
        stops: usize,
    ) -> Self {
        let [rows, _] = tokens_bt.dims();
        let device = tokens_bt.device();
        let column =
            |id: u32, width: usize| Tensor::<2, Int>::full([rows, width], i64::from(id), &device);
        let body_bt = Tensor::cat(vec![tokens_bt, column(stop, stops)], 1);
        let inputs_bt = Tensor::cat(vec![column(start, 1), body_bt.clone()], 1);
        let targets_bt = Tensor::cat(vec![body_bt, column(stop, 1)], 1);
        let [_, length] = targets_bt.dims();
        let after_bt = positions(rows, length, &device).greater(wide(&last_b, length));
        let absent_bt = wide(&batch.code_lengths_b, length).lower_equal_elem(0);
        Self {
            inputs_bt,
            targets_bt: targets_bt.mask_fill(after_bt.bool_or(absent_bt), IGNORED),
            last_b,
        }
    }
}

/// Puts `stop` in every place at or after the row's length.
fn filled(tokens_bt: Tensor<2, Int>, lengths_b: &Tensor<1, Int>, stop: u32) -> Tensor<2, Int> {
    let [rows, length] = tokens_bt.dims();
    let padding_bt =
        positions(rows, length, &tokens_bt.device()).greater_equal(wide(lengths_b, length));
    tokens_bt.mask_fill(padding_bt, i64::from(stop))
}

/// Returns the keys that count: every latent, then text and codes up to their last.
pub(super) fn keys(latents: usize, text: &Sequence, codes: &Sequence) -> Tensor<2, Bool> {
    let [rows, text_length] = text.inputs_bt.dims();
    let [_, code_length] = codes.inputs_bt.dims();
    let device = text.inputs_bt.device();
    let index_bp = Tensor::cat(
        vec![
            Tensor::zeros([rows, latents], &device),
            positions(rows, text_length, &device),
            positions(rows, code_length, &device),
        ],
        1,
    );
    let last_bp = Tensor::cat(
        vec![
            Tensor::zeros([rows, latents], &device),
            wide(&text.last_b, text_length),
            wide(&codes.last_b, code_length),
        ],
        1,
    );
    index_bp.lower_equal(last_bp)
}

/// Returns `0, 1, ...` in every row.
pub(super) fn positions(rows: usize, length: usize, device: &Device) -> Tensor<2, Int> {
    Tensor::<1, Int>::arange(0..length as i64, device)
        .reshape([1, length])
        .expand([rows, length])
}

/// Repeats one number per row over its positions.
pub(super) fn wide(values_b: &Tensor<1, Int>, length: usize) -> Tensor<2, Int> {
    let [rows] = values_b.dims();
    values_b.clone().reshape([rows, 1]).expand([rows, length])
}
