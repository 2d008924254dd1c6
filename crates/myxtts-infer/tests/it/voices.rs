//! Recordings into a voice.

use burn::tensor::{Device, Tensor};
use myxtts_audio::units::SampleRate;
use myxtts_audio::{MelFrontEnd, ResampleSpec, Resampler, Waveform};
use myxtts_model::gpt::Quirks;
use myxtts_weights::Tensor as Stored;

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

fn stored(shape: [usize; 3]) -> Stored {
    let numbers = vec![0.5; shape.iter().product()];
    Stored::from_f32(shape.to_vec(), &numbers).unwrap()
}

/// Latents of named speakers are those of the model they came with.
#[test]
fn latents_of_other_sizes_are_refused() {
    let synthesizer = Tiny::new(&["en"], 30).synthesizer();
    let voice = synthesizer.voice_from_latents("anna", &stored([1, 4, 32]), None);
    assert_eq!(voice.unwrap().latents_1nd.dims(), [1, 4, 32]);
    let refused = [[1, 4, 64], [1, 32, 32], [2, 4, 32]].map(|shape| {
        let voice = synthesizer.voice_from_latents("anna", &stored(shape), None);
        voice.unwrap_err().to_string()
    });
    insta::assert_snapshot!(refused.join("\n"), @r"
    the voice `anna` cannot be used: it has 4 latents of 64 channels, and the model has 4 of 32
      fix:   make it again from recordings of the speaker with --speaker-wav
    the voice `anna` cannot be used: it has 32 latents of 32 channels, and the model has 4 of 32
      fix:   make it again from recordings of the speaker with --speaker-wav
    the voice `anna` cannot be used: its gpt_cond_latent has shape [2, 4, 32]
      fix:   use the speakers_xtts.pth that came with these weights, and import them again
    ");
}

/// A voice sounds like itself to the model, and other sound does so less.
#[test]
fn a_voice_is_most_similar_to_itself() {
    let tiny = Tiny::new(&["en"], 30);
    let mut synthesizer = tiny.synthesizer();
    let reference = recording(30_000);
    let voice = synthesizer.voice(std::slice::from_ref(&reference)).unwrap();
    let same = synthesizer.similarity(&voice, &reference).unwrap();
    assert!((same.cosine - 1.0).abs() < 1e-6, "{same:?}");
    let mut other = recording(30_000);
    other.samples.iter_mut().for_each(|x| *x = x.powi(3));
    let other = synthesizer.similarity(&voice, &other).unwrap();
    assert!(other.cosine < same.cosine, "{other:?}");
    // Speech is at the rate of its vocoder.
    let mut resampler = Resampler::new(SampleRate::XTTS, SampleRate::VOCODER, ResampleSpec::XTTS);
    let resampled = Waveform {
        samples: resampler.process(&reference.samples),
        rate: SampleRate::VOCODER,
    };
    let resampled = synthesizer.similarity(&voice, &resampled).unwrap();
    assert!(resampled.cosine > 0.99, "{resampled:?}");
}
