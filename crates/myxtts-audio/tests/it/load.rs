//! The loader as training and synthesis use it.

use std::fs;
use std::path::PathBuf;

use crate::support::{FLOAT, Wav};
use myxtts_audio::units::{Decibels, SampleRate, Samples, Seconds};
use myxtts_audio::{
    AudioConfig, Limits, Loader, Normalize, ResampleSpec, Resampler, Waveform, loudness,
};
use tempfile::TempDir;

const PLAIN: AudioConfig = AudioConfig {
    sample_rate: SampleRate::XTTS,
    trim_silence: false,
    normalize: Normalize::None,
};

/// A float WAV of `samples` at `rate`, in a folder of its own.
fn file(samples: &[f32], channels: u16, rate: u32) -> (TempDir, PathBuf) {
    let data = samples.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut wav = Wav::new(FLOAT, 32, channels, data);
    wav.rate = rate;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.wav");
    fs::write(&path, wav.bytes()).unwrap();
    (folder, path)
}

/// A tone between two pauses of a quarter.
fn tone(length: u16, amplitude: f32) -> Vec<f32> {
    (0..length)
        .map(|n| match n {
            n if n < length / 4 || n >= length / 4 * 3 => 0.0,
            n => (f32::from(n) * 0.1).sin() * amplitude,
        })
        .collect()
}

#[test]
fn the_plain_path_is_decode_mix_resample_clip() {
    let left = tone(20_000, 1.5);
    let stereo: Vec<f32> = left.iter().flat_map(|&x| [x, x / 2.0]).collect();
    let (_folder, path) = file(&stereo, 2, 44_100);
    let loaded = Loader::new(PLAIN, Limits::default()).load(&path).unwrap();

    let mono: Vec<f32> = left.iter().map(|x| (x + x / 2.0) / 2.0).collect();
    let from = SampleRate::new(44_100).unwrap();
    let mut expected = Resampler::new(from, SampleRate::XTTS, ResampleSpec::XTTS).process(&mono);
    assert!(expected.iter().any(|x| x.abs() > 1.0), "nothing to clip");
    expected.iter_mut().for_each(|x| *x = x.clamp(-1.0, 1.0));
    assert_eq!(loaded.waveform.samples, expected);
    assert_eq!(loaded.waveform.rate, SampleRate::XTTS);
    assert_eq!((loaded.source.rate, loaded.source.channels), (from, 2));
    assert_eq!(loaded.source.samples, Samples(20_000));
}

#[test]
fn many_rates_through_one_loader_equal_fresh_loaders() {
    let mut kept = Loader::new(PLAIN, Limits::default());
    let mut reused = Waveform::default();
    for rate in [8_000, 16_000, 24_000, 32_000, 44_100, 48_000, 8_000, 22_050] {
        let (_folder, path) = file(&tone(4_000, 0.5), 1, rate);
        let fresh = Loader::new(PLAIN, Limits::default()).load(&path).unwrap();
        assert_eq!(kept.load(&path).unwrap(), fresh, "{rate}");
        let source = kept.load_into(&path, &mut reused).unwrap();
        assert_eq!((&reused, source), (&fresh.waveform, fresh.source), "{rate}");
    }
}

#[test]
fn trimming_takes_the_pauses() {
    let (_folder, path) = file(&tone(40_000, 0.5), 1, 22_050);
    let config = AudioConfig {
        trim_silence: true,
        ..PLAIN
    };
    let loaded = Loader::new(config, Limits::default()).load(&path).unwrap();
    // Half of the clip, and 50 ms on each side.
    let expected = 20_000 + 2 * 1_103;
    assert!(
        loaded.waveform.samples.len().abs_diff(expected) < 500,
        "{}",
        loaded.waveform.len()
    );
}

#[test]
fn levels_land_where_they_should() {
    let (_folder, path) = file(&tone(40_000, 0.02), 1, 22_050);
    let load = |normalize| {
        Loader::new(AudioConfig { normalize, ..PLAIN }, Limits::default())
            .load(&path)
            .unwrap()
            .waveform
    };
    let peak = load(Normalize::Peak)
        .samples
        .iter()
        .fold(0.0_f32, |peak, x| peak.max(x.abs()));
    assert!((peak - Decibels(-1.0).amplitude()).abs() < 1e-6, "{peak}");
    let level = loudness(&load(Normalize::Loudness)).unwrap();
    assert!((level.0 + 23.0).abs() < 0.1, "{level}");
}

#[test]
fn a_silent_clip_has_no_level_and_says_so() {
    let (folder, path) = file(&[0.0; 22_050], 1, 22_050);
    let config = AudioConfig {
        normalize: Normalize::Loudness,
        ..PLAIN
    };
    let error = Loader::new(config, Limits::default())
        .load(&path)
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(error.replace(&folder.path().display().to_string(), "DATA"));
}

#[test]
fn a_clip_too_short_for_a_loudness_says_so() {
    let (folder, path) = file(&[0.5; 2_000], 1, 22_050);
    let config = AudioConfig {
        normalize: Normalize::Loudness,
        ..PLAIN
    };
    let error = Loader::new(config, Limits::default())
        .load(&path)
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(error.replace(&folder.path().display().to_string(), "DATA"));
}

#[test]
fn the_configuration_is_plain_data_with_a_schema() {
    let config: AudioConfig = serde_json::from_str(
        r#"{"sample_rate": 16000, "trim_silence": false, "normalize": "loudness"}"#,
    )
    .unwrap();
    assert_eq!(config.sample_rate, SampleRate::SPEAKER);
    let settings = schemars::generate::SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true);
    let schema = settings
        .into_generator()
        .into_root_schema_for::<AudioConfig>();
    insta::assert_snapshot!(serde_json::to_string_pretty(&schema).unwrap());
}

/// A mapping of such a file would end the process with a bus error.
#[test]
fn a_file_shortened_while_it_is_read_is_a_fault_of_that_file() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let samples: Vec<f32> = (0..2_000_000).map(|n| (n as f32 / 20.0).sin()).collect();
    let (_folder, path) = file(&samples, 1, 22_050);
    let length = fs::metadata(&path).unwrap().len();
    let done = AtomicBool::new(false);
    let (mut whole, mut cut) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = fs::File::options().write(true).open(&path).unwrap();
            while !done.load(Ordering::Relaxed) {
                file.set_len(length / 3).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(300));
                file.set_len(length).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        });
        let mut loader = Loader::new(PLAIN, Limits::default());
        for _ in 0..300 {
            match loader.load(&path) {
                Ok(_) => whole += 1,
                Err(_) => cut += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(whole + cut, 300);
    assert!(cut > 0, "the file was never found short");
}

/// However long a recording is, its beginning is the beginning of all of it.
#[test]
fn a_beginning_is_the_beginning_of_the_whole() {
    let samples = tone(60_000, 0.9);
    let second = Seconds(1.0);
    let folder = tempfile::tempdir().unwrap();
    let flac = folder.path().join("clip.flac");
    let waveform = Waveform {
        samples: samples.clone(),
        rate: SampleRate::XTTS,
    };
    myxtts_audio::write_flac_pcm16(&flac, &waveform).unwrap();
    let (_folder, wav) = file(&samples, 1, 22_050);
    let mut loader = Loader::new(PLAIN, Limits::default());
    for path in [&wav, &flac] {
        let whole = loader.load(path).unwrap();
        let (beginning, is_whole) = loader.load_beginning(path, second).unwrap();
        assert!(!is_whole);
        assert_eq!(beginning.waveform.samples, whole.waveform.samples[..22_050]);
        assert_eq!(beginning.source.samples, Samples(22_050));
        let (all, is_whole) = loader.load_beginning(path, Seconds(60.0)).unwrap();
        assert!(is_whole);
        assert_eq!(all, whole);
    }
    // What is damaged in a file that is wanted whole is an error there, too.
    let bytes = fs::read(&wav).unwrap();
    fs::write(&wav, &bytes[..bytes.len() - 8]).unwrap();
    assert!(loader.load_beginning(&wav, Seconds(60.0)).is_err());
    assert!(loader.load_beginning(&wav, second).is_ok());
}

/// Two hours, of which nothing but a header and the beginning is on the disk.
#[test]
fn two_hours_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.wav");
    let rate = SampleRate::new(44_100).unwrap();
    let beginning = Waveform {
        samples: tone(60_000, 0.5),
        rate,
    };
    let mut bytes = myxtts_audio::wav_pcm16_header(rate);
    bytes.extend(myxtts_audio::pcm16(&beginning.samples));
    fs::write(&path, bytes).unwrap();
    let long = fs::OpenOptions::new().write(true).open(&path).unwrap();
    long.set_len(44 + 2 * 3600 * 2 * 44_100).unwrap();
    let mut loader = Loader::new(PLAIN, Limits::default());
    let (loaded, is_whole) = loader.load_beginning(&path, Seconds(60.0)).unwrap();
    assert!(!is_whole);
    assert_eq!(loaded.source.samples, Samples(60 * 44_100));
    assert!(loaded.waveform.samples.iter().any(|x| x.abs() > 0.1));
    assert!(loader.load(&path).is_err(), "the test sees no difference");
}
