//! Runs the rows of a generation.

use burn::tensor::Tensor;
use myxtts_ops::inference::HostTensor;

use super::device::DeviceCache;
use super::error::GenerateError;
use super::host::HostRow;
use super::speaking::{Prefix, SpeakingGpt};

/// Predicts what a row that speaks alone would choose next, given these scores; `None` if it
/// would end.
pub(super) type Predict<'a> = &'a mut (dyn FnMut(Vec<f32>) -> Option<u32> + Send);

/// What the model returns after a row's last code.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    /// The vector that the scores were computed from, for the waveform decoder.
    pub(super) latent_11d: Tensor<3>,
    /// The score of every code.
    pub(super) scores: Vec<f32>,
}

/// The keys and values of rows, in their order.
#[derive(Debug)]
pub(super) enum Engine {
    /// On the CPU, with a cache for each row.
    Host(Vec<HostRow>),
    /// On another device, with one cache for all rows.
    Device(DeviceCache),
}

impl Engine {
    /// Makes an engine without rows.
    pub(super) fn new(gpt: &SpeakingGpt) -> Self {
        match gpt.host {
            Some(_) => Self::Host(vec![]),
            None => Self::Device(DeviceCache::default()),
        }
    }

    /// Adds a row behind the others, and returns its first scores. At most `codes` codes will
    /// follow.
    pub(super) fn begin(
        &mut self,
        gpt: &SpeakingGpt,
        prefix: Prefix,
        codes: usize,
    ) -> Result<Scored, GenerateError> {
        let Prefix {
            positions_1pd,
            voice,
        } = prefix;
        let [_, positions, _] = positions_1pd.dims();
        match (self, &gpt.host) {
            (Self::Host(rows), Some(host)) => {
                let prefix = HostTensor::of(positions_1pd).ok_or_else(elsewhere)?;
                let (row, scored) = host
                    .begin(prefix.elements(), voice, positions + codes)
                    .ok_or_else(elsewhere)?;
                rows.push(row);
                Ok(scored)
            }
            (Self::Device(cache), _) => cache.begin(gpt, positions_1pd),
            (Self::Host(_), None) => Err(elsewhere()),
        }
    }

    /// Returns the next scores of every row, given its last code and that code's position.
    pub(super) fn advance(
        &mut self,
        gpt: &SpeakingGpt,
        codes: &[(u32, usize)],
        predict: Option<Predict<'_>>,
    ) -> Result<Vec<Scored>, GenerateError> {
        if codes.is_empty() {
            return Ok(vec![]);
        }
        match (self, &gpt.host) {
            (Self::Host(rows), Some(host)) => Ok(host.advance(rows, codes, predict)),
            (Self::Device(cache), _) => cache.advance(gpt, codes),
            (Self::Host(_), None) => Err(elsewhere()),
        }
    }

    /// Keeps these rows, in this order; one may come twice.
    pub(super) fn keep(&mut self, order: &[usize]) {
        match self {
            Self::Host(rows) => {
                let mut left: Vec<Option<HostRow>> = rows.drain(..).map(Some).collect();
                for (at, &row) in order.iter().enumerate() {
                    let again = order[at + 1..].contains(&row);
                    let kept = match left.get_mut(row) {
                        Some(row) if again => row.clone(),
                        Some(row) => row.take(),
                        None => None,
                    };
                    rows.extend(kept);
                }
            }
            Self::Device(cache) => cache.keep(order),
        }
    }
}

/// Makes the error of a voice that is not on the model's device.
pub(super) fn elsewhere() -> GenerateError {
    GenerateError::Device {
        step: 0,
        why: "the voice is not on the model's device".to_owned(),
    }
}
