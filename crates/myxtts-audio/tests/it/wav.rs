//! WAV files that well-meaning programs write.

use crate::support::{FLOAT, PCM, Wav, chunk};
use myxtts_audio::units::{SampleRate, Samples, Seconds};
use myxtts_audio::{Decoded, Fault, Limits, decode_bytes};

fn decoded(bytes: &[u8]) -> Decoded {
    decode_bytes(bytes, &Limits::default()).unwrap()
}

/// One value in every encoding.
fn encodings(value: f64) -> Vec<Wav> {
    let whole = |bits: u32| (value * 2_f64.powi(bits as i32 - 1)) as i64;
    vec![
        Wav::new(PCM, 8, 1, vec![(whole(8) + 128) as u8]),
        Wav::new(PCM, 16, 1, (whole(16) as i16).to_le_bytes().to_vec()),
        Wav::new(PCM, 24, 1, (whole(24) as i32).to_le_bytes()[..3].to_vec()),
        Wav::new(PCM, 32, 1, (whole(32) as i32).to_le_bytes().to_vec()),
        Wav::new(FLOAT, 32, 1, (value as f32).to_le_bytes().to_vec()),
        Wav::new(FLOAT, 64, 1, value.to_le_bytes().to_vec()),
    ]
}

#[test]
fn every_encoding_plain_and_extensible() {
    for value in [0.0, 0.5, -0.5, -1.0, 0.25] {
        for wav in encodings(value) {
            assert_eq!(
                decoded(&wav.bytes()).waveform.samples,
                [value as f32],
                "{wav:?}"
            );
            let extensible = wav.extensible();
            assert_eq!(
                decoded(&extensible.bytes()).waveform.samples,
                [value as f32]
            );
        }
    }
}

#[test]
fn channels_are_averaged_and_the_source_is_told() {
    let data = [1000_i16, 3000, -1000, 0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let mut wav = Wav::new(PCM, 16, 2, data);
    wav.rate = 48_000;
    let decoded = decoded(&wav.bytes());
    assert_eq!(
        decoded.waveform.samples,
        [2000.0 / 32_768.0, -500.0 / 32_768.0]
    );
    assert_eq!(decoded.waveform.rate, SampleRate::new(48_000).unwrap());
    assert_eq!(
        (decoded.source.channels, decoded.source.samples),
        (2, Samples(2))
    );
}

#[test]
fn unknown_and_odd_chunks_are_stepped_over() {
    let mut wav = Wav::tone(100);
    let plain = decoded(&wav.bytes());
    wav.extra = [
        chunk(b"LIST", b"odd"),
        chunk(b"bext", &[0; 602]),
        chunk(b"junk", b""),
    ]
    .concat();
    assert_eq!(decoded(&wav.bytes()), plain);
    // An odd chunk whose writer forgot the padding byte.
    wav.extra = chunk(b"LIST", b"odd");
    wav.extra.pop();
    assert_eq!(decoded(&wav.bytes()), plain);
}

#[test]
fn chunks_and_padding_after_the_data_are_ignored() {
    let data = vec![128; 33];
    let mut bytes = Wav::new(PCM, 8, 1, data).bytes();
    bytes.push(0);
    bytes.extend(chunk(b"LIST", b"made by nobody"));
    assert_eq!(decoded(&bytes).source.samples, Samples(33));
}

#[test]
fn a_streamed_file_of_unknown_size_is_read_to_its_end() {
    let wav = Wav::tone(100);
    let plain = decoded(&wav.bytes());
    let mut streamed = wav.bytes();
    streamed[4..8].fill(0xff);
    streamed[40..44].fill(0xff);
    assert_eq!(decoded(&streamed), plain);
}

#[test]
fn rf64_takes_its_sizes_from_ds64() {
    let wav = Wav::tone(50);
    let size = wav.data.len() as u64;
    let sizes = [
        (size + 72).to_le_bytes(),
        size.to_le_bytes(),
        50_u64.to_le_bytes(),
    ]
    .concat();
    let ds64 = chunk(b"ds64", &[sizes, vec![0; 4]].concat());
    let data = [&b"data"[..], &[0xff; 4], &wav.data].concat();
    let bytes = [
        &b"RF64"[..],
        &[0xff; 4],
        b"WAVE",
        &ds64,
        &wav.format(),
        &data,
        &chunk(b"LIST", b"tail"),
    ]
    .concat();
    assert_eq!(decoded(&bytes), decoded(&wav.bytes()));
}

#[test]
fn one_sample_is_a_recording() {
    assert_eq!(decoded(&Wav::tone(1).bytes()).waveform.len(), Samples(1));
}

#[test]
fn the_limit_is_inclusive() {
    let second = Wav::tone(22_050).bytes();
    assert!(
        decode_bytes(
            &second,
            &Limits {
                longest: Seconds(1.0)
            }
        )
        .is_ok()
    );
    let refused = decode_bytes(
        &second,
        &Limits {
            longest: Seconds(0.99),
        },
    );
    assert!(matches!(refused, Err(Fault::TooLong { .. })), "{refused:?}");
}
