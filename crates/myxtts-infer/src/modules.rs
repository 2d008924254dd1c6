//! Turns weights into modules, and back.

use std::sync::Arc;

use burn::tensor::{Device, TensorData};
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::Gpt;
use myxtts_model::init::Init;
use myxtts_model::params::{self, StateDict};
use myxtts_text::Vocabulary;
use myxtts_weights::{
    Dtype, ModelArgs, ModelWeights, Outgoing, Tensor, TensorMap, TensorStream, XttsConfig,
};

use crate::card::ModelCard;
use crate::error::InferError;
use crate::voice::ReferenceSpec;

/// The prefix of the GPT's tensors in a checkpoint.
const GPT: &str = "gpt";

/// A model on a device.
#[derive(Debug)]
pub struct Modules {
    /// The description of the model.
    pub card: ModelCard,
    /// Turns text tokens into codes.
    pub gpt: Gpt,
    /// Turns codes into mels; files of a GPT alone have none.
    pub dvae: Option<Dvae>,
    /// The statistics that each band of its mels is divided by.
    pub mel_stats: Option<Vec<f32>>,
    /// Turns text into tokens.
    pub vocabulary: Arc<Vocabulary>,
    /// How much of a speaker's recordings the model listens to.
    pub references: ReferenceSpec,
}

impl Modules {
    /// Loads the modules of a checkpoint onto a device.
    pub fn load(checkpoint: &ModelWeights, device: &Device) -> Result<Self, InferError> {
        let card = ModelCard::of(checkpoint)?;
        let wrong = |part: &'static str| move |why| InferError::Load { part, why };
        let init = Init::blank(device);
        let gpt = Gpt::new(&init, &card.gpt);
        let gpt = params::load(gpt, &InFile(&checkpoint.gpt), GPT).map_err(wrong("GPT"))?;
        let dvae = match &checkpoint.dvae {
            Some(tensors) => {
                let dvae = Dvae::new(&init, &card.dvae)?;
                Some(params::load(dvae, &InFile(tensors), "").map_err(wrong("DVAE"))?)
            }
            None => None,
        };
        Ok(Self {
            gpt,
            dvae,
            // Public files hold the statistics twice: beside the model, and inside it.
            mel_stats: checkpoint
                .mel_stats
                .as_ref()
                .or(checkpoint.model_mel_stats.as_ref())
                .map(Tensor::to_f32),
            vocabulary: Arc::new(vocabulary_of(checkpoint)?),
            references: ReferenceSpec::of(&checkpoint.config)?,
            card,
        })
    }
}

/// Returns a checkpoint with the weights of modules, under the names that [`params::state_dict`]
/// gives them.
pub fn checkpoint_of(
    card: &ModelCard,
    gpt: &StateDict,
    dvae: &StateDict,
    mel_stats: Option<&[f32]>,
    vocabulary: &Vocabulary,
) -> Result<ModelWeights, InferError> {
    let stored = |name: &str, shape: Vec<usize>, values: &[f32]| {
        Tensor::from_f32(shape, values).map_err(|fault| InferError::Tensor {
            name: name.to_owned(),
            fault,
        })
    };
    let tensors = |weights: &StateDict, prefix: &str| {
        weights
            .iter()
            .map(|(name, data)| {
                let name = format!("{prefix}{name}");
                let shape = data.shape().to_vec();
                let tensor = match data.as_slice::<f32>() {
                    Ok(values) => stored(&name, shape, values),
                    Err(_) => stored(&name, shape, &data.iter::<f32>().collect::<Vec<_>>()),
                };
                tensor.map(|tensor| (name, tensor))
            })
            .collect::<Result<TensorMap, InferError>>()
    };
    let mel_stats = mel_stats.map(|stats| stored("mel_stats", vec![stats.len()], stats));
    Ok(ModelWeights {
        gpt: tensors(gpt, "gpt.")?,
        hifigan_decoder: TensorMap::new(),
        dvae: Some(tensors(dvae, "")?),
        mel_stats: mel_stats.transpose()?,
        model_mel_stats: None,
        speakers: None,
        vocabulary: Some(vocabulary.to_json().into_bytes()),
        config: config_of(card),
        model: Some(serde_json::to_value(card)?),
        ignored: Vec::new(),
        notices: Vec::new(),
    })
}

/// Returns a model in training on its way to files: its tensors are read as they are written,
/// under the names that [`params::unread`] gives them.
pub fn outgoing<'a>(
    card: &ModelCard,
    gpt: Vec<TensorStream<'a>>,
    dvae: Vec<TensorStream<'a>>,
    mel_stats: Option<&[f32]>,
    vocabulary: &Vocabulary,
) -> Result<Outgoing<'a>, InferError> {
    let mel_stats = mel_stats.map(|stats| Tensor::from_f32(vec![stats.len()], stats));
    let mel_stats = mel_stats.transpose().map_err(|fault| InferError::Tensor {
        name: "mel_stats".to_owned(),
        fault,
    })?;
    let gpt = gpt.into_iter().map(|tensor| tensor.below("gpt."));
    Ok(Outgoing {
        gpt: gpt.collect(),
        dvae,
        mel_stats,
        vocabulary: Some(vocabulary.to_json().into_bytes()),
        config: config_of(card),
        model: Some(serde_json::to_value(card)?),
        ..Outgoing::default()
    })
}

/// Returns the public configuration of a model.
fn config_of(card: &ModelCard) -> XttsConfig {
    let vocabulary = &card.gpt.vocabulary;
    let stride = card.codes_mel.hop.0 * card.dvae.stride();
    let released = ModelArgs::default();
    let model_args = ModelArgs {
        gpt_layers: card.gpt.layers,
        gpt_n_model_channels: card.gpt.channels,
        gpt_n_heads: card.gpt.heads,
        gpt_max_text_tokens: vocabulary.max_text_tokens,
        gpt_max_audio_tokens: vocabulary.max_audio_tokens,
        gpt_number_text_tokens: Some(vocabulary.text_tokens),
        gpt_start_text_token: Some(vocabulary.start_text),
        gpt_stop_text_token: Some(vocabulary.stop_text),
        gpt_num_audio_tokens: vocabulary.audio_tokens(),
        gpt_start_audio_token: vocabulary.start_audio(),
        gpt_stop_audio_token: vocabulary.stop_audio(),
        gpt_code_stride_len: u32::try_from(stride).unwrap_or(released.gpt_code_stride_len),
        gpt_use_perceiver_resampler: true,
        input_sample_rate: card.audio.sample_rate.hz(),
        // The vocoder reads the GPT's latents.
        decoder_input_dim: card.gpt.channels,
        d_vector_dim: card
            .decoder
            .as_ref()
            .map_or(released.d_vector_dim, |decoder| decoder.hifigan.speaker_dim),
        ..released
    };
    let mut config = XttsConfig {
        model_args,
        languages: card.languages.clone(),
        ..XttsConfig::default()
    };
    card.sampling().store(&mut config);
    config
}

/// Returns the vocabulary of a checkpoint, which cannot speak without one.
pub(crate) fn vocabulary_of(checkpoint: &ModelWeights) -> Result<Vocabulary, InferError> {
    let bytes = checkpoint.vocabulary.as_ref().ok_or(InferError::Missing {
        what: "vocab.json",
        fix: "put vocab.json beside model.pth and import again",
    })?;
    Ok(Vocabulary::from_json(bytes)?)
}

/// The tensors of a file, each read when a module asks for it: the model is then in memory only
/// once, beside the file's own pages.
#[derive(Clone, Copy, Debug)]
pub struct InFile<'a>(pub &'a TensorMap);

impl params::Weights for InFile<'_> {
    fn tensor(&self, name: &str) -> Option<TensorData> {
        let InFile(tensors) = self;
        tensors.get(name).map(tensor_data)
    }
}

/// Returns all tensors of a file in the form a module loads.
pub fn state_dict(tensors: &TensorMap) -> StateDict {
    tensors
        .iter()
        .map(|(name, tensor)| (name.to_owned(), tensor_data(tensor)))
        .collect()
}

/// A tensor of a file in the engine's words; integers stay integers.
pub fn tensor_data(tensor: &Tensor) -> TensorData {
    let shape = tensor.shape().to_vec();
    match tensor.dtype() {
        Dtype::I64 => {
            let (chunks, _) = tensor.bytes().as_chunks::<8>();
            let values: Vec<i64> = chunks.iter().map(|c| i64::from_le_bytes(*c)).collect();
            TensorData::new(values, shape)
        }
        _ => TensorData::new(tensor.to_f32(), shape),
    }
}
