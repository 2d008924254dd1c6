//! `myxtts bench synth`

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use clap::ArgMatches;
use myxtts_audio::units::{SampleRate, Samples};
use myxtts_base::process::peak_memory;
use myxtts_base::report;
use myxtts_data::units::Codes;
use myxtts_infer::{InFile, ModelCard, Modules};
use myxtts_model::ModelSize;
use myxtts_model::generate::{Generation, SamplingConfig, SpeakingGpt, generate};
use myxtts_model::gpt::{Gpt, Vocabulary};
use myxtts_model::hifigan::{HifiganDecoder, SpeakingDecoder, WaveStream};
use myxtts_model::init::Init;
use myxtts_model::params;
use myxtts_weights::{read_ours, read_safetensors};
use serde::Serialize;

use super::Document;
use super::synth_peer::Peer;
use crate::output::{Failure, Output};

/// The lengths of the measured sentences, in codes: cost should be linear in them.
const LENGTHS: [usize; 3] = [100, 200, 400];
/// The length that the ratios are for.
const MAIN: usize = 200;
/// The number of text tokens if no reference gives them.
const TOKENS: u32 = 40;
/// The samples per second of audio.
const RATE: f64 = 24_000.0;

/// What was measured for one size.
#[derive(Serialize)]
struct Report {
    size: &'static str,
    rounds: usize,
    threads: usize,
    /// Seconds of work per second of audio.
    rtf: f64,
    /// Seconds from the text's tokens to the first samples of a stream, for the first text of a
    /// voice.
    first_audio_s: f64,
    /// The number of these first samples.
    first_audio_samples: usize,
    /// The same for every later text of the voice: what was computed for the voice is kept,
    /// which the reference does not do.
    later_first_audio_s: f64,
    /// Seconds for sentences of each length.
    seconds: Vec<Length>,
    peak_rss_bytes: Option<u64>,
    /// Our time for a sentence of 200 codes over the reference's.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to_reference: Option<f64>,
    /// Our time to the first audio over the reference's, for the first text of a voice.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_audio_ratio: Option<f64>,
    /// Our time for a later text over the reference's, which is the same for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    later_first_audio_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Reference>,
}

/// What was measured of the reference.
#[derive(Serialize)]
struct Reference {
    first_audio_s: f64,
    first_audio_samples: usize,
    peak_rss_bytes: u64,
    /// The number of greedy codes that are the same on both sides, from the first on.
    same_codes: usize,
    threads: u64,
    torch: String,
    coqui_tts: String,
}

/// Sentences of one length, with the median of the rounds.
#[derive(Clone, Serialize)]
struct Length {
    codes: usize,
    seconds: f64,
    /// The part of these seconds that the codes took.
    codes_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_s: Option<f64>,
}

/// A model that is measured, and the text it speaks.
struct Subject {
    gpt: SpeakingGpt,
    decoder: SpeakingDecoder,
    voice_1nd: Tensor<3>,
    speaker_1c1: Tensor<3>,
    tokens: Vec<u32>,
}

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let size = match matches.get_one::<String>("size").map(String::as_str) {
        Some("small") => ModelSize::Small,
        Some("xtts-v2") => ModelSize::XttsV2,
        _ => ModelSize::Tiny,
    };
    let rounds = matches.get_one::<u32>("rounds").copied().unwrap_or(1);
    let rounds = usize::try_from(rounds).unwrap_or(1);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let folder = tempfile::tempdir()
        .map_err(|why| Failure::Job(report!("cannot make a folder for the model: {why}")))?;
    let python = matches.get_one::<PathBuf>("peer");
    let peer = python.map(|python| Peer::start(python, size, threads, folder.path()));
    let mut peer = peer.transpose()?;
    let subject = match &peer {
        Some(peer) => Subject::imported(folder.path(), peer.tokens().to_vec())?,
        None => Subject::random(size)?,
    };
    output.log(format_args!("{}: {rounds} rounds", size.name()));
    let report = measure(&subject, peer.as_mut(), size, rounds, threads, output)?;
    Document::print(report, output)
}

fn measure(
    subject: &Subject,
    mut peer: Option<&mut Peer>,
    size: ModelSize,
    rounds: usize,
    threads: usize,
    output: &Output,
) -> Result<Report, Failure> {
    // Both sides speak once, unmeasured.
    subject.whole(LENGTHS[0])?;
    let mut same_codes = 0;
    if let Some(peer) = &mut peer {
        peer.whole(LENGTHS[0])?;
        let (theirs, ours) = (peer.codes(MAIN)?, subject.codes(MAIN)?);
        same_codes = theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    }
    let mut lengths = vec![];
    for codes in LENGTHS {
        let (mut ours, mut making, mut theirs) = (vec![], vec![], vec![]);
        for _ in 0..rounds {
            if let Some(peer) = &mut peer {
                theirs.push(peer.whole(codes)?);
            }
            let (whole, of_codes) = subject.whole(codes)?;
            ours.push(whole);
            making.push(of_codes);
        }
        lengths.push(Length {
            codes,
            seconds: median(ours),
            codes_s: median(making),
            reference_s: (!theirs.is_empty()).then(|| median(theirs)),
        });
        output.log(format_args!("{codes} codes measured"));
    }
    let (mut ours, mut later, mut theirs) = (vec![], vec![], vec![]);
    let (mut our_samples, mut their_samples) = (0, 0);
    for _ in 0..rounds {
        if let Some(peer) = &mut peer {
            let (seconds, samples) = peer.first()?;
            theirs.push(seconds);
            their_samples = samples;
        }
        let gpt = subject.gpt.without_voices();
        let (seconds, samples) = subject.first(&gpt)?;
        ours.push(seconds);
        our_samples = samples;
        let (seconds, _) = subject.first(&gpt)?;
        later.push(seconds);
    }
    let (first_audio_s, later_first_audio_s) = (median(ours), median(later));
    let main = lengths.iter().find(|length| length.codes == MAIN).cloned();
    let sound = subject.seconds_of(MAIN);
    let reference = match peer {
        Some(peer) => Some(Reference {
            first_audio_s: median(theirs),
            first_audio_samples: their_samples,
            peak_rss_bytes: peer.peak()?,
            same_codes,
            threads: peer.made.threads,
            torch: peer.made.torch.clone(),
            coqui_tts: peer.made.coqui_tts.clone(),
        }),
        None => None,
    };
    Ok(Report {
        size: size.name(),
        rounds,
        threads,
        rtf: main.as_ref().map_or(f64::NAN, |main| main.seconds / sound),
        first_audio_s,
        first_audio_samples: our_samples,
        later_first_audio_s,
        peak_rss_bytes: peak_memory(),
        ratio_to_reference: main
            .as_ref()
            .and_then(|main| Some(main.seconds / main.reference_s?)),
        first_audio_ratio: reference
            .as_ref()
            .map(|reference| first_audio_s / reference.first_audio_s),
        later_first_audio_ratio: reference
            .as_ref()
            .map(|reference| later_first_audio_s / reference.first_audio_s),
        reference,
        seconds: lengths,
    })
}

impl Subject {
    /// Makes a model with random weights of our own.
    fn random(size: ModelSize) -> Result<Self, Failure> {
        let device = Device::flex();
        let vocabulary = Vocabulary {
            codes: u32::try_from(size.dvae().codes).unwrap_or(u32::MAX),
            ..Vocabulary::XTTS_V2
        };
        let init = Init::new(1, &device);
        let config = size.gpt(vocabulary);
        let mut gpt = Gpt::new(&init, &config);
        // STOP is never drawn: a sentence is as long as it is asked to be.
        let mut bias = vec![0.0_f32; vocabulary.audio_tokens()];
        if let Some(stop) = bias.get_mut(vocabulary.stop_audio() as usize) {
            *stop = -1e4;
        }
        gpt.mel_head.bias = Some(Param::from_data(bias.as_slice(), &device));
        let decoder = size.decoder(config.channels, 512);
        let decoder = HifiganDecoder::new(&init, &decoder).map_err(job)?;
        Ok(Self {
            voice_1nd: init
                .normal([1, config.perceiver.latents, config.channels], 0.1)
                .val(),
            speaker_1c1: init.normal([1, 512, 1], 0.04).val(),
            tokens: (1..=TOKENS).collect(),
            gpt: gpt.into_speaking(),
            decoder: decoder.for_speaking(),
        })
    }

    /// Loads the reference's weights through `myxtts import`.
    fn imported(folder: &Path, tokens: Vec<u32>) -> Result<Self, Failure> {
        let device = Device::flex();
        let ours = folder.join("imported");
        let program = std::env::current_exe().map_err(job)?;
        // The import runs in a process of its own: the memory it needs is not what speaking
        // needs.
        let import = Command::new(program)
            .arg("import")
            .arg(folder)
            .arg("--out")
            .arg(&ours)
            .output()
            .map_err(job)?;
        if !import.status.success() {
            let words = String::from_utf8_lossy(&import.stderr);
            return Err(Failure::Job(report!("the reference's weights: {words}")));
        }
        let voice = read_safetensors(&folder.join("voice.safetensors")).map_err(job)?;
        let tensor = |name: &str| {
            let missing = || Failure::Job(report!("voice.safetensors has no tensor {name}"));
            let tensor = voice.get(name).ok_or_else(missing)?;
            let data = TensorData::new(tensor.to_f32(), tensor.shape().to_vec());
            Ok::<_, Failure>(Tensor::<3>::from_data(data, &device))
        };
        let checkpoint = read_ours(&ours).map_err(job)?;
        let card = ModelCard::of(&checkpoint).map_err(job)?;
        let config = card
            .decoder
            .ok_or_else(|| Failure::Job("the reference's weights have no decoder".into()))?;
        let decoder = HifiganDecoder::new(&Init::blank(&device), &config.hifigan).map_err(job)?;
        let tensors = InFile(&checkpoint.hifigan_decoder);
        let decoder = params::load(decoder, &tensors, "hifigan_decoder").map_err(job)?;
        let modules = Modules::load(&checkpoint, &device).map_err(job)?;
        // The file's pages count as memory until it is dropped.
        drop(checkpoint);
        Ok(Self {
            voice_1nd: tensor("voice")?,
            speaker_1c1: tensor("speaker")?,
            tokens,
            gpt: modules.gpt.into_speaking(),
            decoder: decoder.for_speaking(),
        })
    }

    fn sampling(codes: usize) -> SamplingConfig {
        SamplingConfig {
            max_codes: Some(codes),
            ..SamplingConfig::greedy()
        }
    }

    fn seconds_of(&self, codes: usize) -> f64 {
        Samples(codes * Codes::STRIDE).at(SampleRate::XTTS).0
    }

    fn codes(&self, codes: usize) -> Result<Vec<u32>, Failure> {
        let voice_1nd = self.voice_1nd.clone();
        let said = generate(&self.gpt, voice_1nd, &self.tokens, Self::sampling(codes));
        Ok(said.map_err(job)?.codes)
    }

    /// Returns the seconds for a whole sentence, the first of its voice, and those of them for
    /// its codes.
    fn whole(&self, codes: usize) -> Result<(f64, f64), Failure> {
        let gpt = self.gpt.without_voices();
        let start = Instant::now();
        let voice_1nd = self.voice_1nd.clone();
        let said = generate(&gpt, voice_1nd, &self.tokens, Self::sampling(codes));
        let said = said.map_err(job)?;
        let of_codes = start.elapsed().as_secs_f64();
        let speaker_1c1 = self.speaker_1c1.clone();
        let samples = self.decoder.waveform(said.latents_1nd, speaker_1c1, 1.0);
        let heard = samples.map_err(job)?.len() as f64 / RATE;
        if said.codes.len() != codes || (heard - self.seconds_of(codes)).abs() > 0.1 {
            return Err(Failure::Job(report!(
                "{} codes and {heard} s of audio were made, but {codes} codes were asked for",
                said.codes.len()
            )));
        }
        Ok((start.elapsed().as_secs_f64(), of_codes))
    }

    /// Returns the seconds until the first samples, and how many there are.
    fn first(&self, gpt: &SpeakingGpt) -> Result<(f64, usize), Failure> {
        let start = Instant::now();
        let mut generation = Generation::new(gpt);
        generation
            .admit(self.voice_1nd.clone(), &self.tokens, Self::sampling(100))
            .map_err(job)?;
        let mut stream =
            WaveStream::new(&self.decoder, self.speaker_1c1.clone(), 1.0).map_err(job)?;
        while generation.live() > 0 {
            for step in generation.step().map_err(job)? {
                let samples = stream.push(step.latent_11d).map_err(job)?;
                if !samples.is_empty() {
                    return Ok((start.elapsed().as_secs_f64(), samples.len()));
                }
            }
        }
        Err(Failure::Job("100 codes gave no audio".into()))
    }
}

fn job(error: impl fmt::Display) -> Failure {
    Failure::job(error)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}, {} threads, median of {}: {:.3} s per second of audio\n",
            self.size, self.threads, self.rounds, self.rtf
        )?;
        writeln!(
            f,
            "{:<12} {:>9} {:>9} {:>11} {:>7}",
            "", "s", "of codes", "reference", "ratio"
        )?;
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        for length in &self.seconds {
            let name = format!("{} codes", length.codes);
            let theirs = length.reference_s;
            writeln!(
                f,
                "{name:<12} {:>9.3} {:>9.3} {:>11} {:>7}",
                length.seconds,
                length.codes_s,
                or_dash(theirs.map(|theirs| format!("{theirs:.3}"))),
                or_dash(theirs.map(|theirs| format!("{:.2}x", length.seconds / theirs))),
            )?;
        }
        let reference = self.reference.as_ref();
        for (name, seconds, ratio) in [
            ("first audio", self.first_audio_s, self.first_audio_ratio),
            (
                "later texts",
                self.later_first_audio_s,
                self.later_first_audio_ratio,
            ),
        ] {
            writeln!(
                f,
                "{name:<12} {seconds:>9.3} {:>9} {:>11} {:>7}",
                "",
                or_dash(reference.map(|reference| format!("{:.3}", reference.first_audio_s))),
                or_dash(ratio.map(|ratio| format!("{ratio:.2}x"))),
            )?;
        }
        let megabytes = |bytes: u64| (bytes / 1_000_000).to_string();
        writeln!(
            f,
            "{:<12} {:>9} {:>9} {:>11}",
            "peak MB",
            or_dash(self.peak_rss_bytes.map(megabytes)),
            "",
            or_dash(reference.map(|reference| megabytes(reference.peak_rss_bytes))),
        )?;
        if let Some(reference) = reference {
            writeln!(
                f,
                "\n{} of {MAIN} greedy codes are the reference's (coqui-tts {}, torch {})",
                reference.same_codes, reference.coqui_tts, reference.torch
            )?;
        }
        Ok(())
    }
}
