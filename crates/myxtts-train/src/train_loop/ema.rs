//! A moving average of the weights, on the host.
//!
//! It is wanted where the weights are used and not where they are trained:
//! in validation, samples, synthesis and exports. A checkpoint's model is the
//! average; the weights it is the average of lie beside it, for resuming. The host has the memory for it. Reading
//! the weights of a large model back takes as long as a step, so that is done
//! for every tenth, whose share is that of ten.

use burn::tensor::TensorData;
use myxtts_model::params::{ReadError, StateDict, Unread};

use super::meter::Meter;

/// Steps between two reads of the weights.
const EVERY: u64 = 10;

/// The moving average of every weight, by name.
#[derive(Clone, Debug)]
pub struct Ema {
    decay: f32,
    average: StateDict,
}

impl Ema {
    /// Starts the average from the present weights.
    #[expect(clippy::cast_possible_truncation, reason = "a share between 0 and 1")]
    pub(crate) fn new(decay: f64, weights: StateDict) -> Self {
        Self {
            decay: decay as f32,
            average: weights,
        }
    }

    /// Updates the average after a step. `weights` is only called when the step is one that
    /// counts; its tensors are then read one after the other, with the time counted by `meter`.
    ///
    /// # Errors
    /// When a tensor cannot be read from the device.
    pub(crate) fn after(
        &mut self,
        step: u64,
        meter: &Meter,
        weights: impl FnOnce() -> Vec<Unread>,
    ) -> Result<(), ReadError> {
        if !Self::is_due(step) {
            return Ok(());
        }
        for tensor in weights() {
            let new = meter.reading_back(|| tensor.read())?;
            self.update(tensor.name(), &new);
        }
        Ok(())
    }

    /// Whether a step is one that counts.
    pub(crate) fn is_due(step: u64) -> bool {
        step.is_multiple_of(EVERY)
    }

    fn update(&mut self, name: &str, new: &TensorData) {
        let keep = (0..EVERY).fold(1.0, |keep, _| keep * self.decay);
        if let Some(average) = self.average.get_mut(name) {
            let moved: Vec<f32> = average
                .iter::<f32>()
                .zip(new.iter::<f32>())
                .map(|(old, new)| old * keep + new * (1.0 - keep))
                .collect();
            *average = TensorData::new(moved, average.shape().to_vec());
        }
    }

    /// Returns the share of the average that one step keeps.
    pub(crate) fn decay(&self) -> f64 {
        f64::from(self.decay)
    }

    /// Returns the average without copying it.
    pub(crate) fn into_weights(self) -> StateDict {
        self.average
    }

    /// Returns the average of each weight, by name.
    pub(crate) fn weights(&self) -> &StateDict {
        &self.average
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_by_the_rest_of_ten_decays() {
        let data = |value: f32| TensorData::from([value]);
        let weights = |value: f32| Unread::with("w", vec![1], move || Ok(data(value)));
        let mut ema = Ema::new(0.9, StateDict::from([("w".to_owned(), data(0.0))]));
        for step in 1..=25 {
            ema.after(step, &Meter::default(), || vec![weights(8.0)])
                .unwrap();
        }
        let average: Vec<f32> = ema.weights()["w"].iter().collect();
        let kept = 0.9_f32.powi(20);
        assert!(
            (average[0] - 8.0 * (1.0 - kept)).abs() < 1e-5,
            "{average:?}"
        );
    }
}
