//! A corpus to measure and test on, made from nothing and the same everywhere.
//!
//! Not speech, but shaped like it where that costs or saves time: pauses,
//! syllables, a voice with formants over a little noise, lengths from 2.6 to
//! 9.6 seconds, and sentences as long as such clips have.

use std::f64::consts::TAU;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use myxtts_audio::units::{SampleRate, Samples, Seconds};
use myxtts_audio::{Waveform, WriteError, write_wav_pcm16};

const RATE: SampleRate = SampleRate::XTTS;
const SHORTEST: f64 = 2.6;
const SPREAD: f64 = 7.0;
/// The rate of English that is read aloud.
const CHARACTERS_PER_SECOND: f64 = 14.0;
const SYLLABLE: Seconds = Seconds(0.19);
const PAUSE_EVERY: u64 = 7;

/// The first three formants of five vowels, in Hz.
const VOWELS: [[f64; 3]; 5] = [
    [730.0, 1090.0, 2440.0],
    [530.0, 1840.0, 2480.0],
    [270.0, 2290.0, 3010.0],
    [570.0, 840.0, 2410.0],
    [300.0, 870.0, 2240.0],
];

const WORDS: [&str; 48] = [
    "the", "a", "morning", "river", "quiet", "market", "turned", "slowly", "with", "bread",
    "window", "of", "her", "letters", "under", "stone", "bridge", "and", "children", "counted",
    "seven", "lamps", "before", "rain", "old", "garden", "was", "painted", "by", "hand", "in",
    "winter", "nobody", "answered", "while", "trains", "passed", "through", "valley", "towards",
    "sea", "bright", "yellow", "boats", "returned", "at", "dusk", "again",
];

/// Writes `clips` clips below `folder` in the layout of LJSpeech.
pub fn generate(folder: &Path, clips: u32) -> Result<(), WriteError> {
    let wavs = folder.join("wavs");
    let refused = |source: io::Error| WriteError::Io {
        path: folder.to_owned(),
        source,
    };
    fs::create_dir_all(&wavs).map_err(refused)?;
    let mut metadata = String::new();
    for clip in 0..clips {
        let mut random = Random::new(clip);
        let seconds = Seconds(SHORTEST + SPREAD * random.unit().powf(1.2));
        let name = format!("clip-{clip:05}");
        let sentence = sentence(seconds, &mut random);
        // Writing to a string cannot fail.
        let _ = writeln!(metadata, "{name}|{sentence}|{sentence}");
        let waveform = voice(seconds, &mut random);
        write_wav_pcm16(&wavs.join(format!("{name}.wav")), &waveform)?;
    }
    fs::write(folder.join("metadata.csv"), metadata).map_err(refused)
}

fn sentence(seconds: Seconds, random: &mut Random) -> String {
    let mut text = String::new();
    while (text.len() as f64) < seconds.0 * CHARACTERS_PER_SECOND {
        if !text.is_empty() {
            text.push_str(if random.below(9) == 0 { ", " } else { " " });
        }
        let word: &&str = random.one_of(&WORDS);
        text.push_str(word);
    }
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

/// Makes a voice: pulses through three resonators, syllable by syllable.
fn voice(seconds: Seconds, random: &mut Random) -> Waveform {
    let rate = f64::from(RATE.hz());
    let length = Samples::in_time(seconds, RATE).0;
    let syllable = Samples::in_time(SYLLABLE, RATE).0;
    let base = 95.0 + 110.0 * random.unit();
    let mut resonators = [Resonator::default(); 3];
    let (mut phase, mut pitch, mut loud) = (0.0, base, 0.0);
    let mut samples = Vec::with_capacity(length);
    for at in 0..length {
        if at % syllable == 0 {
            let formants = random.one_of(&VOWELS);
            for (resonator, hz) in resonators.iter_mut().zip(formants) {
                resonator.tune(*hz, rate);
            }
            pitch = base * (0.85 + 0.3 * random.unit());
            let edge = at < syllable || at + 2 * syllable > length;
            let pause = edge || random.below(PAUSE_EVERY) == 0;
            loud = if pause {
                0.0
            } else {
                0.4 + 0.6 * random.unit()
            };
        }
        phase += pitch / rate;
        let mut pulse = 0.02 * (random.unit() - 0.5);
        if phase >= 1.0 {
            phase -= 1.0;
            pulse += 1.0;
        }
        let swell = (std::f64::consts::PI * (at % syllable) as f64 / syllable as f64).sin();
        let voiced: f64 = resonators.iter_mut().map(|r| r.next(pulse)).sum();
        let hiss = 0.0004 * (random.unit() - 0.5);
        #[expect(clippy::cast_possible_truncation, reason = "audio is f32")]
        samples.push((voiced * loud * swell * 2.0 + hiss) as f32);
    }
    Waveform {
        samples,
        rate: RATE,
    }
}

/// A resonance of 90 Hz width.
#[derive(Clone, Copy, Default)]
struct Resonator {
    feedback: [f64; 2],
    gain: f64,
    past: [f64; 2],
}

impl Resonator {
    fn tune(&mut self, hz: f64, rate: f64) {
        let radius = (-TAU / 2.0 * 90.0 / rate).exp();
        self.feedback = [2.0 * radius * (TAU * hz / rate).cos(), -radius * radius];
        self.gain = 1.0 - radius;
    }

    fn next(&mut self, input: f64) -> f64 {
        let [a, b] = self.feedback;
        let output = self.gain * input + a * self.past[0] + b * self.past[1];
        self.past = [output, self.past[0]];
        output
    }
}

/// Random numbers that are the same on every machine.
struct Random(u64);

impl Random {
    fn new(clip: u32) -> Self {
        Self(u64::from(clip).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number from 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((self.next() >> 32) * bound) >> 32
    }

    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let at = self.below(choices.len() as u64);
        &choices[usize::try_from(at).unwrap_or(0)]
    }
}
