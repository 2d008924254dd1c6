//! Mel to audio to mel.

use std::f64::consts::TAU;

use super::*;
use crate::mel::MelFrontEnd;
use crate::units::Samples;

/// A voice saying "a-i-u" with a falling pitch: a pulse train through three
/// resonators, with a pause in the middle.
fn vowels(length: usize) -> Vec<f32> {
    let rate = f64::from(MelSpec::DVAE.sample_rate.hz());
    let targets = [
        [730.0, 1090.0, 2440.0],
        [270.0, 2290.0, 3010.0],
        [300.0, 870.0, 2240.0],
    ];
    let mut state = [[0.0_f64; 2]; 3];
    let mut phase = 0.0;
    let mut seed = 1_u32;
    let voice = (0..length).map(|n| {
        let t = n as f64 / length as f64;
        phase += (140.0 - 50.0 * t) / rate;
        let pulse = if phase >= 1.0 { 1.0 } else { 0.0 };
        phase %= 1.0;
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let breath = f64::from(seed >> 8) / f64::from(1 << 24) - 0.5;
        let silent = (0.45..0.5).contains(&t);
        let mut x = if silent { 0.0 } else { pulse + 0.01 * breath };
        let vowel = targets[((t * 3.0) as usize).min(2)];
        for (state, formant) in state.iter_mut().zip(vowel) {
            let radius = (-std::f64::consts::PI * 90.0 / rate).exp();
            let y = x + 2.0 * radius * (TAU * formant / rate).cos() * state[0]
                - radius * radius * state[1];
            *state = [y, state[0]];
            x = y;
        }
        x
    });
    let voice: Vec<f64> = voice.collect();
    let peak = voice.iter().fold(0.0_f64, |peak, x| peak.max(x.abs()));
    voice.iter().map(|x| (x / peak * 0.7) as f32).collect()
}

/// Mean and mean of the loud half of the difference in log power per cell.
fn difference(a: &Mel, b: &Mel) -> (f32, f32) {
    let frames = a.frames.0.min(b.frames.0);
    let mut cells: Vec<(f32, f32)> = Vec::new();
    for (a, b) in a.rows().zip(b.rows()) {
        cells.extend(a[..frames].iter().zip(b).map(|(a, b)| (*a, (a - b).abs())));
    }
    cells.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mean = |cells: &[(f32, f32)]| cells.iter().map(|c| c.1).sum::<f32>() / cells.len() as f32;
    (mean(&cells), mean(&cells[..cells.len() / 2]))
}

#[test]
fn the_mel_of_the_audio_is_the_mel_it_came_from() {
    let samples = vowels(40 * 1024);
    for (name, spec) in [
        ("dvae", MelSpec::DVAE),
        ("conditioning", MelSpec::CONDITIONING),
    ] {
        let mut front_end = MelFrontEnd::new(spec, None).unwrap();
        let mel = front_end.mel(&samples).unwrap();
        let audio = GriffinLim::new(spec, None).unwrap().waveform(&mel).unwrap();
        assert_eq!(audio.samples.len(), (mel.frames.0 - 1) * spec.hop.0);
        let (all, loud) = difference(&mel, &front_end.mel(&audio.samples).unwrap());
        println!("{name}: mean log-mel difference {all:.3}, of the loud half {loud:.3}");
        assert!(all < 0.2 && loud < 0.2, "{name}: {all} {loud}");
    }
}

/// Each part earns its place: without momentum, and with the starting phases
/// alone, the audio is further from the mel.
#[test]
fn iterations_and_momentum_help() {
    let samples = vowels(20 * 1024);
    let mut front_end = MelFrontEnd::new(MelSpec::DVAE, None).unwrap();
    let mel = front_end.mel(&samples).unwrap();
    let mut griffin_lim = GriffinLim::new(MelSpec::DVAE, None).unwrap();
    let magnitudes = griffin_lim.magnitudes(&mel);
    let mut loud = |iterations, momentum| {
        let audio = griffin_lim.alternate(&magnitudes, mel.frames.0, iterations, momentum);
        let (_, loud) = difference(&mel, &front_end.mel(&audio).unwrap());
        println!("{iterations} iterations, momentum {momentum}: {loud:.3}");
        loud
    };
    let (start, plain) = (loud(0, 0.0), loud(ITERATIONS, 0.0));
    let (half, fast) = (loud(ITERATIONS / 2, MOMENTUM), loud(ITERATIONS, MOMENTUM));
    assert!(
        fast < half && fast * 1.2 < plain && plain * 1.5 < start,
        "{start} {plain} {half} {fast}"
    );
}

#[test]
fn stats_are_undone_and_the_result_is_the_same_every_time() {
    let samples = vowels(8 * 1024);
    let stats: Vec<f32> = (0_u8..80)
        .map(|band| 1.0 + f32::from(band) / 40.0)
        .collect();
    let audio = |stats: Option<Vec<f32>>| {
        let mel = MelFrontEnd::new(MelSpec::DVAE, stats.clone())
            .unwrap()
            .mel(&samples)
            .unwrap();
        GriffinLim::new(MelSpec::DVAE, stats)
            .unwrap()
            .waveform(&mel)
            .unwrap()
    };
    assert_eq!(audio(None), audio(None));
    let mut front_end = MelFrontEnd::new(MelSpec::DVAE, None).unwrap();
    let plain = front_end.mel(&audio(None).samples).unwrap();
    let scaled = front_end.mel(&audio(Some(stats)).samples).unwrap();
    let (_, loud) = difference(&plain, &scaled);
    assert!(loud < 0.1, "{loud}");
}

#[test]
fn refusals() {
    let refused = |spec| GriffinLim::new(spec, None).unwrap_err().to_string();
    let mut griffin_lim = GriffinLim::new(MelSpec::DVAE, None).unwrap();
    let mut mel = |bands: usize, frames: usize| {
        let mel = Mel {
            bands,
            frames: Frames(frames),
            values: vec![0.0; bands * frames],
        };
        griffin_lim.waveform(&mel).unwrap_err().to_string()
    };
    let messages = [
        refused(MelSpec::SPEAKER),
        refused(MelSpec {
            instance_norm: false,
            ..MelSpec::SPEAKER
        }),
        refused(MelSpec {
            hop: Samples(0),
            ..MelSpec::DVAE
        }),
        mel(64, 10),
        mel(80, 3),
        mel(80, 0),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
