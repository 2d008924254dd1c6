//! Linear interpolation over time, of frames that are still coming.

use super::super::interpolate::{position, scaled_frames};

/// Interpolates frames to another rate, each by its index in the whole.
#[derive(Clone, Debug)]
pub(super) struct Interpolation {
    channels: usize,
    scale: f64,
    /// The frames that are still needed, one after the other.
    held: Vec<f32>,
    /// The index of the first frame in `held`.
    first: usize,
    /// How many frames have come in; `made` is how many have gone out.
    seen: usize,
    made: usize,
}

impl Interpolation {
    pub(super) fn new(channels: usize, scale: f64) -> Self {
        Self {
            channels,
            scale,
            held: vec![],
            first: 0,
            seen: 0,
            made: 0,
        }
    }

    /// Takes frames, one after the other, and returns those between two that are known.
    pub(super) fn push(&mut self, frames: &[f32], last: bool) -> Vec<f32> {
        self.held.extend_from_slice(frames);
        self.seen += frames.len() / self.channels.max(1);
        let mut out = vec![];
        // A slower rate drops the last part of a frame, so no more than these are certain.
        let end = scaled_frames(self.seen, self.scale);
        while self.made < end {
            // Only the end knows the last frame, at which positions beyond it stay.
            let at = position(self.made, self.scale, self.seen - 1);
            if !last && at.left + 1 >= self.seen {
                break;
            }
            let frame = |index: usize| {
                let start = (index - self.first) * self.channels;
                &self.held[start..start + self.channels]
            };
            let pairs = frame(at.left).iter().zip(frame(at.right));
            out.extend(pairs.map(|(left, right)| left * (1.0 - at.weight) + right * at.weight));
            self.made += 1;
        }
        if self.seen > 0 {
            let needed = position(self.made, self.scale, self.seen - 1).left;
            self.held.drain(..(needed - self.first) * self.channels);
            self.first = needed;
        }
        out
    }
}
