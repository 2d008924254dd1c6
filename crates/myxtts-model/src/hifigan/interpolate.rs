//! Linear interpolation over time, as the reference rounds it.

use burn::tensor::{Tensor, TensorData};

/// Returns the number of frames that `frames` become at `scale` times the rate.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and far below 2^53"
)]
pub(super) fn scaled_frames(frames: usize, scale: f64) -> usize {
    (frames as f64 * scale).floor() as usize
}

/// Interpolates `x_bct` to `scale` times its frame rate.
///
/// Positions come from `scale` itself and not from the rounded lengths, and in
/// `f32`: that is what the weights of the public model heard in training.
pub fn interpolate(x_bct: Tensor<3>, scale: f64) -> Tensor<3> {
    let [_, _, frames] = x_bct.dims();
    let outputs = scaled_frames(frames, scale);
    let device = x_bct.device();
    let positions = positions(frames, outputs, scale);
    let index = |of: fn(&Position) -> usize| {
        let index: Vec<i64> = positions.iter().map(|p| of(p) as i64).collect();
        Tensor::from_data(TensorData::new(index, [outputs]), &device)
    };
    let weights: Vec<f32> = positions.iter().map(|p| p.weight).collect();
    let right_11t = Tensor::<3>::from_data(TensorData::new(weights, [1, 1, outputs]), &device);
    let left_bct = x_bct.clone().select(2, index(|p| p.left));
    let after_bct = x_bct.select(2, index(|p| p.right));
    left_bct * (right_11t.clone().neg() + 1.0) + after_bct * right_11t
}

/// The rates by which codes become the generator's frames: to the hop first, then to the output's
/// rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameRates {
    pub(super) per_code: f64,
    pub(super) ratio: f64,
}

impl FrameRates {
    /// Returns the number of frames of `codes` codes.
    pub fn count(self, codes: usize) -> usize {
        scaled_frames(scaled_frames(codes, self.per_code), self.ratio)
    }

    /// Interpolates latents `(batch, codes, channels)` to frames `(batch, channels, frames)`.
    pub fn frames(self, latents_btc: Tensor<3>) -> Tensor<3> {
        let at_hop_bct = interpolate(latents_btc.swap_dims(1, 2), self.per_code);
        if self.ratio == 1.0 {
            at_hop_bct
        } else {
            interpolate(at_hop_bct, self.ratio)
        }
    }
}

/// The frames that an output lies between, and how near it is to the right one.
pub(super) struct Position {
    pub(super) left: usize,
    pub(super) right: usize,
    pub(super) weight: f32,
}

fn positions(frames: usize, outputs: usize, scale: f64) -> Vec<Position> {
    let last = frames.saturating_sub(1);
    let at = |output: usize| position(output, scale, last);
    (0..outputs).map(at).collect()
}

/// Returns where an output lies among frames up to `last`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the reference's own f32 arithmetic"
)]
pub(super) fn position(output: usize, scale: f64, last: usize) -> Position {
    let step = (1.0 / scale) as f32;
    let at = (step * (output as f32 + 0.5) - 0.5).max(0.0);
    let left = (at as usize).min(last);
    Position {
        left,
        right: (left + 1).min(last),
        weight: (at - left as f32).clamp(0.0, 1.0),
    }
}
