//! Voices: kept, named, listed, compared.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use myxtts_infer::{DecoderCard, VoiceKind};
use myxtts_model::hifigan::{HifiganConfig, HifiganDecoder};
use myxtts_model::init::Init;
use myxtts_model::params::state_dict;
use myxtts_weights::{ModelWeights, Tensor, TensorMap, write_ours};

use super::{run_folder, synthesize};
use crate::tiny::Tiny;

/// What the file of a voice may weigh.
const SMALL: u64 = 64 << 10;

/// A model with a decoder and two named speakers, as public files have them.
fn with_speakers() -> ModelWeights {
    let mut tiny = Tiny::new(&["en"], 30);
    let mut checkpoint = tiny.with_decoder();
    let card = tiny.card;
    let (latents, channels) = (card.gpt.perceiver.latents, card.gpt.channels);
    let width = card.decoder.unwrap().hifigan.speaker_dim;
    let numbers = |count: usize, scale: f32| -> Vec<f32> {
        (0..count).map(|n| (n as f32 * scale).sin()).collect()
    };
    let mut speakers = TensorMap::new();
    for (name, scale) in [("Ana Florence", 0.3), ("J. R. Dot", 0.7)] {
        let tensor = Tensor::from_f32(
            vec![1, latents, channels],
            &numbers(latents * channels, scale),
        );
        speakers.insert(format!("{name}.gpt_cond_latent"), tensor.unwrap());
        let tensor = Tensor::from_f32(vec![1, width, 1], &numbers(width, scale));
        speakers.insert(format!("{name}.speaker_embedding"), tensor.unwrap());
    }
    checkpoint.speakers = Some(speakers);
    checkpoint
}

fn spoken(path: &Path, arguments: &[&str]) -> Vec<u8> {
    let fixed = ["--text", "Hello there.", "--out", "a.wav"];
    let run = synthesize(path, &[&fixed[..], arguments].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    fs::read(path.join("a.wav")).unwrap()
}

#[test]
fn a_voice_that_was_kept_speaks_as_its_recordings_do() {
    let folder = run_folder();
    let path = folder.path();
    write_ours(&path.join("decoder"), &with_speakers()).unwrap();
    for model in ["runs/first", "decoder"] {
        let model = ["--checkpoint", model];
        // No text is needed to make a voice.
        let made = ["--speaker-wav", "me.wav", "--save-voice", "me.voice"];
        let run = synthesize(path, &[&made[..], &model].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        insta::assert_snapshot!(format!("saved_{}", &model[1][..4]), run.stdout);
        assert!(fs::metadata(path.join("me.voice")).unwrap().len() < SMALL);
        let of_recording = spoken(path, &[&model[..], &["--speaker-wav", "me.wav"]].concat());
        let of_file = spoken(path, &[&model[..], &["--voice", "me.voice"]].concat());
        assert_eq!(of_recording, of_file);
        // And it is made beside speech, the same again.
        let again = ["--voice", "me.voice", "--save-voice", "again.voice"];
        spoken(path, &[&model[..], &again].concat());
        let bytes = |name: &str| fs::read(path.join(name)).unwrap();
        assert_eq!(bytes("me.voice"), bytes("again.voice"));
    }
}

/// A decoder that hears by the GPT's latents, as `--stage decoder` trains one
/// from nothing: voices that were kept before it speak through it, too.
#[test]
fn a_voice_outlives_the_stage_it_was_kept_in() {
    let folder = run_folder();
    let path = folder.path();
    let mut tiny = Tiny::new(&["en"], 30);
    let channels = tiny.card.gpt.channels;
    let hifigan = HifiganConfig {
        channels: 32,
        ..HifiganConfig::tiny(channels, channels)
    };
    let decoder = HifiganDecoder::new(&Init::new(3, &Device::flex()), &hifigan).unwrap();
    tiny.card.decoder = Some(DecoderCard {
        hifigan,
        voice: VoiceKind::Conditioning,
    });
    let mut checkpoint = tiny.checkpoint();
    for (name, data) in state_dict(&decoder).unwrap() {
        let values: Vec<f32> = data.iter().collect();
        let tensor = Tensor::from_f32(data.shape().to_vec(), &values).unwrap();
        let name = format!("hifigan_decoder.{name}");
        checkpoint.hifigan_decoder.insert(name, tensor);
    }
    write_ours(&path.join("decoder"), &checkpoint).unwrap();
    let made = ["--speaker-wav", "me.wav", "--save-voice", "me.voice"];
    let run = synthesize(path, &[&made[..], &["--checkpoint", "runs/first"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let by = |voice: [&str; 2]| spoken(path, &[&["--checkpoint", "decoder"], &voice[..]].concat());
    assert!(by(["--voice", "me.voice"]) == by(["--speaker-wav", "me.wav"]));
}

#[test]
fn a_voice_of_another_model_is_refused() {
    let folder = run_folder();
    let path = folder.path();
    let made = ["--speaker-wav", "me.wav", "--save-voice", "me.voice"];
    assert_eq!(synthesize(path, &made).code, Some(0));
    let mut other = Tiny::new(&["en"], 30).checkpoint();
    let name = "gpt.conditioning_perceiver.latents";
    let latents = other.gpt.get(name).unwrap();
    let numbers: Vec<f32> = latents.to_f32().iter().map(|x| x + 0.01).collect();
    let latents = Tensor::from_f32(latents.shape().to_vec(), &numbers).unwrap();
    other.gpt.insert(name, latents);
    write_ours(&path.join("other"), &other).unwrap();
    let usual = ["--text", "Hello.", "--out", "a.wav"];
    let refused = |arguments: &[&str]| {
        let run = synthesize(path, &[&usual[..], arguments].concat());
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(!path.join("a.wav").exists());
        // Fingerprints are those of weights, which may change with the machine.
        match run.stderr.split_once("another model (") {
            Some((before, after)) => {
                let (hex, after) = after.split_at(8);
                let other = &after[", and this one is ".len()..][..8];
                assert!(hex != other && hex.chars().all(|c| c.is_ascii_hexdigit()));
                format!("{before}another model (HEX{}", after.replace(other, "HEX"))
            }
            None => run.stderr,
        }
    };
    fs::write(path.join("text.voice"), "not a voice").unwrap();
    let messages = [
        refused(&["--voice", "me.voice", "--checkpoint", "other"]),
        refused(&["--voice", "text.voice"]),
        refused(&["--voice", "none.voice"]),
        refused(&["--voice", "."]),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn stored_voices_are_listed_and_speak_by_name() {
    let folder = run_folder();
    let path = folder.path();
    write_ours(&path.join("decoder"), &with_speakers()).unwrap();
    let list = |arguments: &[&str]| {
        let run = synthesize(path, &[&["--list-voices"], arguments].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stdout
    };
    let bare = path.join("bare");
    write_ours(&bare, &Tiny::new(&["en"], 30).checkpoint()).unwrap();
    let lists = [
        list(&[]),
        list(&["--checkpoint", "decoder"]),
        list(&["--checkpoint", "decoder", "--json"]),
        list(&["--checkpoint", "bare"]),
    ];
    insta::assert_snapshot!(lists.join("\n"));
    let by = |name: &str| spoken(path, &["--checkpoint", "decoder", "--speaker", name]);
    let [ana, dot] = ["Ana Florence", "J. R. Dot"].map(by);
    assert!(ana != dot);
    let usual = spoken(path, &["--checkpoint", "decoder"]);
    assert!(usual == ana, "the first by name");
    // A file that is not the one that was written is not trusted.
    fs::write(path.join("decoder/speakers.safetensors"), "damaged").unwrap();
    let run = synthesize(path, &["--list-voices", "--checkpoint", "decoder"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
}

#[test]
fn similarity_is_the_models_own_opinion() {
    let folder = run_folder();
    let path = folder.path();
    write_ours(&path.join("decoder"), &with_speakers()).unwrap();
    for (model, of) in [
        ("runs/first", "conditioning-latents"),
        ("decoder", "speaker-encoder"),
    ] {
        // The tiny decoder whispers too softly to be heard.
        let fixed = ["--text", "Hello.", "--out", "a.wav", "--similarity"];
        let fixed = [&fixed[..], &["--vocoder", "griffin-lim"]].concat();
        let voice = ["--speaker-wav", "me.wav", "--checkpoint", model];
        let run = synthesize(path, &[&fixed[..], &voice, &["--json"]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let similarity = &run.json()["similarity"];
        assert_eq!(similarity["of"], of);
        let cosine = similarity["cosine"].as_f64().unwrap();
        assert!((-1.0..=1.0).contains(&cosine), "{cosine}");
        let run = synthesize(path, &[&fixed[..], &voice].concat());
        let line = run.stdout.lines().find(|line| line.contains("similarity"));
        let words = line.unwrap().split_once(" to ").unwrap().1;
        insta::assert_snapshot!(format!("similarity_{of}"), words);
    }
}
