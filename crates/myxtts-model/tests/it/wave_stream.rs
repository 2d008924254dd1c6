//! A stream of any pieces is the whole waveform.

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_model::hifigan::{HifiganConfig, HifiganDecoder, SpeakingDecoder, WaveStream, at_speed};
use myxtts_model::init::{Init, mix};
use proptest::prelude::*;

/// Whole and streamed sums have other orders.
const ROUNDING: f32 = 2e-5;

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let number = |at: u64| (mix(seed ^ mix(at)) >> 40) as f32 / (1_u64 << 23) as f32 - 1.0;
    (0..count as u64).map(number).collect()
}

fn tensor<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<D> {
    let values = numbers(shape.iter().product(), seed);
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

/// Kernels of a stage that are twice its rate, and that are not.
fn decoders() -> Vec<(HifiganDecoder, HifiganConfig)> {
    let tiny = HifiganConfig::tiny(12, 6);
    let odd = HifiganConfig {
        channels: 24,
        upsample_rates: vec![4, 3],
        upsample_kernels: vec![10, 5],
        code_stride: 48,
        resblock_kernels: vec![3, 5],
        resblock_dilations: vec![vec![1, 2], vec![3]],
        speaker_in_each_stage: false,
        ..tiny.clone()
    };
    [tiny, odd]
        .into_iter()
        .map(|config| {
            let init = Init::new(4, &Device::flex());
            (HifiganDecoder::new(&init, &config).unwrap(), config)
        })
        .collect()
}

fn values(wave: Tensor<3>) -> Vec<f32> {
    wave.into_data().iter().collect()
}

fn assert_same(found: &[f32], whole: &[f32]) {
    assert_eq!(found.len(), whole.len());
    let worst = found
        .iter()
        .zip(whole)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(worst < ROUNDING, "{worst}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn pieces_are_the_whole(
        pieces in prop::collection::vec(1_usize..9, 1..8),
        speed in prop::sample::select(vec![1.0, 0.7, 1.9]),
        seed in any::<u64>(),
    ) {
        let codes: usize = pieces.iter().sum();
        for (decoder, config) in decoders() {
            let latents = tensor([1, codes, config.latent_dim], seed);
            let speaker = tensor([1, config.speaker_dim, 1], !seed);
            let paced = if speed == 1.0 { latents.clone() } else { at_speed(latents.clone(), speed) };
            let whole = values(decoder.forward(paced, speaker.clone()));
            for speaking in [decoder.for_speaking(), SpeakingDecoder::plain(&decoder)] {
                let mut stream = WaveStream::new(&speaking, speaker.clone(), speed).unwrap();
                let (mut heard, mut at) = (vec![], 0);
                for &piece in &pieces {
                    let piece_1nd = latents.clone().narrow(1, at, piece);
                    heard.extend(stream.push(piece_1nd).unwrap());
                    at += piece;
                }
                heard.extend(stream.finish().unwrap());
                assert_same(&heard, &whole);
            }
        }
    }
}

/// The sound begins after a few codes, and follows them at the same distance.
#[test]
fn samples_come_as_soon_as_they_are_certain() {
    let (decoder, config) = decoders().swap_remove(0);
    let speaker = tensor([1, config.speaker_dim, 1], 1);
    let latents = tensor([1, 40, config.latent_dim], 2);
    let mut stream = WaveStream::new(&decoder.for_speaking(), speaker, 1.0).unwrap();
    let mut heard = 0;
    // 14 frames, of which a code has 4.35.
    let held_back = 15 * config.hop();
    for codes in 1..=40_usize {
        let piece = latents.clone().narrow(1, codes - 1, 1);
        heard += stream.push(piece).unwrap().len();
        let known = config.rates().count(codes) * config.hop();
        assert!(heard <= known);
        assert!(
            heard + held_back + 5 * config.hop() >= known,
            "{codes} codes: {heard} of {known}"
        );
    }
    heard += stream.finish().unwrap().len();
    assert_eq!(heard, config.rates().count(40) * config.hop());
}

#[test]
fn nothing_said_is_no_sound() {
    for (decoder, config) in decoders() {
        let speaker = tensor([1, config.speaker_dim, 1], 1);
        for speaking in [decoder.for_speaking(), SpeakingDecoder::plain(&decoder)] {
            let stream = WaveStream::new(&speaking, speaker.clone(), 1.0).unwrap();
            assert!(stream.finish().unwrap().is_empty());
        }
    }
}
