//! Milliseconds per ten seconds of audio, on one thread, best of many runs.
//!
//! `cargo run --release -p myxtts-bench --example audio`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measuring tool")]

use std::hint::black_box;

use myxtts_audio::units::SampleRate;
use myxtts_audio::{
    AudioConfig, GriffinLim, Limits, Loader, MelFrontEnd, MelSpec, Normalize, ResampleSpec,
    Resampler, Waveform, decode, write_wav_pcm16,
};
use myxtts_bench::clock::Clock;

/// The fastest of `runs`, in milliseconds: the machine's noise only adds.
fn best<T>(name: &str, runs: usize, mut run: impl FnMut() -> T) {
    let times = (0..runs).map(|_| {
        let clock = Clock::of_thread();
        black_box(run());
        clock.wall().as_secs_f64() * 1e3
    });
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    println!(
        "{name:<28} {:>8.3} ms   (median {:.3})",
        times[0],
        times[runs / 2]
    );
}

fn noise(length: usize) -> Vec<f32> {
    let mut seed = 7_u32;
    (0..length)
        .map(|n| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let hiss = (seed >> 8) as f32 / 8_388_608.0 - 1.0;
            (n as f32 * 0.05).sin() * 0.3 + hiss * 0.05
        })
        .collect()
}

fn main() {
    let samples = noise(220_500);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ten_seconds.wav");
    let waveform = Waveform {
        samples: samples.clone(),
        rate: SampleRate::XTTS,
    };
    write_wav_pcm16(&path, &waveform).unwrap();
    best("WAV decode, 16-bit mono", 200, || {
        decode(&path, &Limits::default()).unwrap()
    });

    for (name, spec) in [
        ("DVAE log-mel", MelSpec::DVAE),
        ("conditioning log-mel", MelSpec::CONDITIONING),
        ("speaker mel (16 kHz)", MelSpec::SPEAKER),
    ] {
        let ten_seconds = usize::try_from(spec.sample_rate.hz()).unwrap() * 10;
        let mut front_end = MelFrontEnd::new(spec, None).unwrap();
        best(name, 200, || {
            front_end.mel(&samples[..ten_seconds]).unwrap()
        });
    }
    for (from, name) in [
        (44_100, "resample 44.1 -> 22.05 kHz"),
        (48_000, "resample 48 -> 22.05 kHz"),
    ] {
        let rate = SampleRate::new(from).unwrap();
        let input = noise(usize::try_from(from).unwrap() * 10);
        let mut resampler = Resampler::new(rate, SampleRate::XTTS, ResampleSpec::XTTS);
        best(name, 200, || resampler.process(&input));
    }

    // The whole way, from a file at another rate.
    let path = folder.path().join("ten_seconds_44k.wav");
    let rate = SampleRate::new(44_100).unwrap();
    write_wav_pcm16(
        &path,
        &Waveform {
            samples: noise(441_000),
            rate,
        },
    )
    .unwrap();
    for (normalize, name) in [
        (Normalize::None, "load 44.1 kHz, trim"),
        (Normalize::Loudness, "load, trim, loudness"),
    ] {
        let config = AudioConfig {
            normalize,
            ..AudioConfig::default()
        };
        let mut loader = Loader::new(config, Limits::default());
        best(name, 100, || loader.load(&path).unwrap());
    }
    let mel = MelFrontEnd::new(MelSpec::DVAE, None)
        .unwrap()
        .mel(&samples)
        .unwrap();
    let mut griffin_lim = GriffinLim::new(MelSpec::DVAE, None).unwrap();
    best("Griffin-Lim", 5, || griffin_lim.waveform(&mel).unwrap());
}
