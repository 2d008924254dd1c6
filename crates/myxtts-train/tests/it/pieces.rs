//! A batch that the CPU computes in pieces, or block by block, is the batch.

use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_model::gpt::{GptBatch, Quirks};
use myxtts_train::objective::{GptObjective, GptObjectiveConfig, Objective};
use myxtts_train::optim::NamedGradients;
use myxtts_train::train_loop::LossFactor;

use crate::small_stage::gpt;
use crate::world::SMALL;

const TEXT: usize = 12;
const CODES: usize = 30;
const FRAMES: usize = 20;

/// Rows of all lengths, the last but one without a clip.
pub(crate) fn batch(rows: usize, device: &Device) -> GptBatch {
    let ids = |width: usize, most: usize| {
        let ids = (0..rows * width).map(|i| (2 + i * 37 % most) as i64);
        let data = TensorData::new(ids.collect::<Vec<i64>>(), [rows, width]);
        Tensor::<2, Int>::from_data(data, device)
    };
    let per_row = |of: &dyn Fn(usize) -> usize| {
        let values = (0..rows).map(|row| of(row) as i64);
        let values = TensorData::new(values.collect::<Vec<i64>>(), [rows]);
        Tensor::<1, Int>::from_data(values, device)
    };
    let is_clip = |row: usize| row + 2 != rows;
    let codes = |row: usize| if is_clip(row) { CODES - 3 * row } else { 0 };
    let mel = (0..rows * 80 * FRAMES).map(|i| (i as f32 * 0.7).sin());
    let mel = TensorData::new(mel.collect::<Vec<f32>>(), [rows, 80, FRAMES]);
    let starts_b1 = per_row(&|row| 1024 * row).reshape([rows, 1]);
    let ends_b1 = per_row(&|row| 1024 * row + 5000).reshape([rows, 1]);
    GptBatch {
        text_bt: ids(TEXT, 20),
        text_lengths_b: per_row(&|row| TEXT - row),
        codes_bm: ids(CODES, SMALL.codes - 2),
        code_lengths_b: per_row(&codes),
        conditioning_bcs: Tensor::from_data(mel, device),
        prompts_b2: Some(Tensor::cat(vec![starts_b1, ends_b1], 1)),
    }
}

pub(crate) fn numbers(gradients: &NamedGradients) -> Vec<(String, Vec<f32>)> {
    let read = |(name, gradient_n): (&str, &Tensor<1>)| {
        let values = gradient_n.to_data();
        (name.to_owned(), values.iter::<f32>().collect())
    };
    gradients.iter().map(read).collect()
}

/// The largest distance between what a pass gives and what the whole batch
/// does, in parts of the larger.
pub(crate) fn apart(objective: &GptObjective, rows: usize) -> f32 {
    let batch = batch(rows, &Device::flex());
    let (shares, key, scale) = ([0.7, 0.4], 11, 8.0);
    let loss = objective.loss(0, &batch, &shares, key).unwrap();
    let wholes = loss.parts.iter().map(|(_, part)| part.clone());
    let wholes: Vec<f32> = std::iter::once(loss.total.clone().inner())
        .chain(wholes)
        .map(|value| value.into_scalar())
        .collect();
    let whole = objective.gradients(0, (loss.total * scale).backward());
    let mut sum = NamedGradients::default();
    let pass = objective
        .forward_backward(0, &batch, &shares, key, &LossFactor::Known(scale), &mut sum)
        .unwrap();
    let parts = pass.parts.into_iter().map(|(_, part)| part);
    let found = std::iter::once(pass.total).chain(parts);
    let found = found.map(|value| value.into_scalar::<f32>());
    let of_losses = found
        .zip(&wholes)
        .map(|(found, whole)| (found - whole).abs() / whole.abs());
    let gradients = numbers(&whole).into_iter().zip(numbers(&sum));
    assert_eq!(whole.len(), sum.len());
    let of_gradients = gradients.map(|((name, whole), (other, found))| {
        assert_eq!(name, other);
        let norm =
            |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>().sqrt();
        let between = norm(&mut whole.iter().zip(&found).map(|(a, b)| a - b));
        between / norm(&mut whole.iter().copied()).max(1e-6)
    });
    of_losses.chain(of_gradients).fold(0.0, f32::max)
}

#[test]
fn pieces_add_up_to_the_batch_and_drop_what_it_would() {
    let objective = gpt(&Device::flex(), 3, 0.2);
    for rows in [8, 9] {
        let apart = apart(&objective, rows);
        // Other sums round otherwise: no distance at all would be a batch left whole.
        assert!(apart > 0.0 && apart < 1e-5, "{rows} rows: {apart:e}");
    }
}

#[test]
fn few_rows_and_the_public_implementations_accidents_are_left_whole() {
    assert_eq!(apart(&gpt(&Device::flex(), 3, 0.2), 7), 0.0);
    let objective_config = GptObjectiveConfig {
        dropout: 0.2,
        quirks: Quirks::Compat,
        ..GptObjectiveConfig::default()
    };
    let compat = GptObjective::new(gpt(&Device::flex(), 3, 0.2).gpt, objective_config);
    assert_eq!(apart(&compat, 9), 0.0);
}

fn recomputing(objective: GptObjective, quirks: Quirks) -> GptObjective {
    let objective_config = GptObjectiveConfig {
        dropout: 0.2,
        quirks,
        recompute: true,
        ..GptObjectiveConfig::default()
    };
    GptObjective::new(objective.gpt, objective_config)
}

#[test]
fn blocks_computed_again_give_the_same_bits_and_drop_the_same() {
    let gpt = || gpt(&Device::flex(), 3, 0.2);
    assert_eq!(apart(&recomputing(gpt(), Quirks::Fixed), 7), 0.0);
    assert_eq!(apart(&recomputing(gpt(), Quirks::Compat), 9), 0.0);
}

#[test]
fn pieces_of_a_batch_are_recomputed_each() {
    let apart = apart(&recomputing(gpt(&Device::flex(), 3, 0.2), Quirks::Fixed), 8);
    assert!(apart > 0.0 && apart < 1e-5, "{apart:e}");
}

/// The gradients of several batches are added to one sum, whichever way they are computed.
#[test]
fn a_second_batch_is_added_to_the_first() {
    let device = Device::flex();
    let sums = [false, true].map(|recompute| {
        let objective = gpt(&device, 3, 0.2);
        let objective = match recompute {
            true => recomputing(objective, Quirks::Fixed),
            false => objective,
        };
        let mut sum = NamedGradients::default();
        for rows in [3, 5] {
            let batch = batch(rows, &device);
            let pass =
                objective.forward_backward(0, &batch, &[], 11, &LossFactor::Known(1.0), &mut sum);
            pass.unwrap();
        }
        numbers(&sum)
    });
    let [kept, recomputed] = sums;
    assert!(kept == recomputed);
}
