//! A GPT prepared for speaking.

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_ops::Compute;
use myxtts_ops::inference::{CachedBlock, HostTensor};

use super::engine::elsewhere;
use super::error::GenerateError;
use super::voices::Voices;
use crate::conditioning::{ConditioningEncoder, PerceiverResampler};
use crate::gpt::{Gpt, GptConfig, TooLong};

/// The number of weights from which on a step waits for memory, so that guessing pays: in f32
/// they are larger than the caches of most processors.
const DRAFTED: usize = 1 << 24;

/// A GPT without gradients, with its weights laid out for speaking.
///
/// Made once, by [`Gpt::into_speaking`]; clones share the weights.
#[derive(Clone, Debug)]
pub struct SpeakingGpt {
    /// The model; its blocks are missing if `host` has them.
    pub(super) gpt: Gpt,
    pub(super) host: Option<HostGpt>,
}

/// The positions before the first code.
#[derive(Clone, Debug)]
pub(super) struct Prefix {
    pub(super) positions_1pd: Tensor<3>,
    /// How many of the positions are the voice.
    pub(super) voice: usize,
}

/// The weights that the CPU reads directly.
#[derive(Clone, Debug)]
pub(super) struct HostGpt {
    pub(super) blocks: Vec<CachedBlock>,
    /// The blocks in eight bits, to guess codes with.
    pub(super) draft: Option<Vec<CachedBlock>>,
    pub(super) last_norm: [HostTensor; 2],
    pub(super) final_norm: [HostTensor; 2],
    pub(super) head: [HostTensor; 2],
    pub(super) codes: HostTensor,
    pub(super) code_positions: HostTensor,
    /// The voices that spoke last.
    pub(super) voices: Voices,
}

impl Gpt {
    /// Returns a copy prepared for speaking. On the CPU the weights are then in memory twice.
    pub fn for_speaking(&self) -> SpeakingGpt {
        self.clone().into_speaking()
    }

    /// Prepares the model for speaking: without gradients, and on the CPU with blocks of our own,
    /// whose weights lie in the order in which they are read.
    pub fn into_speaking(self) -> SpeakingGpt {
        let mut gpt = self.valid();
        // Dropped before the blocks are taken: whatever holds them keeps them in memory.
        drop(self);
        let host = (gpt.compute() == Compute::F32)
            .then(|| HostGpt::of(&mut gpt))
            .flatten();
        let speaking = SpeakingGpt { gpt, host };
        let weights = |host: &HostGpt| host.blocks.iter().map(CachedBlock::weights).sum::<usize>();
        if speaking.host.as_ref().map_or(0, weights) >= DRAFTED {
            speaking.drafting()
        } else {
            speaking
        }
    }
}

impl SpeakingGpt {
    /// Speaks with the engine's operations, which every device has. On the CPU they are what the
    /// faster path is compared with.
    pub fn plain(gpt: &Gpt) -> Self {
        Self {
            gpt: gpt.valid(),
            host: None,
        }
    }

    /// Guesses the next codes of a row that speaks alone with weights in eight bits, and then
    /// computes them all at once with the weights as they are, which costs little more than one.
    /// The result is the same; wrong guesses only take time. [`Gpt::into_speaking`] does this
    /// where the weights are too large for a cache; on other devices than the CPU there is
    /// nothing to gain.
    #[must_use]
    pub fn drafting(mut self) -> Self {
        if let Some(host) = &mut self.host {
            let rounded = host.blocks.iter().map(CachedBlock::rounded);
            host.draft = Some(rounded.collect());
        }
        self
    }

    /// Returns the same weights without the voices heard so far: the next text of each voice
    /// counts as its first again.
    #[must_use]
    pub fn without_voices(&self) -> Self {
        let mut without = self.clone();
        if let Some(host) = &mut without.host {
            host.voices = Voices::default();
        }
        without
    }

    /// Returns the sizes of the model.
    pub fn config(&self) -> &GptConfig {
        self.gpt.config()
    }

    /// Computes the latents of a voice: see [`Gpt::condition`].
    pub fn condition(&self, mel_bcs: Tensor<3>) -> Tensor<3> {
        self.gpt.condition(mel_bcs)
    }

    /// Returns the parts that compute the latents of a voice.
    pub fn conditioning(&self) -> (&ConditioningEncoder, &PerceiverResampler) {
        let Gpt {
            conditioning_encoder,
            conditioning_perceiver,
            ..
        } = &self.gpt;
        (conditioning_encoder, conditioning_perceiver)
    }

    /// Returns the vectors that predict each of the given codes, `(1, codes, channels)`: see
    /// [`Gpt::latents`].
    ///
    /// # Errors
    /// When the text or the codes have more tokens than the model has positions.
    pub fn latents(
        &self,
        voice_1nd: Tensor<3>,
        text: &[u32],
        codes: &[u32],
    ) -> Result<Tensor<3>, GenerateError> {
        let device = voice_1nd.device();
        let Some(host) = &self.host else {
            let (text_1t, codes_1m) = (ids(text, &device), ids(codes, &device));
            return Ok(self.gpt.latents(voice_1nd, text_1t, codes_1m)?);
        };
        let positions = self.config().vocabulary.audio_positions();
        TooLong::check("audio codes", codes.len(), positions)?;
        let [_, _, channels] = voice_1nd.dims();
        let Prefix { positions_1pd, .. } = self.prefix(voice_1nd, text)?;
        let prefix = HostTensor::of(positions_1pd).ok_or_else(elsewhere)?;
        let latents = host.told(prefix.elements(), codes);
        let data = TensorData::new(latents, [1, codes.len(), channels]);
        Ok(Tensor::from_data(data, &device))
    }

    /// Makes what a row starts from: the voice, the text, START of the codes.
    pub(super) fn prefix(
        &self,
        voice_1nd: Tensor<3>,
        text: &[u32],
    ) -> Result<Prefix, GenerateError> {
        let voice_1nd = voice_1nd.inner();
        let [_, voice, _] = voice_1nd.dims();
        let device = voice_1nd.device();
        let start = self.config().vocabulary.start_audio();
        let prefix_1pd = self.gpt.prefix(voice_1nd, ids(text, &device))?;
        let start_11d = self.gpt.embed_codes(ids(&[start], &device), 0);
        Ok(Prefix {
            positions_1pd: Tensor::cat(vec![prefix_1pd, start_11d], 1),
            voice,
        })
    }
}

impl HostGpt {
    /// Takes the weights of a model on the CPU, and its blocks with them.
    fn of(gpt: &mut Gpt) -> Option<Self> {
        let norm = |norm: &crate::layers::NormParams| {
            Some([
                HostTensor::of(norm.weight.val())?,
                HostTensor::of(norm.bias.val())?,
            ])
        };
        Some(Self {
            draft: None,
            last_norm: norm(&gpt.gpt.ln_f)?,
            final_norm: norm(&gpt.final_norm)?,
            head: [
                HostTensor::of(gpt.mel_head.weight.val())?,
                HostTensor::of(gpt.mel_head.bias.as_ref()?.val())?,
            ],
            codes: HostTensor::of(gpt.mel_embedding.weight.val())?,
            code_positions: HostTensor::of(gpt.mel_pos_embedding.emb.weight.val())?,
            voices: Voices::default(),
            // Taken last: nothing can fail after they are gone.
            blocks: gpt.gpt.take_cached_blocks()?,
        })
    }
}

/// Makes a tensor of one row of ids.
pub(super) fn ids(ids: &[u32], device: &Device) -> Tensor<2, Int> {
    let values: Vec<i64> = ids.iter().map(|&id| i64::from(id)).collect();
    Tensor::from_data(TensorData::new(values, [1, ids.len()]), device)
}
