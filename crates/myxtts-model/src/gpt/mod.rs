//! The GPT over text and audio codes, conditioned on a voice.
//!
//! ```text
//! mel ─> encoder ─> resampler ─┐
//! text tokens ─> embeddings ───┼─> [latents | text | codes] ─> blocks ─> norms ─> heads
//! audio codes ─> embeddings ───┘
//! ```
//!
//! Suffixes: b batch, p all positions, t text positions, m audio positions,
//! d channels, v tokens.

mod adapters;
mod batch;
mod config;
mod count;
mod dropout;
mod freeze;
mod memory;
mod quirks;
mod recompute;
mod transformer;

use burn::module::Module;
use burn::tensor::{Int, Tensor};
use myxtts_ops::{AttentionMask, Compute, CrossEntropy, cross_entropy};

pub use batch::{GptBatch, TooLong};
pub use config::{GptConfig, Vocabulary};
pub use count::ParameterCount;
pub use dropout::StepDropout;
pub use freeze::{FreezeError, check_frozen};
pub use memory::{BatchShape, Kernels, TrainingMemory, rows_within};
pub use quirks::{Quirks, RowLengths};
pub(crate) use transformer::EPSILON;
pub use transformer::Transformer;

use crate::conditioning::{ConditioningEncoder, PerceiverResampler};
use crate::init::Init;
use crate::layers::{Embedding, Linear, NormParams};

/// The GPT of XTTS, with what conditions it on a voice.
#[derive(Module, Debug)]
pub struct Gpt {
    /// Encodes the mel frames of a voice.
    pub conditioning_encoder: ConditioningEncoder,
    /// Resamples frames to a fixed number of latents.
    pub conditioning_perceiver: PerceiverResampler,
    /// Embeds text tokens, START and STOP included.
    pub text_embedding: Embedding,
    /// Embeds audio codes, START and STOP included.
    pub mel_embedding: Embedding,
    /// The transformer blocks, with the norm after them.
    pub gpt: Transformer,
    /// Embeds the positions of codes.
    pub mel_pos_embedding: PositionEmbedding,
    /// Embeds the positions of text.
    pub text_pos_embedding: PositionEmbedding,
    /// The norm before the heads.
    pub final_norm: NormParams,
    /// Scores text tokens, given the normalised output.
    pub text_head: Linear,
    /// Scores audio codes, given the normalised output.
    pub mel_head: Linear,
    #[module(skip)]
    config: GptConfig,
    #[module(skip)]
    compute: Compute,
}

/// A learned vector for every position.
#[derive(Module, Debug)]
pub struct PositionEmbedding {
    /// The vectors, `(positions, channels)`.
    pub(crate) emb: Embedding,
}

impl PositionEmbedding {
    fn new(init: &Init, positions: usize, channels: usize) -> Self {
        Self {
            emb: Embedding::new(init, positions, channels, 0.02),
        }
    }

    /// Returns the vectors of `length` positions from `start` on.
    fn at(&self, start: usize, length: usize) -> Tensor<3> {
        self.emb.weight.val().narrow(0, start, length).unsqueeze()
    }
}

/// The scores and targets that training compares.
#[derive(Clone, Debug)]
pub struct GptOutput {
    /// The output of the blocks, latents included, before the final norm.
    pub hidden_bpd: Tensor<3>,
    /// The scores of text tokens.
    pub text_logits_btv: Tensor<3>,
    /// The text tokens to predict; negative where nothing counts.
    pub text_targets_bt: Tensor<2, Int>,
    /// The scores of codes.
    pub mel_logits_bmv: Tensor<3>,
    /// The codes to predict; negative where nothing counts.
    pub mel_targets_bm: Tensor<2, Int>,
}

/// What the waveform decoder is trained on.
#[derive(Clone, Debug)]
pub struct TeacherForced {
    /// The vector that predicts each code.
    pub latents_bmd: Tensor<3>,
    /// The latents of the voice.
    pub voice_bnd: Tensor<3>,
}

/// The sequences of a batch, in the order in which the blocks read them: the latents of the voice,
/// the text, the codes.
struct Sequences {
    latents: usize,
    text: batch::Sequence,
    codes: batch::Sequence,
    mask: AttentionMask,
}

/// The two losses, each the mean over the tokens of the whole batch.
#[derive(Clone, Debug)]
pub struct GptLosses {
    /// The loss of the text.
    pub text: Tensor<1>,
    /// The loss of the codes.
    pub mel: Tensor<1>,
}

impl GptLosses {
    /// Returns the weighted sum; the public recipe has weights of 0.01 and 1.
    pub fn total(&self, text_weight: f64, mel_weight: f64) -> Tensor<1> {
        self.text.clone() * text_weight + self.mel.clone() * mel_weight
    }
}

impl GptOutput {
    /// Computes both cross entropies.
    pub fn losses(&self, label_smoothing: f64) -> GptLosses {
        let loss = |logits_btv: &Tensor<3>, targets_bt: &Tensor<2, Int>| {
            let [batch, length, tokens] = logits_btv.dims();
            cross_entropy(
                logits_btv.clone().reshape([batch * length, tokens]),
                targets_bt.clone().reshape([batch * length]),
                CrossEntropy { label_smoothing },
            )
        };
        GptLosses {
            text: loss(&self.text_logits_btv, &self.text_targets_bt),
            mel: loss(&self.mel_logits_bmv, &self.mel_targets_bm),
        }
    }
}

impl Gpt {
    /// Makes a new model.
    pub fn new(init: &Init, config: &GptConfig) -> Self {
        let GptConfig {
            layers,
            channels,
            heads,
            vocabulary,
            ..
        } = *config;
        let tokens = |count: usize| Embedding::new(init, count, channels, config.embedding_std);
        Self {
            conditioning_encoder: ConditioningEncoder::new(
                init,
                config.mel_bands,
                channels,
                heads,
                config.encoder_blocks,
            ),
            conditioning_perceiver: PerceiverResampler::new(init, channels, &config.perceiver),
            text_embedding: tokens(vocabulary.text_tokens),
            mel_embedding: tokens(vocabulary.audio_tokens()),
            gpt: Transformer::new(init, layers, channels, heads),
            mel_pos_embedding: PositionEmbedding::new(init, vocabulary.audio_positions(), channels),
            text_pos_embedding: PositionEmbedding::new(init, vocabulary.text_positions(), channels),
            final_norm: NormParams::new(init, channels),
            text_head: Linear::new(init, channels, vocabulary.text_tokens, true),
            mel_head: Linear::new(init, channels, vocabulary.audio_tokens(), true),
            config: config.clone(),
            compute: Compute::F32,
        }
    }

    /// Returns the sizes of the model.
    pub fn config(&self) -> &GptConfig {
        &self.config
    }

    /// Sets the precision in which the products of every linear layer are computed.
    #[must_use]
    pub fn with_compute(self, compute: Compute) -> Self {
        Self { compute, ..self }
    }

    /// Returns the precision in which products of linear layers are computed.
    pub fn compute(&self) -> Compute {
        self.compute
    }

    /// Encodes a voice: mel `(batch, bands, frames)` to latents `(batch, latents, channels)`.
    pub fn condition(&self, mel_bcs: Tensor<3>) -> Tensor<3> {
        let frames_bds = self.conditioning_encoder.forward(mel_bcs, self.compute);
        self.conditioning_perceiver
            .forward(frames_bds.swap_dims(1, 2), self.compute)
    }

    /// Computes the teacher-forced scores of a batch. Without `drop`, nothing is dropped.
    pub fn forward(
        &self,
        batch: &GptBatch,
        quirks: Quirks,
        drop: Option<&StepDropout>,
    ) -> Result<GptOutput, TooLong> {
        let sequences = self.sequences(batch)?;
        let x_bpd = self.embed(self.condition(batch.conditioning_bcs.clone()), &sequences);
        let hidden_bpd = self.gpt.forward(x_bpd, &sequences.mask, drop, self.compute);
        Ok(self.score(hidden_bpd, sequences, batch, quirks))
    }

    /// Returns the sequences that a batch is trained on.
    fn sequences(&self, batch: &GptBatch) -> Result<Sequences, TooLong> {
        self.sequences_of(batch::text_sequence(batch, &self.config)?, batch)
    }

    fn sequences_of(&self, text: batch::Sequence, batch: &GptBatch) -> Result<Sequences, TooLong> {
        let latents = self.config.perceiver.latents;
        let codes = batch::code_sequence(batch, &self.config)?;
        let mask = AttentionMask {
            causal: true,
            keys_bk: Some(batch::keys(latents, &text, &codes)),
        };
        Ok(Sequences {
            latents,
            text,
            codes,
            mask,
        })
    }

    /// Puts the latents of a voice and embedded tokens side by side.
    fn embed(&self, voice_bnd: Tensor<3>, sequences: &Sequences) -> Tensor<3> {
        let text_btd = self.embed_text(sequences.text.inputs_bt.clone());
        let codes_bmd = self.embed_codes(sequences.codes.inputs_bt.clone(), 0);
        Tensor::cat(vec![voice_bnd, text_btd, codes_bmd], 1)
    }

    /// Turns the output of the blocks into scores, beside what they should be.
    fn score(
        &self,
        hidden_bpd: Tensor<3>,
        sequences: Sequences,
        batch: &GptBatch,
        quirks: Quirks,
    ) -> GptOutput {
        let Sequences {
            latents,
            text,
            codes,
            mask: _,
        } = sequences;
        let [_, text_length] = text.inputs_bt.dims();
        let [_, code_length] = codes.inputs_bt.dims();
        let part =
            |start: usize, length: usize| self.latent(hidden_bpd.clone().narrow(1, start, length));
        let text_logits_btv = self
            .text_head
            .forward_in(part(latents, text_length), self.compute);
        let mel_logits_bmv = self.code_scores(part(latents + text_length, code_length));
        let mel_targets_bm = match &batch.prompts_b2 {
            Some(prompts_b2) => {
                quirks.hide_prompts(codes.targets_bt, prompts_b2, &batch.code_lengths_b)
            }
            None => codes.targets_bt,
        };
        GptOutput {
            hidden_bpd,
            text_logits_btv,
            text_targets_bt: text.targets_bt,
            mel_logits_bmv,
            mel_targets_bm,
        }
    }

    /// Computes what the waveform decoder is trained on: [`latents`](Self::latents) of a whole
    /// batch, given its true codes. The text's STOP is read, which training hides, because
    /// speaking reads it.
    pub fn teacher_forced(&self, batch: &GptBatch) -> Result<TeacherForced, TooLong> {
        let [_, codes] = batch.codes_bm.dims();
        let mut text = batch::text_sequence(batch, &self.config)?;
        text.last_b = text.last_b.add_scalar(1);
        let sequences = self.sequences_of(text, batch)?;
        let voice_bnd = self.condition(batch.conditioning_bcs.clone());
        let x_bpd = self.embed(voice_bnd.clone(), &sequences);
        let hidden_bpd = self.gpt.forward(x_bpd, &sequences.mask, None, self.compute);
        let [_, text_length] = sequences.text.inputs_bt.dims();
        // START stands before the first code, and predicts it.
        let hidden_bmd = hidden_bpd.narrow(1, sequences.latents + text_length, codes);
        Ok(TeacherForced {
            latents_bmd: self.latent(hidden_bmd),
            voice_bnd,
        })
    }

    /// Returns the vectors that predict each of the given codes, for the waveform decoder.
    ///
    /// `text_bt` and `codes_bm` must be whole: without padding, and with the STOP that ended the
    /// generation.
    pub fn latents(
        &self,
        conditioning_bnd: Tensor<3>,
        text_bt: Tensor<2, Int>,
        codes_bm: Tensor<2, Int>,
    ) -> Result<Tensor<3>, TooLong> {
        let prefix_bpd = self.prefix(conditioning_bnd, text_bt)?;
        let [batch, prefix, _] = prefix_bpd.dims();
        let [_, codes] = codes_bm.dims();
        let positions = self.config.vocabulary.audio_positions();
        TooLong::check("audio codes", codes, positions)?;
        let start = i64::from(self.config.vocabulary.start_audio());
        let start_b1 = Tensor::<2, Int>::full([batch, 1], start, &codes_bm.device());
        // The last code predicts nothing that is asked for.
        let inputs_bm = Tensor::cat(vec![start_b1, codes_bm], 1).narrow(1, 0, codes);
        let x_bpd = Tensor::cat(vec![prefix_bpd, self.embed_codes(inputs_bm, 0)], 1);
        let mask = AttentionMask {
            causal: true,
            keys_bk: None,
        };
        let hidden_bpd = self.gpt.forward(x_bpd, &mask, None, self.compute);
        Ok(self.latent(hidden_bpd.narrow(1, prefix, codes)))
    }

    /// Makes what generation starts from: the voice, then START, text, STOP.
    pub(crate) fn prefix(
        &self,
        conditioning_bnd: Tensor<3>,
        text_bt: Tensor<2, Int>,
    ) -> Result<Tensor<3>, TooLong> {
        let vocabulary = &self.config.vocabulary;
        let [batch, length] = text_bt.dims();
        TooLong::check("text tokens", length, vocabulary.max_text_tokens)?;
        let device = text_bt.device();
        let column = |id: u32| Tensor::<2, Int>::full([batch, 1], i64::from(id), &device);
        let text_bt = Tensor::cat(
            vec![
                column(vocabulary.start_text),
                text_bt,
                column(vocabulary.stop_text),
            ],
            1,
        );
        Ok(Tensor::cat(
            vec![conditioning_bnd, self.embed_text(text_bt)],
            1,
        ))
    }

    fn embed_text(&self, ids_bt: Tensor<2, Int>) -> Tensor<3> {
        let [_, length] = ids_bt.dims();
        self.text_embedding.forward(ids_bt) + self.text_pos_embedding.at(0, length)
    }

    /// Embeds codes at the positions from `start` on.
    pub(crate) fn embed_codes(&self, ids_bm: Tensor<2, Int>, start: usize) -> Tensor<3> {
        let [_, length] = ids_bm.dims();
        self.mel_embedding.forward(ids_bm) + self.mel_pos_embedding.at(start, length)
    }

    /// Scores codes, given the vectors that predict them.
    pub(crate) fn code_scores(&self, latent_bmd: Tensor<3>) -> Tensor<3> {
        self.mel_head.forward_in(latent_bmd, self.compute)
    }

    /// Turns the blocks' output into the vectors that the heads and the waveform decoder read.
    pub(crate) fn latent(&self, hidden_bpd: Tensor<3>) -> Tensor<3> {
        self.final_norm.layer_norm(hidden_bpd, EPSILON)
    }
}
