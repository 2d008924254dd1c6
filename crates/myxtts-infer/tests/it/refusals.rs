//! What cannot be spoken, and what is said about it.

use burn::tensor::Device;
use myxtts_audio::Waveform;
use myxtts_audio::units::SampleRate;
use myxtts_infer::{InferError, Modules, Synthesizer};
use myxtts_model::dvae::{Dvae, DvaeConfig};
use myxtts_model::generate::SamplingConfig;
use myxtts_model::init::Init;

use crate::tiny::{Tiny, options, recording};

fn said<T>(result: Result<T, InferError>) -> String {
    match result {
        Ok(_) => panic!("no error"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn texts_and_voices() {
    let tiny = Tiny::new(&["en", "fa"], 30);
    let mut synthesizer = tiny.synthesizer();
    let voice = synthesizer.voice(&[recording(30_000)]).unwrap();
    let greedy = SamplingConfig::greedy();
    let mut speak =
        |text: &str, tag: &str| said(synthesizer.speak(text, &voice, &options(tag, greedy)));
    let mut messages = vec![speak("Hello.", "de"), speak(" \n ", "en")];
    // A language tag alone fills the only place.
    let cramped = Tiny::new(&["en"], 1);
    messages.push(said(cramped.synthesizer().speak(
        "Hello.",
        &voice,
        &options("en", greedy),
    )));
    let elsewhere = Waveform {
        rate: SampleRate::VOCODER,
        ..recording(30_000)
    };
    let silence = Waveform {
        samples: vec![9e-4; 30_000],
        ..recording(0)
    };
    for references in [
        vec![],
        vec![recording(2_000)],
        vec![elsewhere],
        vec![recording(30_000), silence],
    ] {
        messages.push(said(synthesizer.voice(&references)));
    }
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn weights() {
    let tiny = Tiny::new(&["en"], 30);
    let device = Device::flex();
    let whole = tiny.checkpoint();
    let load = |change: &dyn Fn(&mut myxtts_weights::ModelWeights)| {
        let mut checkpoint = whole.clone();
        change(&mut checkpoint);
        said(Modules::load(&checkpoint, &device))
    };
    let mut messages = vec![
        load(&|checkpoint| checkpoint.model = Some(serde_json::json!({ "gpt": 3 }))),
        load(&|checkpoint| checkpoint.vocabulary = None),
        load(&|checkpoint| {
            checkpoint.gpt.remove("gpt.mel_head.weight");
        }),
        load(&|checkpoint| {
            let dvae = checkpoint.dvae.as_mut().unwrap();
            let other = whole.gpt.get("gpt.mel_head.weight").unwrap().clone();
            dvae.insert("codebook.embed", other);
        }),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut mute = whole.clone();
    mute.dvae = None;
    myxtts_weights::write_ours(&folder.path().join("mute"), &mute).unwrap();
    messages.push(said(Synthesizer::open(
        &folder.path().join("mute"),
        &device,
    )));
    let mut unscaled = whole.clone();
    unscaled.mel_stats = None;
    let weights = folder.path().join("unscaled");
    myxtts_weights::write_ours(&weights, &unscaled).unwrap();
    messages.push(said(Synthesizer::open(&weights, &device)));
    let smaller = DvaeConfig {
        codes: 16,
        ..tiny.card.dvae
    };
    let modules = Modules {
        dvae: Some(Dvae::new(&Init::new(1, &device), &smaller).unwrap()),
        ..tiny.modules()
    };
    messages.push(said(Synthesizer::new(modules, None, &device)));
    let modules = Modules {
        dvae: None,
        ..tiny.modules()
    };
    messages.push(said(Synthesizer::new(modules, None, &device)));
    insta::assert_snapshot!(messages.join("\n\n"));
}
