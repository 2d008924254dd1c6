//! The generator on any device, over windows of frames.
//!
//! The new frames are decoded with as many before and after them as a sample hears; samples that
//! heard the window's edge are not given out.

use burn::tensor::{Tensor, TensorData};

use super::super::generator::Generator;
use super::WaveError;

/// A waveform in progress.
#[derive(Debug)]
pub(super) struct WindowStream {
    generator: Generator,
    speaker_1c1: Tensor<3>,
    channels: usize,
    /// Frames that a sample hears on each side of its own.
    reach: usize,
    /// The samples of a frame.
    hop: usize,
    /// The frames that are still needed, one after the other.
    held: Vec<f32>,
    /// The index of the first frame in `held`.
    first: usize,
    /// Frames whose samples have gone out.
    made: usize,
}

impl WindowStream {
    pub(super) fn new(generator: Generator, speaker_1c1: Tensor<3>) -> Self {
        Self {
            channels: generator.conv_pre.weight.dims()[1],
            reach: generator.reach(),
            hop: generator.hop(),
            generator,
            speaker_1c1,
            held: vec![],
            first: 0,
            made: 0,
        }
    }

    pub(super) fn push(&mut self, frames: Vec<f32>, last: bool) -> Result<Vec<f32>, WaveError> {
        self.held.extend(frames);
        let width = self.held.len() / self.channels.max(1);
        let seen = self.first + width;
        let certain = if last {
            seen
        } else {
            seen.saturating_sub(self.reach)
        };
        if certain <= self.made {
            return Ok(vec![]);
        }
        let shape = [1, width, self.channels];
        let data = TensorData::new(self.held.clone(), shape);
        let frames_1tc = Tensor::<3>::from_data(data, &self.speaker_1c1.device());
        let wave_11t = self
            .generator
            .forward(frames_1tc.swap_dims(1, 2), self.speaker_1c1.clone());
        let samples = wave_11t
            .narrow(
                2,
                (self.made - self.first) * self.hop,
                (certain - self.made) * self.hop,
            )
            .try_into_vec_as::<f32>()
            .map_err(|why| WaveError(why.to_string()))?;
        self.made = certain;
        let needed = self.made.saturating_sub(self.reach);
        if needed > self.first {
            self.held.drain(..(needed - self.first) * self.channels);
            self.first = needed;
        }
        Ok(samples)
    }
}
