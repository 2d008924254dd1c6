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

/// Steps from one look at the weights to the next.
const EVERY: u64 = 10;

/// Averages by name.
#[derive(Clone, Debug)]
pub struct Ema {
    decay: f32,
    average: StateDict,
}

impl Ema {
    /// From the weights as they are.
    #[expect(clippy::cast_possible_truncation, reason = "a share between 0 and 1")]
    pub(crate) fn new(decay: f64, weights: StateDict) -> Self {
        Self {
            decay: decay as f32,
            average: weights,
        }
    }

    /// After a step, with the weights to read if it is one that counts. They
    /// are read one after the other, on the `meter`.
    ///
    /// # Errors
    /// When the device does not give one.
    pub(crate) fn after(
        &mut self,
        step: u64,
        meter: &Meter,
        weights: impl FnOnce() -> Vec<Unread>,
    ) -> Result<(), ReadError> {
        if !step.is_multiple_of(EVERY) {
            return Ok(());
        }
        for tensor in weights() {
            let new = meter.reading_back(|| tensor.read())?;
            self.update(tensor.name(), &new);
        }
        Ok(())
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

    /// What is kept of it in a step.
    pub(crate) fn decay(&self) -> f64 {
        f64::from(self.decay)
    }

    /// The average, without a copy.
    pub(crate) fn into_weights(self) -> StateDict {
        self.average
    }

    /// The average.
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
