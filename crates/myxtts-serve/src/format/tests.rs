//! Each format, read back by another's decoder where there is one.

#![allow(clippy::cast_possible_truncation, reason = "samples of 16 bits")]

use myxtts_audio::{Limits, Resampler, decode_bytes};
use opus_pure::{MAX_PACKET_SAMPLES, OggOpusReader, Trim};

use super::*;

const LENGTHS: [u16; 5] = [1, 479, 1_024, 5_000, 50_000];

fn wave(length: u16) -> Vec<f32> {
    let sample = |n: u16| (f32::from(n) * 0.06).sin() * 0.5 + (f32::from(n) * 0.011).sin() * 0.3;
    (0..length).map(sample).collect()
}

fn encoded(format: Format, rate: SampleRate, samples: &[f32], streamed: bool) -> Vec<u8> {
    let mut encoder = format.encoder(rate, streamed).unwrap();
    let mut bytes = Vec::new();
    for part in samples.chunks(1_000) {
        bytes.extend(encoder.push(part).unwrap());
    }
    bytes.extend(encoder.finish().unwrap());
    bytes
}

fn heard(bytes: &[u8]) -> Vec<f32> {
    decode_bytes(bytes, &Limits::default())
        .unwrap()
        .waveform
        .samples
}

/// Highest correlation of two sounds over small shifts: 1 is the same sound.
fn likeness(a: &[f32], b: &[f32], shifts: usize) -> f32 {
    let at = |shift: usize| {
        let pairs = || a.iter().zip(&b[shift.min(b.len())..]);
        let dot: f32 = pairs().map(|(a, b)| a * b).sum();
        let norm = |it: f32| it.max(1e-12).sqrt();
        dot / norm(pairs().map(|(a, _)| a * a).sum()) / norm(pairs().map(|(_, b)| b * b).sum())
    };
    (0..shifts).map(at).fold(-1.0, f32::max)
}

#[test]
fn wav_and_flac_are_exact_streamed_or_whole() {
    for length in LENGTHS.into_iter().filter(|length| *length > 15) {
        let samples = wave(length);
        let expected: Vec<i16> = samples
            .iter()
            .map(|x| (x * 32_768.0).round() as i16)
            .collect();
        for format in [Format::Wav, Format::Flac] {
            for streamed in [false, true] {
                let mut bytes = encoded(format, SampleRate::XTTS, &samples, streamed);
                if format == Format::Wav && streamed {
                    // Its header does not know how long it is.
                    let pcm: Vec<u8> = expected.iter().flat_map(|x| x.to_le_bytes()).collect();
                    assert_eq!(bytes.split_off(44), pcm);
                    continue;
                }
                let heard = heard(&bytes);
                let heard: Vec<i16> = heard
                    .iter()
                    .map(|x| (x * 32_768.0).round() as i16)
                    .collect();
                assert_eq!(heard, expected, "{format:?} {length} {streamed}");
            }
        }
    }
}

#[test]
fn pcm_is_always_24_khz() {
    for length in LENGTHS {
        let samples = wave(length);
        let mut resampler = Resampler::new(
            SampleRate::XTTS,
            SampleRate::VOCODER,
            ResampleSpec::KAISER_BEST,
        );
        let expected = pcm16(&resampler.process(&samples));
        assert_eq!(
            encoded(Format::Pcm, SampleRate::XTTS, &samples, true),
            expected
        );
        assert_eq!(
            encoded(Format::Pcm, SampleRate::VOCODER, &samples, false),
            pcm16(&samples)
        );
    }
}

/// A buzz that swells and fades: harmonics of 120 Hz up to 10 kHz, where the hissing
/// sounds of speech are.
fn buzz(rate: SampleRate, length: u16) -> Vec<f32> {
    let sample = |n: u16| {
        let time = f32::from(n) / rate.hz() as f32;
        let of = |harmonic: u16| {
            let phase = std::f32::consts::TAU * 120.0 * f32::from(harmonic) * time;
            phase.sin() / f32::from(harmonic).sqrt()
        };
        let swell = 0.1 + 0.05 * (std::f32::consts::TAU * 3.0 * time).sin();
        (1..84).map(of).sum::<f32>() * swell
    };
    (0..length).map(sample).collect()
}

/// How far the sound is above what was changed of it, in decibels.
fn above_noise_db(likeness: f32) -> f32 {
    -10.0 * (1.0 - likeness * likeness).max(1e-9).log10()
}

/// Read back by Symphonia, which knows nothing of the encoder.
#[test]
fn mp3_is_the_same_sound() {
    for spoken in [SampleRate::XTTS, SampleRate::VOCODER] {
        let rate = Format::Mp3.rate(spoken);
        assert_ne!(rate, SampleRate::VOCODER, "FFmpeg does not read it well");
        let samples = buzz(spoken, 30_000);
        let mut resampler = Resampler::new(spoken, rate, ResampleSpec::KAISER_BEST);
        let expected = resampler.process(&samples);
        for streamed in [false, true] {
            let bytes = encoded(Format::Mp3, spoken, &samples, streamed);
            assert!(bytes.len() < expected.len(), "{} bytes", bytes.len());
            let heard = heard(&bytes);
            let most = if streamed { 4_000 } else { 1_200 };
            assert!(
                heard.len().abs_diff(expected.len()) < most,
                "{} of {} samples",
                heard.len(),
                expected.len()
            );
            let likeness = likeness(&expected[2_000..12_000], &heard[2_000..], 1_700);
            let db = above_noise_db(likeness);
            assert!(db > 20.0, "{spoken} {streamed}: {db} dB");
        }
    }
}

/// Read back by the same crate's decoder, which is checked against libopus by
/// its authors, and by libsndfile in `tools/check-openai-client`.
#[test]
fn opus_is_the_same_sound_of_the_same_length() {
    for (rate, length) in [
        (SampleRate::VOCODER, 50_000),
        (SampleRate::VOCODER, 1),
        (SampleRate::VOCODER, 479),
        (SampleRate::VOCODER, 480),
        (SampleRate::VOCODER, 481),
        (SampleRate::XTTS, 44_100),
    ] {
        let samples = wave(length);
        let bytes = encoded(Format::Opus, rate, &samples, true);
        let mut reader = OggOpusReader::new(&bytes[..]).unwrap();
        let mut decoder = reader.head().decoder(24_000).unwrap();
        let mut trim = Trim::new(reader.head(), 24_000, 1).unwrap();
        let mut block = vec![0.0; MAX_PACKET_SAMPLES];
        let mut heard: Vec<f32> = Vec::new();
        for packet in reader.packets() {
            let packet = packet.unwrap();
            let count = decoder.decode(&packet.data, MAX_PACKET_SAMPLES, &mut block);
            heard.extend(trim.keep(&packet, &block[..count.unwrap()]));
        }
        let mut resampler = Resampler::new(rate, SampleRate::VOCODER, ResampleSpec::KAISER_BEST);
        let expected = resampler.process(&samples);
        assert_eq!(heard.len(), expected.len(), "{rate} {length}");
        if length > 1_000 {
            let likeness = likeness(&expected, &heard, 1);
            assert!(likeness > 0.98, "{likeness}");
        }
    }
}

/// Bytes come while sound does.
#[test]
fn a_stream_is_given_as_it_comes() {
    for (name, format) in Format::ALL {
        let mut encoder = format.encoder(SampleRate::XTTS, true).unwrap();
        let first = encoder.push(&wave(22_050)).unwrap();
        assert!(first.len() > 3_000, "{name}: {} bytes", first.len());
        assert!(!encoder.finish().unwrap().is_empty() || format == Format::Wav);
    }
}

#[test]
fn nothing_is_still_a_file() {
    for (name, format) in Format::ALL {
        for streamed in [false, true] {
            let bytes = encoded(format, SampleRate::VOCODER, &[], streamed);
            // MP3 has no header; its encoder gives what it holds back.
            let has_header = matches!(format, Format::Wav | Format::Flac | Format::Opus);
            assert!(!has_header || !bytes.is_empty(), "{name}");
            assert!(format != Format::Pcm || bytes.is_empty());
        }
    }
}
