//! Rows on the CPU: a cache for each, and blocks that compute over slices.
//!
//! A step of a large model waits for its weights, whether it computes one position or eight. So a
//! row that speaks alone has its next codes guessed with weights in eight bits, and the guesses
//! are computed together with the weights as they are. Scores behind a right guess are kept until
//! they are asked for; the first wrong guess discards the rest, and their positions are
//! forgotten.

use std::collections::VecDeque;

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_ops::inference::{CachedBlock, LayerCache, Positions, head_scores, normalise};
use myxtts_ops::on_compute_pool;

use super::engine::{Predict, Scored};
use super::speaking::HostGpt;
use crate::gpt::EPSILON;

/// Guesses behind the first code. The sound of a stream begins with the fourth code, and a
/// listener would wait for more guesses.
const FIRST_GUESSES: usize = 2;
/// Guesses to start with after that, less one; at most `MOST_GUESSES`.
const NEXT_GUESSES: usize = 3;
const MOST_GUESSES: usize = 8;

/// A row's keys and values in every layer.
#[derive(Clone, Debug)]
pub(super) struct HostRow {
    layers: Vec<LayerCache>,
    /// Positions before the first code.
    prefix: usize,
    /// The guessed codes, each with the scores behind it.
    ahead: VecDeque<(u32, Scored)>,
    guesses: usize,
}

impl HostRow {
    /// Begins with the first `positions` positions of these layers, with room for `room` in all.
    fn after(voice: &[LayerCache], positions: usize, room: usize) -> Self {
        let room = room + MOST_GUESSES;
        let begun = |layer: &LayerCache| layer.beginning(positions, room);
        Self {
            layers: voice.iter().map(begun).collect(),
            prefix: 0,
            ahead: VecDeque::new(),
            guesses: NEXT_GUESSES,
        }
    }

    /// Forgets everything from the code at this position on.
    fn back_to(&mut self, position: usize) {
        self.ahead.clear();
        let length = self.prefix + position.saturating_sub(1);
        for layer in &mut self.layers {
            layer.truncate(length);
        }
    }
}

impl HostGpt {
    /// Begins a row with its prefix, whose first `voice` positions are the voice, and returns its
    /// first scores.
    pub(super) fn begin(
        &self,
        prefix: &[f32],
        voice: usize,
        room: usize,
    ) -> Option<(HostRow, Scored)> {
        let width = self.width();
        let latents = &prefix[..voice * width];
        let heard = self.voices.get(latents);
        let mut row = match &heard {
            Some(layers) => HostRow::after(layers, voice, room),
            None => {
                let empty: Vec<LayerCache> =
                    self.blocks.iter().map(|block| block.cache(0)).collect();
                HostRow::after(&empty, 0, room)
            }
        };
        row.prefix = prefix.len() / width;
        let known = if heard.is_some() { latents.len() } else { 0 };
        let mut x = prefix[known..].to_vec();
        let count = x.len() / width;
        let scored = on_compute_pool(&Device::flex(), || {
            for (block, cache) in self.blocks.iter().zip(&mut row.layers) {
                block.advance(&mut x, &mut [Positions { cache, count }]);
            }
            self.scored(&x[(count - 1) * width..]).pop()
        })?;
        if heard.is_none() {
            let layers = row.layers.iter();
            let layers = layers.map(|layer| layer.beginning(voice, voice));
            self.voices.keep(latents, layers.collect());
        }
        Some((row, scored))
    }

    /// Returns the vectors that predict each of the given codes.
    pub(super) fn told(&self, prefix: &[f32], codes: &[u32]) -> Vec<f32> {
        let width = self.width();
        let mut x = prefix.to_vec();
        // The last code predicts nothing that is asked for.
        for (at, &code) in (1..codes.len()).zip(codes) {
            self.embed(code, at, &mut x);
        }
        let count = x.len() / width;
        on_compute_pool(&Device::flex(), || {
            for block in &self.blocks {
                let cache = &mut block.cache(count);
                block.advance(&mut x, &mut [Positions { cache, count }]);
            }
            self.latents(&x[(count - codes.len()) * width..])
        })
    }

    /// Returns the next scores of rows, each given its last code and that code's position.
    pub(super) fn advance(
        &self,
        rows: &mut [HostRow],
        codes: &[(u32, usize)],
        predict: Option<Predict<'_>>,
    ) -> Vec<Scored> {
        if let ([row], [code], Some(draft), Some(predict)) =
            (&mut *rows, codes, &self.draft, predict)
        {
            return self.guessed(draft, row, *code, predict);
        }
        let mut x = Vec::with_capacity(codes.len() * self.width());
        for (row, &(code, position)) in rows.iter_mut().zip(codes) {
            row.back_to(position);
            self.embed(code, position, &mut x);
        }
        let counts = vec![1; codes.len()];
        on_compute_pool(&Device::flex(), || {
            self.scored(&self.run(&self.blocks, x, rows, &counts))
        })
    }

    /// Returns the next scores of a row that speaks alone.
    fn guessed(
        &self,
        draft: &[CachedBlock],
        row: &mut HostRow,
        (code, position): (u32, usize),
        predict: Predict<'_>,
    ) -> Vec<Scored> {
        if let Some((guess, scored)) = row.ahead.pop_front() {
            if guess == code {
                return vec![scored];
            }
            // As many guesses as came true, and one more.
            row.guesses = (row.guesses - row.ahead.len()).clamp(2, MOST_GUESSES);
        } else if position > 1 {
            row.guesses = (row.guesses + 1).min(MOST_GUESSES);
        }
        let asked = match position {
            1 => FIRST_GUESSES,
            _ => row.guesses,
        };
        row.back_to(position);
        let places = self.code_positions.elements().len() / self.width();
        let most = asked.min(places.saturating_sub(position + 1));
        on_compute_pool(&Device::flex(), || {
            let mut codes = vec![code];
            for guess in 0..most {
                let mut x = vec![];
                self.embed(codes[guess], position + guess, &mut x);
                let x = self.run(draft, x, std::slice::from_mut(row), &[1]);
                let Some(Scored { scores, .. }) = self.scored(&x).pop() else {
                    break;
                };
                let Some(next) = predict(scores) else { break };
                codes.push(next);
            }
            row.back_to(position);
            let mut x = vec![];
            for (at, &code) in (position..).zip(&codes) {
                self.embed(code, at, &mut x);
            }
            let count = codes.len();
            let x = self.run(&self.blocks, x, std::slice::from_mut(row), &[count]);
            let mut scored = self.scored(&x).into_iter();
            let first = scored.next();
            row.ahead = codes.into_iter().skip(1).zip(scored).collect();
            first.into_iter().collect()
        })
    }

    fn width(&self) -> usize {
        self.last_norm[0].elements().len()
    }

    /// Appends the vector of a code at its position to `x`.
    fn embed(&self, code: u32, position: usize, x: &mut Vec<f32>) {
        let width = self.width();
        let (codes, places) = (self.codes.elements(), self.code_positions.elements());
        let code = &codes[code as usize * width..][..width];
        let place = &places[position * width..][..width];
        x.extend(code.iter().zip(place).map(|(code, place)| code + place));
    }

    /// Runs positions through blocks, `counts` of each row.
    fn run(
        &self,
        blocks: &[CachedBlock],
        mut x: Vec<f32>,
        rows: &mut [HostRow],
        counts: &[usize],
    ) -> Vec<f32> {
        for (layer, block) in blocks.iter().enumerate() {
            let caches = rows.iter_mut().filter_map(|row| row.layers.get_mut(layer));
            let mut sequences: Vec<Positions<'_>> = caches
                .zip(counts)
                .map(|(cache, &count)| Positions { cache, count })
                .collect();
            block.advance(&mut x, &mut sequences);
        }
        x
    }

    /// Turns the blocks' output into the vectors that the heads and the waveform decoder read.
    #[expect(clippy::cast_possible_truncation, reason = "a constant")]
    fn latents(&self, x: &[f32]) -> Vec<f32> {
        let epsilon = EPSILON as f32;
        let hidden = normalise(x, &self.last_norm, epsilon);
        normalise(&hidden, &self.final_norm, epsilon)
    }

    /// Returns the latents and scores after each of the positions.
    fn scored(&self, x: &[f32]) -> Vec<Scored> {
        let width = self.width();
        let latents = self.latents(x);
        let scores = head_scores(&latents, &self.head);
        let tokens = self.head[1].elements().len();
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
