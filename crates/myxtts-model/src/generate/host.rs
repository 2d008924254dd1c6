//! Rows on the CPU: a cache of its own for each, and the blocks over slices.

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_ops::inference::{LayerCache, Positions, head_scores, normalise};
use myxtts_ops::on_cores;

use super::engine::Scored;
use super::speaking::HostGpt;
use crate::gpt::EPSILON;

/// A row's keys and values in every layer.
#[derive(Clone, Debug)]
pub(super) struct HostRow {
    layers: Vec<LayerCache>,
}

impl HostRow {
    /// With room for so many positions.
    pub(super) fn new(gpt: &HostGpt, room: usize) -> Self {
        Self {
            layers: gpt.blocks.iter().map(|block| block.cache(room)).collect(),
        }
    }
}

impl HostGpt {
    /// The first scores of a row.
    pub(super) fn begin(&self, row: &mut HostRow, prefix: &[f32]) -> Option<Scored> {
        let count = prefix.len() / self.width();
        let rows = std::slice::from_mut(row);
        let mut scored = on_cores(&Device::flex(), || {
            self.run(prefix.to_vec(), rows, &[count])
        });
        scored.pop()
    }

    /// The next scores of rows, each after its last code and the position of that.
    pub(super) fn advance(&self, rows: &mut [HostRow], codes: &[(u32, usize)]) -> Vec<Scored> {
        let width = self.width();
        let mut x = Vec::with_capacity(codes.len() * width);
        for &(code, position) in codes {
            let vector =
                |table: &'_ [f32], at: usize| at * width..((at + 1) * width).min(table.len());
            let (codes, places) = (self.codes.elements(), self.code_positions.elements());
            let code = &codes[vector(codes, code as usize)];
            let place = &places[vector(places, position)];
            x.extend(code.iter().zip(place).map(|(code, place)| code + place));
        }
        let counts = vec![1; codes.len()];
        on_cores(&Device::flex(), || self.run(x, rows, &counts))
    }

    fn width(&self) -> usize {
        self.last_norm[0].elements().len()
    }

    /// Runs positions, `counts` of each row, and gives the scores after the
    /// last of each.
    #[expect(clippy::cast_possible_truncation, reason = "a constant")]
    fn run(&self, mut x: Vec<f32>, rows: &mut [HostRow], counts: &[usize]) -> Vec<Scored> {
        let width = self.width();
        for (layer, block) in self.blocks.iter().enumerate() {
            let caches = rows.iter_mut().filter_map(|row| row.layers.get_mut(layer));
            let mut sequences: Vec<Positions<'_>> = caches
                .zip(counts)
                .map(|(cache, &count)| Positions { cache, count })
                .collect();
            block.advance(&mut x, &mut sequences);
        }
        let mut last = Vec::with_capacity(counts.len() * width);
        let mut end = 0;
        for count in counts {
            end += count * width;
            last.extend_from_slice(&x[end - width..end]);
        }
        let epsilon = EPSILON as f32;
        let hidden = normalise(&last, &self.last_norm, epsilon);
        let latents = normalise(&hidden, &self.final_norm, epsilon);
        let scores = head_scores(&latents, &self.head);
        let tokens = scores.len() / counts.len().max(1);
        let device = Device::flex();
        let latent = |latent: &[f32]| {
            Tensor::from_data(TensorData::new(latent.to_vec(), [1, 1, width]), &device)
        };
        latents
            .chunks_exact(width)
            .zip(scores.chunks_exact(tokens.max(1)))
            .map(|(vector, scores)| Scored {
                latent_11d: latent(vector),
                scores: scores.to_vec(),
            })
            .collect()
    }
}
