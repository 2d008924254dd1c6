//! The GPT of a fixture set, and its batch.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::gpt::{Gpt, GptBatch, GptConfig, GptLosses, Vocabulary};
use myxtts_model::init::Init;
use myxtts_model::params;
use serde_json::Value;

use crate::fixtures::{self, Set, Tensors};

/// Sizes as the manifest has them; those it does not name are the reference's
/// hard-coded ones.
pub fn config(set: &Set) -> GptConfig {
    let sizes = &set.manifest["gpt"]["config"];
    let whole = |key: &str| usize::try_from(sizes[key].as_u64().unwrap()).unwrap();
    let id = |key: &str| u32::try_from(sizes[key].as_u64().unwrap()).unwrap();
    let vocabulary = Vocabulary {
        text_tokens: whole("number_text_tokens"),
        start_text: id("start_text_token"),
        stop_text: id("stop_text_token"),
        max_text_tokens: whole("max_text_tokens"),
        codes: id("num_audio_tokens") - 2,
        max_audio_tokens: whole("max_mel_tokens"),
    };
    assert_eq!(vocabulary.start_audio(), id("start_audio_token"));
    assert_eq!(vocabulary.stop_audio(), id("stop_audio_token"));
    GptConfig {
        layers: whole("layers"),
        channels: whole("model_dim"),
        heads: whole("heads"),
        vocabulary,
        mel_bands: 80,
        encoder_blocks: 6,
        perceiver: PerceiverConfig::XTTS_V2,
        dropout: 0.1,
        embedding_std: 1.0,
    }
}

/// The reference's model.
pub fn gpt(set: &Set, device: &Device) -> Gpt {
    let gpt = Gpt::new(&Init::new(0, device), &config(set));
    params::load(gpt, &set.tensors("weights_gpt").0, "").unwrap()
}

/// The same, for training.
pub fn training_gpt(set: &Set, device: &Device) -> Gpt {
    gpt(set, device).train()
}

/// The reference's batch, without prompts.
pub fn batch(set: &Set, file: &Tensors, device: &Device) -> GptBatch {
    let stride = set.manifest["gpt"]["config"]["code_stride_len"]
        .as_i64()
        .unwrap();
    let lengths: Vec<i64> = file
        .ints("wav_lengths")
        .iter()
        .map(|samples| (samples + stride - 1) / stride)
        .collect();
    let longest = usize::try_from(*lengths.iter().max().unwrap()).unwrap();
    let mel: Tensor<4> = file.on("cond_mels", device);
    GptBatch {
        text_bt: file.ints_on("text", device),
        text_lengths_b: file.ints_on("text_lengths", device),
        codes_bm: file
            .ints_on::<2>("audio_codes", device)
            .narrow(1, 0, longest),
        code_lengths_b: Tensor::<1, Int>::from_data(lengths.as_slice(), device),
        conditioning_bcs: mel.squeeze_dim(1),
        prompts_b2: None,
    }
}

/// A number of the manifest's `gpt` part.
pub fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key}"))
}

/// Of the reference's weighted sum.
pub fn gradients(gpt: &Gpt, losses: &GptLosses) -> BTreeMap<String, Vec<f32>> {
    fixtures::gradients(gpt, &losses.total(0.01, 1.0).backward())
}
