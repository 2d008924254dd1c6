//! A moving average of the weights, on the host.
//!
//! It is wanted where the weights are used and not where they are trained:
//! in validation, samples and exports. The host has the memory for it, and
//! reading the weights back costs a fraction of a step.

use burn::tensor::TensorData;
use myxtts_model::params::StateDict;

/// Averages by name.
#[derive(Clone, Debug)]
pub struct Ema {
    decay: f32,
    average: StateDict,
}

impl Ema {
    /// From the weights as they are.
    #[expect(clippy::cast_possible_truncation, reason = "a share between 0 and 1")]
    pub fn new(decay: f64, weights: StateDict) -> Self {
        Self {
            decay: decay as f32,
            average: weights,
        }
    }

    /// Moves towards the weights.
    pub fn update(&mut self, weights: &StateDict) {
        let keep = self.decay;
        for (name, average) in &mut self.average {
            let Some(new) = weights.get(name) else {
                continue;
            };
            let moved: Vec<f32> = average
                .iter::<f32>()
                .zip(new.iter::<f32>())
                .map(|(old, new)| old * keep + new * (1.0 - keep))
                .collect();
            *average = TensorData::new(moved, average.shape().to_vec());
        }
    }

    /// What is kept of it in a step.
    pub fn decay(&self) -> f64 {
        f64::from(self.decay)
    }

    /// The average.
    pub fn weights(&self) -> &StateDict {
        &self.average
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_by_the_rest_of_the_decay() {
        let weights = |value: f32| StateDict::from([("w".to_owned(), TensorData::from([value]))]);
        let mut ema = Ema::new(0.75, weights(0.0));
        ema.update(&weights(8.0));
        ema.update(&weights(8.0));
        let average: Vec<f32> = ema.weights()["w"].iter().collect();
        assert_eq!(average, [3.5]);
    }
}
