//! Public files to ours and back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use myxtts_text::{Training, Vocabulary};
use myxtts_weights::torch::{Item, Scalar};
use myxtts_weights::{
    ModelArgs, ModelWeights, Outgoing, Sizes, Tensor, TensorMap, XttsConfig, read_ours,
    read_public, read_speakers, read_torch, write_ours, write_public, write_safetensors,
    write_torch,
};

use crate::support::weights;

/// The configuration the reference weights were made with.
fn config() -> XttsConfig {
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
    XttsConfig {
        model_args,
        ..XttsConfig::default()
    }
}

/// A vocabulary of at most so many tokens.
fn vocabulary(tokens: usize) -> Vec<u8> {
    let training = Training {
        tokens,
        min_count: 1,
        ..Training::default()
    };
    let texts: Vec<String> = (0..400)
        .map(|n| format!("word{n} and{} more", n * 7919))
        .collect();
    Vocabulary::train(texts, &training)
        .unwrap()
        .to_json()
        .into_bytes()
}

fn state() -> TensorMap {
    let stats = Tensor::from_f32(vec![80], &[0.5; 80]).unwrap();
    weights("gpt", "gpt.")
        .into_iter()
        .chain(weights("hifidec", "hifigan_decoder."))
        .chain(weights("spk", "hifigan_decoder.speaker_encoder."))
        .chain([("mel_stats".to_owned(), stats)])
        .collect()
}

/// Public files in a folder, model under the given name.
fn publish(folder: &Path, model: &str, item: &Item<'_>) {
    fs::create_dir_all(folder).unwrap();
    write_torch(&folder.join(model), item).unwrap();
    write_torch(&folder.join("dvae.pth"), &Item::from(&weights("dvae", ""))).unwrap();
    let stats = Tensor::from_f32(vec![80], &[0.25; 80]).unwrap();
    write_torch(&folder.join("mel_stats.pth"), &Item::Tensor(&stats)).unwrap();
    fs::write(folder.join("vocab.json"), vocabulary(300)).unwrap();
    let json = config().to_json().unwrap();
    let json = json.replacen('{', "{\n  \"max_audio_len\": Infinity,", 1);
    fs::write(folder.join("config.json"), json).unwrap();
}

fn published(model: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let state = state();
    let items = vec![("model".to_owned(), Item::from(&state))];
    publish(folder.path(), model, &Item::Dict(items));
    folder
}

fn same(a: &ModelWeights, b: &ModelWeights) {
    assert_eq!(a.gpt, b.gpt);
    assert_eq!(a.hifigan_decoder, b.hifigan_decoder);
    assert_eq!(a.dvae, b.dvae);
    assert_eq!(a.mel_stats, b.mel_stats);
    assert_eq!(a.model_mel_stats, b.model_mel_stats);
    assert_eq!(a.speakers, b.speakers);
    assert_eq!(a.vocabulary, b.vocabulary);
    assert_eq!(a.config, b.config);
}

/// An error without the folder it happened in.
fn said(folder: &Path, result: Result<impl Sized, impl ToString>) -> String {
    let Err(error) = result else {
        panic!("no error");
    };
    error
        .to_string()
        .replace(&folder.display().to_string(), "DIR")
}

#[test]
fn public_to_ours_to_public_is_bit_equal() {
    let public = published("model.pth");
    let speakers = TensorMap::from_iter([
        (
            "Dr. Who.gpt_cond_latent",
            Tensor::from_f32(vec![1, 2], &[1.0, 2.0]).unwrap(),
        ),
        (
            "Dr. Who.speaker_embedding",
            Tensor::from_f32(vec![1], &[3.0]).unwrap(),
        ),
    ]);
    let voice: Vec<_> = speakers
        .iter()
        .map(|(name, tensor)| {
            (
                name.rsplit('.').next().unwrap().to_owned(),
                Item::Tensor(tensor),
            )
        })
        .collect();
    let voices = Item::Dict(vec![("Dr. Who".to_owned(), Item::Dict(voice))]);
    write_torch(&public.path().join("speakers_xtts.pth"), &voices).unwrap();

    let imported = read_public(public.path()).unwrap();
    assert_eq!(imported.gpt, weights("gpt", "gpt."));
    assert_eq!(imported.hifigan_decoder.len(), 241 + 119);
    assert_eq!(imported.speakers.as_ref(), Some(&speakers));
    insta::assert_debug_snapshot!(Sizes::of(&imported.gpt).unwrap());
    insta::assert_snapshot!(imported.notices.join("\n"));

    let out = tempfile::tempdir().unwrap();
    let ours = out.path().join("ours");
    write_ours(&ours, &imported).unwrap();
    let read = read_ours(&ours).unwrap();
    same(&read, &imported);

    let again = out.path().join("public");
    write_public(&again, &read).unwrap();
    same(&read_public(&again).unwrap(), &imported);
    for file in [
        "model.pth",
        "dvae.pth",
        "mel_stats.pth",
        "speakers_xtts.pth",
    ] {
        let [before, after] = [public.path(), &again].map(|folder| read_torch(&folder.join(file)));
        assert_eq!(before.unwrap(), after.unwrap(), "{file}");
    }
    let written = fs::read_to_string(again.join("config.json")).unwrap();
    assert!(written.contains("\"max_audio_len\": Infinity"), "{written}");
    let mut left: Vec<_> = fs::read_dir(out.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["ours", "public"]);

    // Voices alone, without the gigabytes beside them.
    fs::remove_file(ours.join("gpt.safetensors")).unwrap();
    assert_eq!(read_speakers(&ours).unwrap(), Some(speakers));
    fs::remove_file(ours.join("speakers.safetensors")).unwrap();
    fs::write(ours.join("speakers.safetensors"), "another file").unwrap();
    assert!(read_speakers(&ours).is_err());
}

#[test]
fn a_trainers_checkpoint_gives_the_same_model() {
    let state = state();
    let mut trainer = TensorMap::new();
    for (name, tensor) in state.iter() {
        let old = name
            .replace("parametrizations.weight.original0", "weight_g")
            .replace("parametrizations.weight.original1", "weight_v");
        trainer.insert(format!("xtts.{old}"), tensor.clone());
    }
    let alias = state.get("gpt.mel_embedding.weight").unwrap().clone();
    trainer.insert("xtts.gpt.gpt.wte.weight", alias.clone());
    trainer.insert("torch_mel_spectrogram_dvae.fb", alias.clone());
    for (name, tensor) in weights("dvae", "dvae.") {
        trainer.insert(name, tensor);
    }
    let moments = TensorMap::from_iter([("0", alias)]);
    let items = Item::Dict(vec![
        ("model".to_owned(), Item::from(&trainer)),
        ("optimizer".to_owned(), Item::from(&moments)),
        ("step".to_owned(), Item::Scalar(Scalar::Int(7))),
    ]);
    let folder = tempfile::tempdir().unwrap();
    publish(folder.path(), "checkpoint_7.pth", &items);
    fs::remove_file(folder.path().join("dvae.pth")).unwrap();
    // An older one, which is not the one to take.
    let older = Item::from(&moments);
    write_torch(&folder.path().join("checkpoint_5.pth"), &older).unwrap();

    let from_trainer = read_public(folder.path()).unwrap();
    let public = published("model.pth");
    same(&from_trainer, &read_public(public.path()).unwrap());
    let ignored: Vec<String> = from_trainer
        .ignored
        .iter()
        .map(|ignored| format!("{}: {}", ignored.name, ignored.reason))
        .collect();
    insta::assert_snapshot!(ignored.join("\n"));
    assert!(from_trainer.notices[0].contains("took the newest, of step 7"));
    // The file itself may be named too.
    same(
        &from_trainer,
        &read_public(&folder.path().join("checkpoint_7.pth")).unwrap(),
    );
}

#[test]
fn both_spellings_of_weight_norm_at_once_are_refused() {
    let mut state = state();
    let name = "hifigan_decoder.waveform_decoder.ups.0.parametrizations.weight.original0";
    let g = state.get(name).unwrap().clone();
    state.insert("hifigan_decoder.waveform_decoder.ups.0.weight_g", g);
    let folder = tempfile::tempdir().unwrap();
    publish(folder.path(), "model.pth", &Item::from(&state));
    insta::assert_snapshot!(said(folder.path(), read_public(folder.path())));
}

#[test]
fn weights_configuration_and_vocabulary_must_agree() {
    let folder = published("model.pth");
    let path = folder.path();
    let change = |from: &str, to: &str| {
        let before = fs::read_to_string(path.join("config.json")).unwrap();
        assert!(before.contains(from), "{from}");
        fs::write(path.join("config.json"), before.replace(from, to)).unwrap();
        let said = match read_public(path) {
            Err(error) => said(path, Err::<(), _>(error)),
            Ok(checkpoint) => checkpoint.notices.join("\n"),
        };
        fs::write(path.join("config.json"), before).unwrap();
        said
    };
    let mut messages = vec![
        change("\"gpt_layers\": 2", "\"gpt_layers\": 30"),
        change(
            "\"gpt_n_model_channels\": 64",
            "\"gpt_n_model_channels\": 1024",
        ),
        change(
            "\"gpt_num_audio_tokens\": 66",
            "\"gpt_num_audio_tokens\": 1026",
        ),
        change(
            "\"gpt_max_text_tokens\": 40",
            "\"gpt_max_text_tokens\": 402",
        ),
        change(
            "\"gpt_max_audio_tokens\": 60",
            "\"gpt_max_audio_tokens\": 605",
        ),
        change(
            "\"gpt_number_text_tokens\": 300",
            "\"gpt_number_text_tokens\": 6681",
        ),
        change("\"gpt_n_heads\": 4", "\"gpt_n_heads\": 5"),
        change(
            "\"gpt_stop_audio_token\": 65",
            "\"gpt_stop_audio_token\": 66",
        ),
        change("\"gpt_n_heads\": 4,", ""),
        change("{", "["),
    ];
    fs::write(path.join("vocab.json"), vocabulary(310)).unwrap();
    messages.push(said(path, read_public(path)));
    fs::write(path.join("vocab.json"), vocabulary(200)).unwrap();
    messages.push(read_public(path).unwrap().notices.join("\n"));
    fs::write(path.join("vocab.json"), b"{}").unwrap();
    messages.push(said(path, read_public(path)));
    fs::remove_file(path.join("vocab.json")).unwrap();
    messages.push(read_public(path).unwrap().notices.join("\n"));
    fs::remove_file(path.join("config.json")).unwrap();
    messages.push(said(path, read_public(path)));
    fs::remove_file(path.join("model.pth")).unwrap();
    messages.push(said(path, read_public(path)));
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn tensors_of_the_wrong_shape_and_other_models_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut wrong = state();
    let flat = Tensor::from_f32(vec![4], &[0.0; 4]).unwrap();
    wrong.insert("gpt.mel_embedding.weight", flat.clone());
    publish(path, "model.pth", &Item::from(&wrong));
    let mut messages = vec![said(path, read_public(path))];
    let mut wrong = state();
    let narrow = Tensor::from_f32(vec![42, 2], &[0.0; 84]).unwrap();
    wrong.insert("gpt.text_pos_embedding.emb.weight", narrow);
    publish(path, "model.pth", &Item::from(&wrong));
    messages.push(said(path, read_public(path)));
    let other = TensorMap::from_iter([("encoder.weight", flat)]);
    publish(path, "model.pth", &Item::from(&other));
    messages.push(said(path, read_public(path)));
    publish(path, "model.pth", &Item::from(&state()));
    write_torch(&path.join("dvae.pth"), &Item::from(&other)).unwrap();
    messages.push(said(path, read_public(path)));
    insta::assert_snapshot!(messages.join("\n\n"));
}

/// Our files as whoever puts them beside others writes them.
fn streamed(checkpoint: &ModelWeights) -> Vec<(&'static str, Vec<u8>)> {
    let ours = Outgoing::from(checkpoint).files().unwrap();
    let mut files = vec![];
    for (name, stream) in ours.tensors {
        let mut bytes = vec![];
        stream.write(&mut bytes).unwrap();
        files.push((name, bytes));
    }
    files.extend(ours.vocabulary);
    let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
    let mut hashes: BTreeMap<String, String> = files
        .iter()
        .map(|(name, bytes)| ((*name).to_owned(), hash(bytes)))
        .collect();
    // Of no concern to the description.
    hashes.insert("voices/anna.wav".to_owned(), hash(b"x"));
    files.push(("config.json", ours.description.text(hashes).unwrap()));
    files
}

#[test]
fn streamed_files_are_our_folder_beside_whatever_else() {
    let public = published("model.pth");
    let mut checkpoint = read_public(public.path()).unwrap();
    assert_eq!(checkpoint.model, None);
    let out = tempfile::tempdir().unwrap();
    let ours = out.path().join("ours");
    // Without a card the description is what it was before there were cards.
    write_ours(&ours, &checkpoint).unwrap();
    let described = fs::read_to_string(ours.join("config.json")).unwrap();
    assert!(!described.contains("\n  \"model\""), "{described}");
    assert_eq!(read_ours(&ours).unwrap().model, None);

    checkpoint.model = Some(serde_json::json!({ "heads": 4, "languages": ["fa"] }));
    let folder = out.path().join("step_1");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("manifest.json"), "somebody else's").unwrap();
    fs::write(folder.join("speakers.safetensors"), "not listed").unwrap();
    let files = streamed(&checkpoint);
    for (name, bytes) in &files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    let read = read_ours(&folder).unwrap();
    same(&read, &checkpoint);
    assert_eq!(read.model, checkpoint.model);
    assert_eq!(read_speakers(&folder).unwrap(), None, "it is not listed");
    // Both ways of writing write the same.
    let again = out.path().join("again");
    write_ours(&again, &checkpoint).unwrap();
    assert_eq!(fs::read_dir(&again).unwrap().count(), files.len());
    for (name, bytes) in files {
        assert_eq!(fs::read(again.join(name)).unwrap(), bytes, "{name}");
    }
}

#[test]
fn our_folder_is_checked() {
    let public = published("model.pth");
    let checkpoint = read_public(public.path()).unwrap();
    let out = tempfile::tempdir().unwrap();
    let ours = out.path().join("ours");
    write_ours(&ours, &checkpoint).unwrap();
    let mut messages = vec![
        said(out.path(), write_ours(&ours, &checkpoint)),
        said(public.path(), read_ours(public.path())),
    ];
    let described = fs::read_to_string(ours.join("config.json")).unwrap();
    for (from, to) in [
        ("\"version\": 1", "\"version\": 2"),
        ("myxtts-weights", "other-weights"),
        ("\"vocab.json\"", "\"../vocab.json\""),
    ] {
        fs::write(ours.join("config.json"), described.replacen(from, to, 1)).unwrap();
        messages.push(said(out.path(), read_ours(&ours)));
    }
    fs::write(ours.join("config.json"), &described).unwrap();
    let mut changed = checkpoint.gpt.clone();
    changed.insert(
        "gpt.text_head.bias",
        Tensor::from_f32(vec![300], &[1.0; 300]).unwrap(),
    );
    write_safetensors(&ours.join("gpt.safetensors"), &changed).unwrap();
    let hash = said(out.path(), read_ours(&ours));
    messages.push(
        hash.lines()
            .next()
            .unwrap()
            .split(" its hash")
            .next()
            .unwrap()
            .to_owned(),
    );
    fs::remove_file(ours.join("gpt.safetensors")).unwrap();
    messages.push(said(out.path(), read_ours(&ours)));
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn a_public_checkpoint_needs_all_its_parts() {
    let public = published("model.pth");
    let checkpoint = read_public(public.path()).unwrap();
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("public");
    let silent = ModelWeights {
        hifigan_decoder: TensorMap::new(),
        ..checkpoint.clone()
    };
    let wordless = ModelWeights {
        vocabulary: None,
        ..checkpoint
    };
    let messages = [silent, wordless].map(|part| said(out.path(), write_public(&folder, &part)));
    insta::assert_snapshot!(messages.join("\n"));
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}

#[test]
fn the_released_configuration_round_trips() {
    let released = XttsConfig::default();
    let json = released.to_json().unwrap();
    assert_eq!(XttsConfig::from_json(&json).unwrap(), released);
    let with_more = json.replacen('{', "{\"x\": [NaN, -Infinity], \"model_args\": 0,", 1);
    assert!(XttsConfig::from_json(&with_more).is_err());
}
