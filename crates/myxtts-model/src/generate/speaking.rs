//! A GPT that is about to speak.

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_ops::Compute;
use myxtts_ops::inference::{CachedBlock, HostTensor};

use super::engine::elsewhere;
use super::error::GenerateError;
use super::voices::Voices;
use crate::conditioning::{ConditioningEncoder, PerceiverResampler};
use crate::gpt::{Gpt, GptConfig, TooLong};

/// Weights from which on a step waits for memory, and guessing pays: in f32
/// they are larger than the caches of most processors.
const DRAFTED: usize = 1 << 24;

/// A GPT without gradients, with its weights as speaking reads them.
///
/// Made once, by [`Gpt::into_speaking`]; clones share the weights.
#[derive(Clone, Debug)]
pub struct SpeakingGpt {
    /// Without its blocks where `host` has them.
    pub(super) gpt: Gpt,
    pub(super) host: Option<HostGpt>,
}

/// What stands before the first code.
#[derive(Clone, Debug)]
pub(super) struct Prefix {
    pub(super) positions_1pd: Tensor<3>,
    /// How many of them are the voice.
    pub(super) voice: usize,
}

/// What the CPU reads where the tensors have it.
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
    /// Those that spoke last.
    pub(super) voices: Voices,
}

impl Gpt {
    /// Ready to speak, beside this model: on the CPU its weights are then in
    /// memory twice.
    pub fn for_speaking(&self) -> SpeakingGpt {
        self.clone().into_speaking()
    }

    /// Ready to speak: without gradients, and on the CPU by way of blocks of our
    /// own, whose weights lie in the order in which they are read.
    pub fn into_speaking(self) -> SpeakingGpt {
        let mut gpt = self.valid();
        // Before its blocks are taken: whatever holds them keeps them in memory.
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
    /// With the engine's operations, which every device has. On the CPU they
    /// are what the faster way is compared with.
    pub fn plain(gpt: &Gpt) -> Self {
        Self {
            gpt: gpt.valid(),
            host: None,
        }
    }

    /// Guesses the next codes of a row that speaks alone with its weights in
    /// eight bits, and then computes them all at once as they are, which costs
    /// little more than one: what comes out is the same, wrong guesses only
    /// take time. [`Gpt::into_speaking`] does so where the weights are too large
    /// for a cache; elsewhere than on the CPU there is nothing to gain.
    #[must_use]
    pub fn drafting(mut self) -> Self {
        if let Some(host) = &mut self.host {
            let rounded = host.blocks.iter().map(CachedBlock::rounded);
            host.draft = Some(rounded.collect());
        }
        self
    }

    /// The same weights without the voices that were heard: the next text of
    /// each is again the first.
    #[must_use]
    pub fn without_voices(&self) -> Self {
        let mut without = self.clone();
        if let Some(host) = &mut without.host {
            host.voices = Voices::default();
        }
        without
    }

    /// Its sizes.
    pub fn config(&self) -> &GptConfig {
        self.gpt.config()
    }

    /// A voice: see [`Gpt::condition`].
    pub fn condition(&self, mel_bcs: Tensor<3>) -> Tensor<3> {
        self.gpt.condition(mel_bcs)
    }

    /// What hears voices.
    pub fn conditioning(&self) -> (&ConditioningEncoder, &PerceiverResampler) {
        let Gpt {
            conditioning_encoder,
            conditioning_perceiver,
            ..
        } = &self.gpt;
        (conditioning_encoder, conditioning_perceiver)
    }

    /// The vectors that predict each of the given codes, `(1, codes, channels)`:
    /// see [`Gpt::latents`].
    ///
    /// # Errors
    /// When text or codes have more tokens than the model has positions.
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

    /// What a row starts from: the voice, the text, START of the codes.
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
    /// Of a model on the CPU, whose blocks it takes.
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
            // Last: nothing is left to fail when they are gone.
            blocks: gpt.gpt.take_cached_blocks()?,
        })
    }
}

/// A row of ids.
pub(super) fn ids(ids: &[u32], device: &Device) -> Tensor<2, Int> {
    let values: Vec<i64> = ids.iter().map(|&id| i64::from(id)).collect();
    Tensor::from_data(TensorData::new(values, [1, ids.len()]), device)
}
