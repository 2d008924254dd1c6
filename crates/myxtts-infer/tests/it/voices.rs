//! Recordings into a voice.

use burn::tensor::{Device, Tensor};
use myxtts_audio::{MelFrontEnd, Waveform};
use myxtts_model::gpt::Quirks;

use crate::tiny::{Tiny, recording};

const SECOND: usize = 22_050;

/// One segment by the definition: pad, mel, condition.
fn plain(tiny: &Tiny, samples: &[f32], padded: usize) -> Tensor<3> {
    let mut samples = samples.to_vec();
    samples.resize(padded, 0.0);
    let mut front_end =
        MelFrontEnd::new(tiny.card.conditioning_mel, Some(tiny.stats.clone())).unwrap();
    let mel = front_end.mel(&samples).unwrap();
    let data = burn::tensor::TensorData::new(mel.values, [1, mel.bands, mel.frames.0]);
    tiny.gpt.condition(Tensor::from_data(data, &Device::flex()))
}

fn apart(a: Tensor<3>, b: Tensor<3>) -> f32 {
    assert_eq!(a.dims(), b.dims());
    (a - b).abs().max().into_scalar()
}

fn voice(tiny: &Tiny, references: &[Waveform]) -> Tensor<3> {
    tiny.synthesizer().voice(references).unwrap().latents_1nd
}

#[test]
fn a_voice_is_the_mean_over_segments_as_training_cuts_them() {
    let tiny = Tiny::new(&["en"], 30);
    // Two whole seconds, 0.6 s that is padded, and a rest that is too short.
    let long = recording(2 * SECOND + 13_230);
    let short = recording(2 * SECOND + 8_000);
    let first = plain(&tiny, &long.samples[..SECOND], SECOND);
    let second = plain(&tiny, &long.samples[SECOND..2 * SECOND], SECOND);
    let third = plain(&tiny, &long.samples[2 * SECOND..], SECOND);
    let two = (first.clone() + second.clone()) / 2.0;
    let three = (first.clone() + second.clone() + third) / 3.0;
    assert!(apart(voice(&tiny, &[short]), two.clone()) < 1e-6);
    assert!(apart(voice(&tiny, std::slice::from_ref(&long)), three.clone()) < 1e-6);
    assert!(apart(three, two) > 1e-6, "the test sees no difference");
    // Several recordings count by their segments.
    let one = Waveform {
        samples: long.samples[..SECOND].to_vec(),
        rate: long.rate,
    };
    let two = Waveform {
        samples: long.samples[SECOND..2 * SECOND].to_vec(),
        rate: long.rate,
    };
    assert!(apart(voice(&tiny, &[one, two]), (first + second) / 2.0) < 1e-6);
}

#[test]
fn public_models_hear_a_short_segment_without_padding() {
    let mut tiny = Tiny::new(&["en"], 30);
    tiny.card.quirks = Quirks::Compat;
    let short = recording(10_000);
    let unpadded = plain(&tiny, &short.samples, 10_000);
    let padded = plain(&tiny, &short.samples, SECOND);
    assert!(apart(voice(&tiny, std::slice::from_ref(&short)), unpadded.clone()) < 1e-6);
    tiny.card.quirks = Quirks::Fixed;
    assert!(apart(voice(&tiny, &[short]), padded.clone()) < 1e-6);
    assert!(
        apart(padded, unpadded) > 1e-6,
        "the test sees no difference"
    );
}
