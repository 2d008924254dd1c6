//! Recordings through the model's own codes and back.

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::units::{Frames, SampleRate};
use myxtts_audio::{GriffinLim, Mel, MelFrontEnd, Waveform};
use myxtts_infer::{InferError, SpeakOptions, Synthesizer, Vocoder};
use myxtts_model::generate::SamplingConfig;

use crate::tiny::{Tiny, options, recording};

/// Step by step, with the parts themselves.
#[test]
fn a_copy_by_griffin_lim_is_what_the_dvae_makes_of_its_codes() {
    let tiny = Tiny::new(&["en"], 30);
    let mut synthesizer = tiny.synthesizer();
    let recording = recording(30_000);
    let voice = synthesizer.voice(std::slice::from_ref(&recording));
    let options = options("en", SamplingConfig::greedy());
    let copy = synthesizer.copy(&recording, "Hello.", &voice.unwrap(), &options);

    let mut wave = recording.samples;
    wave.resize(30 * 1024, 0.0);
    let spec = tiny.card.codes_mel;
    let mut front_end = MelFrontEnd::new(spec, Some(tiny.stats.clone())).unwrap();
    let mel = front_end.mel(&wave).unwrap();
    let data = TensorData::new(mel.values, [1, 80, mel.frames.0]);
    let codes_1m = tiny
        .dvae
        .encode(Tensor::<3>::from_data(data, &Device::flex()));
    let back_1ct = tiny.dvae.decode(codes_1m.narrow(1, 0, 30));
    assert_eq!(back_1ct.dims(), [1, 80, 120]);
    let back: Vec<f32> = back_1ct.into_data().iter().collect();
    // The last frame twice: n hops have n + 1 of them.
    let values = back
        .chunks(120)
        .flat_map(|row| row.iter().chain(row.last()));
    let mel = Mel {
        bands: 80,
        frames: Frames(121),
        values: values.copied().collect(),
    };
    let griffin_lim = GriffinLim::new(spec, Some(tiny.stats.clone()));
    let expected = griffin_lim.unwrap().waveform(&mel).unwrap();
    assert_eq!(copy.unwrap(), expected);
}

#[test]
fn the_waveform_decoder_copies_what_the_gpt_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Tiny::new(&["en"], 14).with_decoder();
    myxtts_weights::write_ours(folder.path(), &checkpoint).unwrap();
    let mut synthesizer = Synthesizer::open(folder.path(), &Device::flex()).unwrap();
    let (recording, long) = (recording(30_000), recording(90_000));
    let voice = synthesizer.voice(std::slice::from_ref(&recording)).unwrap();
    let options = SpeakOptions {
        vocoder: Vocoder::Hifigan,
        ..options("en", SamplingConfig::greedy())
    };
    let mut copy =
        |recording: &Waveform, text: &str| synthesizer.copy(recording, text, &voice, &options);
    let hello = copy(&recording, "Hello.").unwrap();
    let again = copy(&recording, "Hello.").unwrap();
    assert_eq!(hello, again);
    // As long as its codes, whatever is said.
    let seconds = hello.duration().0;
    assert!(
        (seconds - 30.0 * 1024.0 / 22_050.0).abs() < 0.05,
        "{seconds}"
    );
    assert_ne!(hello, copy(&recording, "Why?").unwrap());
    let text = "Hello there. Why? The fox jumps.";
    let in_pieces = copy(&recording, text).unwrap_err();
    let other_rate = Waveform {
        rate: SampleRate::SPEAKER,
        ..recording.clone()
    };
    let other_rate = copy(&other_rate, "Hello.").unwrap_err();
    assert!(matches!(other_rate, InferError::Rate { .. }));
    let too_long = copy(&long, "Hello.").unwrap_err();
    let [in_pieces, too_long] = [in_pieces, too_long].map(|error| error.to_string());
    assert!(
        in_pieces.contains("a recording is copied in one piece"),
        "{in_pieces}"
    );
    assert!(
        too_long.contains("audio codes do not fit the model"),
        "{too_long}"
    );
}
