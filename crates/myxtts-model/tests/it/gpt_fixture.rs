//! The GPT of a fixture set, and its batch.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Int, Tensor};
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::gpt::{Gpt, GptBatch, GptConfig, GptLosses, Vocabulary};
use myxtts_model::init::Init;
use myxtts_model::params;
use serde_json::Value;

use crate::fixtures::{File, Set, values};

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
    params::load(gpt, &set.file("weights_gpt").state_dict(), "").unwrap()
}

/// The same, for training.
pub fn training_gpt(set: &Set, device: &Device) -> Gpt {
    gpt(set, device).train()
}

/// The reference's batch, without prompts.
pub fn batch(set: &Set, file: &File, device: &Device) -> GptBatch {
    let stride = set.manifest["gpt"]["config"]["code_stride_len"]
        .as_i64()
        .unwrap();
    let lengths: Vec<i64> = file
        .ints("wav_lengths")
        .iter()
        .map(|samples| (samples + stride - 1) / stride)
        .collect();
    let longest = usize::try_from(*lengths.iter().max().unwrap()).unwrap();
    let mel: Tensor<4> = file.tensor("cond_mels", device);
    GptBatch {
        text_bt: file.int_tensor("text", device),
        text_lengths_b: file.int_tensor("text_lengths", device),
        codes_bm: file
            .int_tensor::<2>("audio_codes", device)
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

/// Gradients by parameter name, read with a walk of their own.
struct Reading {
    path: params::Path,
    gradients: Gradients,
    found: BTreeMap<String, Vec<f32>>,
}

impl ModuleVisitor for Reading {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let gradient = param.val().grad(&self.gradients);
        if let Some(gradient) = gradient {
            self.found.insert(self.path.name(), values(&gradient));
        }
    }
}

/// Of the reference's weighted sum.
pub fn gradients(gpt: &Gpt, losses: &GptLosses) -> BTreeMap<String, Vec<f32>> {
    let mut reading = Reading {
        path: params::Path::default(),
        gradients: losses.total(0.01, 1.0).backward(),
        found: BTreeMap::new(),
    };
    gpt.visit(&mut reading);
    reading.found
}

pub fn norm(values: &[f32]) -> f64 {
    values
        .iter()
        .map(|x| f64::from(*x).powi(2))
        .sum::<f64>()
        .sqrt()
}
