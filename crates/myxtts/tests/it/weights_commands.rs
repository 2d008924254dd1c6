//! `import` and `export`, on the reference weights.

use std::fs;
use std::path::Path;

use myxtts_weights::torch::Item;
use myxtts_weights::{ModelArgs, TensorMap, XttsConfig, read_safetensors, read_torch, write_torch};

use crate::support::run_in;
use crate::tiny::Tiny;

fn part(name: &str, prefix: &str) -> Vec<(String, myxtts_weights::Tensor)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../parity/fixtures");
    let map = read_safetensors(&path.join(format!("weights_{name}.safetensors"))).unwrap();
    map.into_iter()
        .map(|(name, tensor)| (format!("{prefix}{name}"), tensor))
        .collect()
}

/// Public files of the reference weights, without a vocabulary.
fn publish(folder: &Path) {
    let state: TensorMap = part("gpt", "gpt.")
        .into_iter()
        .chain(part("hifidec", "hifigan_decoder."))
        .chain(part("spk", "hifigan_decoder.speaker_encoder."))
        .chain([("discriminator".to_owned(), part("spk", "").remove(0).1)])
        .collect();
    let model_args = ModelArgs {
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
    };
    let config = XttsConfig {
        model_args,
        ..XttsConfig::default()
    };
    fs::create_dir(folder).unwrap();
    let model = Item::Dict(vec![("model".to_owned(), Item::from(&state))]);
    write_torch(&folder.join("model.pth"), &model).unwrap();
    fs::write(folder.join("config.json"), config.to_json().unwrap()).unwrap();
}

const VOCABULARY: &str = r#"{"pre_tokenizer": {"type": "Whitespace"}, "added_tokens": [{"id": 0, "content": "[STOP]", "special": true},
    {"id": 1, "content": "[UNK]", "special": true}, {"id": 2, "content": "[SPACE]", "special": true},
    {"id": 299, "content": "[START]", "special": true}],
    "model": {"type": "BPE", "unk_token": "[UNK]", "merges": [],
        "vocab": {"[STOP]": 0, "[UNK]": 1, "[SPACE]": 2, "a": 3, "[START]": 299}}}"#;

#[test]
fn import_and_export_are_inverse_and_say_what_they_did() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |arguments: &[&str]| run_in(folder.path(), arguments, &[]);
    publish(&folder.path().join("public"));

    let run = inside(&["import", "public", "--out", "ours"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    insta::assert_snapshot!("import", run.stdout);
    // The folder is taken now.
    let run = inside(&["import", "public/model.pth", "--out", "ours"]);
    assert_eq!(run.code, Some(1));
    insta::assert_snapshot!("import_into_a_full_folder", run.stderr);
    // Without vocabulary and mel statistics nothing can be published.
    let run = inside(&["export", "ours", "--out", "again", "--json"]);
    assert_eq!(run.code, Some(1));
    insta::assert_snapshot!(
        "export_without_a_vocabulary",
        run.json()["error"].as_str().unwrap()
    );

    fs::write(folder.path().join("public/vocab.json"), VOCABULARY).unwrap();
    let stats = part("spk", "")
        .into_iter()
        .find(|(_, t)| t.shape().len() == 1)
        .unwrap()
        .1;
    write_torch(
        &folder.path().join("public/mel_stats.pth"),
        &Item::Tensor(&stats),
    )
    .unwrap();
    let run = inside(&["import", "public", "--out", "whole", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report = run.json();
    assert_eq!(report["sizes"]["text_tokens"], 300);
    assert_eq!(report["parts"]["gpt"]["tensors"], 90);
    assert_eq!(report["ignored"][0]["name"], "model.discriminator");
    let run = inside(&["export", "whole", "--out", "again"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let [before, after] = ["public", "again"]
        .map(|name| read_torch(&folder.path().join(name).join("model.pth")).unwrap());
    // Without the discriminator, with the mel statistics.
    assert_eq!(after.len(), before.len());
    for (name, tensor) in before
        .iter()
        .filter(|(name, _)| !name.contains("discriminator"))
    {
        assert_eq!(after.get(name), Some(tensor), "{name}");
    }
}

/// A run stands for its newest checkpoint, and what is written has every name
/// and every language that the public package asks for.
#[test]
fn a_run_is_exported_with_all_that_the_public_package_loads() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |arguments: &[&str]| run_in(folder.path(), arguments, &[]);
    let mut tiny = Tiny::new(&["en", "fa"], 30);
    let checkpoint = folder.path().join("runs/x/checkpoints/step_000000007");
    myxtts_weights::write_ours(&checkpoint, &tiny.with_decoder()).unwrap();
    let run = inside(&["export", "runs/x", "--out", "public"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let dvae = read_torch(&folder.path().join("public/dvae.pth")).unwrap();
    let shape = |name: &str| dvae.get(name).map(|tensor| tensor.shape().to_vec());
    assert_eq!(shape("discrete_loss.accumulator_index"), Some(vec![1]));
    assert_eq!(shape("discrete_loss.accumulator_filled"), Some(vec![1]));
    assert_eq!(shape("discrete_loss.accumulator"), Some(vec![100, 24]));
    let config = fs::read_to_string(folder.path().join("public/config.json")).unwrap();
    let config = XttsConfig::from_json(&config).unwrap();
    assert_eq!(config.languages, ["en", "fa"]);
    assert_eq!(config.repetition_penalty, 1.0);

    let run = inside(&["export", "nowhere", "--out", "again"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    // A card that is not true is not published.
    let path = checkpoint.join("config.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut described: serde_json::Value = serde_json::from_str(&text).unwrap();
    described["model"]["gpt"]["heads"] = 3.into();
    fs::write(&path, described.to_string()).unwrap();
    let run = inside(&["export", "runs/x", "--out", "again"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    insta::assert_snapshot!("export_of_an_untrue_card", run.stderr);
}
