//! A generation in progress.

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::cache::KvCache;
use super::sampling::{Sampler, SamplingConfig};
use crate::gpt::{Gpt, TooLong};

/// Why a generation stopped short.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The text has more tokens than the model has positions.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The device failed.
    #[error(
        "the scores of code {step} could not be read from the device: {why}\n  \
         fix: a device out of memory does this; generate shorter texts or use another device"
    )]
    Device {
        /// How many codes there were.
        step: usize,
        /// The engine's words.
        why: String,
    },
    /// The model does not work.
    #[error(
        "the scores of code {0} are not numbers: the weights are damaged or training diverged; \
         use an earlier checkpoint"
    )]
    NotANumber(usize),
}

/// One more code, and the vector it was chosen from.
#[derive(Clone, Debug)]
pub struct Step {
    /// The code; STOP is the last.
    pub code: u32,
    /// For the vocoder, `(1, 1, channels)`.
    pub latent_11d: Tensor<3>,
}

/// A whole generation.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The codes, with STOP at the end unless the limit came first.
    pub codes: Vec<u32>,
    /// A vector per code, for the vocoder: `(1, codes, channels)`.
    pub latents_1nd: Tensor<3>,
    /// Whether the model itself stopped.
    pub stopped: bool,
}

/// Makes codes one by one.
pub struct Generation {
    gpt: Gpt,
    device: Device,
    cache: KvCache,
    sampler: Sampler,
    limit: usize,
    made: usize,
    /// The input of the next position; `None` after STOP.
    next_btd: Option<Tensor<3>>,
}

impl Generation {
    /// Starts with a voice, `(1, latents, channels)` as
    /// [`Gpt::condition`] gives it, and the tokens of a text.
    pub fn new(
        gpt: &Gpt,
        voice_1nd: Tensor<3>,
        text: &[u32],
        config: SamplingConfig,
    ) -> Result<Self, GenerateError> {
        let gpt = gpt.valid();
        let voice_1nd = voice_1nd.inner();
        let device = voice_1nd.device();
        let vocabulary = gpt.config().vocabulary;
        let prefix_btd = gpt.prefix(voice_1nd, ids(text, &device))?;
        let start_btd = gpt.embed_codes(ids(&[vocabulary.start_audio()], &device), 0);
        let most = vocabulary.max_new_codes();
        Ok(Self {
            cache: KvCache::new(&gpt),
            sampler: Sampler::new(config, &vocabulary),
            limit: config.max_codes.map_or(most, |asked| asked.min(most)),
            made: 0,
            next_btd: Some(Tensor::cat(vec![prefix_btd, start_btd], 1)),
            device,
            gpt,
        })
    }

    /// The next code; `None` after STOP or at the limit.
    pub fn step(&mut self) -> Result<Option<Step>, GenerateError> {
        if self.made == self.limit {
            return Ok(None);
        }
        let Some(x_btd) = self.next_btd.take() else {
            return Ok(None);
        };
        let [_, added, _] = x_btd.dims();
        let hidden_btd = self.cache.advance(&self.gpt, x_btd);
        let latent_11d = self.gpt.latent(hidden_btd.narrow(1, added - 1, 1));
        let scores = self.scores(latent_11d.clone())?;
        let code = self.sampler.next(scores);
        self.made += 1;
        if code != self.gpt.config().vocabulary.stop_audio() {
            let id_11 = ids(&[code], &self.device);
            self.next_btd = Some(self.gpt.embed_codes(id_11, self.made));
        }
        Ok(Some(Step { code, latent_11d }))
    }

    fn scores(&self, latent_11d: Tensor<3>) -> Result<Vec<f32>, GenerateError> {
        let scores = self
            .gpt
            .code_scores(latent_11d)
            .try_into_vec_as::<f32>()
            .map_err(|why| GenerateError::Device {
                step: self.made,
                why: why.to_string(),
            })?;
        if scores.iter().any(|score| score.is_nan()) {
            return Err(GenerateError::NotANumber(self.made));
        }
        Ok(scores)
    }
}

/// All codes at once.
pub fn generate(
    gpt: &Gpt,
    voice_1nd: Tensor<3>,
    text: &[u32],
    config: SamplingConfig,
) -> Result<Generated, GenerateError> {
    let [_, _, channels] = voice_1nd.dims();
    let mut generation = Generation::new(gpt, voice_1nd, text, config)?;
    let mut codes = vec![];
    let mut latents = vec![];
    while let Some(step) = generation.step()? {
        codes.push(step.code);
        latents.push(step.latent_11d);
    }
    let latents_1nd = if latents.is_empty() {
        Tensor::zeros([1, 0, channels], &generation.device)
    } else {
        Tensor::cat(latents, 1)
    };
    let stop = gpt.config().vocabulary.stop_audio();
    Ok(Generated {
        stopped: codes.last() == Some(&stop),
        codes,
        latents_1nd,
    })
}

fn ids(ids: &[u32], device: &Device) -> Tensor<2, Int> {
    let values: Vec<i64> = ids.iter().map(|&id| i64::from(id)).collect();
    Tensor::from_data(TensorData::new(values, [1, ids.len()]), device)
}
