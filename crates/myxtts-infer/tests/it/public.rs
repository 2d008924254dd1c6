//! Files without a card: public XTTS-v2 weights.

use std::path::Path;

use burn::tensor::Device;
use myxtts_infer::{ModelCard, Modules};
use myxtts_model::gpt::{Quirks, Vocabulary as Symbols};
use myxtts_text::{Training, Vocabulary};
use myxtts_weights::{ModelArgs, ModelWeights, TensorMap, XttsConfig, read_safetensors};

/// The reference's GPT, as an import of its files gives it.
fn imported() -> ModelWeights {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../parity/fixtures/weights_gpt.safetensors");
    let gpt: TensorMap = read_safetensors(&path)
        .unwrap()
        .into_iter()
        .map(|(name, tensor)| (format!("gpt.{name}"), tensor))
        .collect();
    let vocabulary = Vocabulary::train(["some words"], &Training::default()).unwrap();
    ModelWeights {
        gpt,
        hifigan_decoder: TensorMap::new(),
        dvae: None,
        mel_stats: None,
        model_mel_stats: None,
        speakers: None,
        vocabulary: Some(vocabulary.to_json().into_bytes()),
        config: XttsConfig {
            model_args: ModelArgs {
                gpt_layers: 2,
                gpt_n_model_channels: 64,
                gpt_n_heads: 4,
                gpt_max_text_tokens: 40,
                gpt_max_audio_tokens: 60,
                gpt_number_text_tokens: Some(300),
                gpt_num_audio_tokens: 66,
                gpt_start_audio_token: 64,
                gpt_stop_audio_token: 65,
                ..ModelArgs::default()
            },
            ..XttsConfig::default()
        },
        model: None,
        ignored: Vec::new(),
        notices: Vec::new(),
    }
}

#[test]
fn the_card_of_public_files_comes_from_configuration_and_shapes() {
    let mut checkpoint = imported();
    checkpoint.check().unwrap();
    let card = ModelCard::of(&checkpoint).unwrap();
    assert_eq!(card.quirks, Quirks::Compat);
    assert_eq!(card.languages.len(), 17);
    assert_eq!(card.gpt.perceiver.latents, 32);
    assert_eq!(card.gpt.mel_bands, 80);
    let expected = Symbols {
        text_tokens: 300,
        start_text: 3,
        stop_text: 0,
        max_text_tokens: 40,
        codes: 64,
        max_audio_tokens: 60,
    };
    assert_eq!(card.gpt.vocabulary, expected);
    // Every tensor finds its place.
    let modules = Modules::load(&checkpoint, &Device::flex()).unwrap();
    assert!(modules.dvae.is_none());
    assert_eq!(modules.card, card);
}

#[test]
fn files_of_another_kind_are_refused() {
    let refused = |change: &dyn Fn(&mut ModelWeights)| {
        let mut checkpoint = imported();
        change(&mut checkpoint);
        ModelCard::of(&checkpoint).unwrap_err().to_string()
    };
    let messages = [
        refused(&|checkpoint| {
            checkpoint.config.model_args.gpt_use_perceiver_resampler = false;
        }),
        refused(&|checkpoint| checkpoint.config.model_args.gpt_stop_audio_token = 63),
        refused(&|checkpoint| {
            checkpoint.gpt.remove("gpt.conditioning_perceiver.latents");
        }),
    ];
    insta::assert_snapshot!(messages.join("\n\n"));
}
