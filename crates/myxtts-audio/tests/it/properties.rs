//! What must hold for every input.

use std::fs;

use crate::support::{FLOAT, PCM, Wav, chunk, recording};
use myxtts_audio::units::{SampleRate, Samples, Seconds};
use myxtts_audio::{Limits, MelFrontEnd, MelSpec, ResampleSpec, Resampler, decode_bytes};
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    longest: Seconds(5.0),
};

/// Decodes or refuses; what it decodes is finite, not empty and within limits.
fn decodes_or_refuses(bytes: &[u8]) {
    match decode_bytes(bytes, &LIMITS) {
        Ok(decoded) => {
            assert!(!decoded.waveform.is_empty());
            assert!(decoded.waveform.samples.iter().all(|x| x.is_finite()));
            assert!(decoded.waveform.duration() <= LIMITS.longest);
        }
        Err(fault) => assert!(!fault.to_string().is_empty()),
    }
}

/// One change to a file.
#[derive(Clone, Debug)]
enum Damage {
    Set(prop::sample::Index, u8),
    Word(prop::sample::Index, u32),
    Cut(prop::sample::Index),
    Remove(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
}

impl Damage {
    fn apply(self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Self::Set(at, value) => {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            Self::Word(at, value) => {
                let at = at.index(bytes.len());
                for (byte, value) in bytes[at..].iter_mut().zip(value.to_le_bytes()) {
                    *byte = value;
                }
            }
            Self::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Self::Remove(at, count) => {
                let at = at.index(bytes.len());
                let end = (at + count).min(bytes.len());
                bytes.drain(at..end);
            }
            Self::Insert(at, new) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, new);
            }
        }
    }
}

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let word = prop_oneof![
        Just(0),
        Just(1),
        Just(u32::MAX),
        Just(0x7fff_ffff),
        any::<u32>()
    ];
    let one = prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, value)| Damage::Set(at, value)),
        (any::<prop::sample::Index>(), word).prop_map(|(at, value)| Damage::Word(at, value)),
        any::<prop::sample::Index>().prop_map(Damage::Cut),
        (any::<prop::sample::Index>(), 1_usize..9).prop_map(|(at, n)| Damage::Remove(at, n)),
        (
            any::<prop::sample::Index>(),
            prop::collection::vec(any::<u8>(), 1..9)
        )
            .prop_map(|(at, new)| Damage::Insert(at, new)),
    ];
    prop::collection::vec(one, 1..5)
}

/// Sound WAV files of every kind, short, so that damage hits the header often.
fn wav() -> impl Strategy<Value = Vec<u8>> {
    let encoding = prop::sample::select(vec![
        (PCM, 8),
        (PCM, 16),
        (PCM, 24),
        (PCM, 32),
        (FLOAT, 32),
        (FLOAT, 64),
    ]);
    (
        encoding,
        1_u16..4,
        0_usize..40,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|((tag, bits), channels, frames, extensible, extra)| {
            let data = vec![0x3f; frames * usize::from(channels) * usize::from(bits / 8)];
            let mut wav = Wav::new(tag, bits, channels, data);
            if extra {
                wav.extra = chunk(b"LIST", b"odd");
            }
            if extensible {
                wav.extensible().bytes()
            } else {
                wav.bytes()
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4096) })]

    #[test]
    fn any_bytes_decode_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        decodes_or_refuses(&bytes);
    }

    #[test]
    fn any_damage_to_a_wav_decodes_or_is_refused(mut bytes in wav(), damage in damage()) {
        damage.into_iter().for_each(|damage| damage.apply(&mut bytes));
        decodes_or_refuses(&bytes);
    }

    #[test]
    fn cutting_a_wav_anywhere_is_noticed(frames in 1_usize..50, at in any::<prop::sample::Index>()) {
        let bytes = Wav::tone(frames).bytes();
        prop_assert!(decode_bytes(&bytes[..at.index(bytes.len())], &LIMITS).is_err());
    }

    #[test]
    fn every_16_bit_value_survives(values in prop::collection::vec(any::<i16>(), 1..50)) {
        let data = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let decoded = decode_bytes(&Wav::new(PCM, 16, 1, data).bytes(), &LIMITS).unwrap();
        let back: Vec<f32> = decoded.waveform.samples.iter().map(|x| x * 32_768.0).collect();
        prop_assert_eq!(back, values.into_iter().map(f32::from).collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_damage_to_a_compressed_file_decodes_or_is_refused(
        name in prop::sample::select(vec!["stereo.flac", "mono.mp3", "stereo.ogg", "mono.m4a"]),
        damage in damage(),
    ) {
        let mut bytes = fs::read(recording(name)).unwrap();
        damage.into_iter().for_each(|damage| damage.apply(&mut bytes));
        decodes_or_refuses(&bytes);
    }

    #[test]
    fn resampling_keeps_length_and_bounds(
        from in 1_000_u32..96_000, to in 8_000_u32..48_000, length in 0_usize..2_000,
    ) {
        let (from, to) = (SampleRate::new(from).unwrap(), SampleRate::new(to).unwrap());
        let mut resampler = Resampler::new(from, to, ResampleSpec::XTTS);
        let output = resampler.process(&vec![0.5; length]);
        prop_assert_eq!(Samples(output.len()), resampler.output_len(Samples(length)));
        let exact = length as f64 * f64::from(to.hz()) / f64::from(from.hz());
        prop_assert!((output.len() as f64 - exact).abs() <= 1.0);
        prop_assert!(output.iter().all(|x| x.abs() < 1.0));
    }

    #[test]
    fn every_length_has_its_frames(length in 0_usize..6_000) {
        for spec in [MelSpec::DVAE, MelSpec::CONDITIONING, MelSpec::SPEAKER] {
            let mel = MelFrontEnd::new(spec, None).unwrap().mel(&vec![0.1; length]);
            prop_assert_eq!(mel.is_err(), Samples(length) < spec.shortest());
            if let Ok(mel) = mel {
                prop_assert_eq!(mel.frames.0, length / spec.hop.0 + 1);
                prop_assert_eq!(mel.values.len(), mel.bands * mel.frames.0);
                prop_assert!(mel.values.iter().all(|x| x.is_finite()));
            }
        }
    }
}
