//! Our side: a model, and the ways in which it speaks.

use std::path::Path;
use std::process::Command;

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::units::{SampleRate, Samples};
use myxtts_data::units::Codes;
use myxtts_infer::{InFile, ModelCard, Modules};
use myxtts_model::ModelSize;
use myxtts_model::generate::{Generation, SamplingConfig, SpeakingGpt, generate};
use myxtts_model::gpt::{Gpt, Vocabulary};
use myxtts_model::hifigan::{HifiganDecoder, SpeakingDecoder, WaveStream};
use myxtts_model::init::Init;
use myxtts_model::params;
use myxtts_weights::{read_ours, read_safetensors};

use super::error::{SynthError, failed};
use crate::clock::Clock;

/// The number of text tokens if no reference gives them.
const TOKENS: u32 = 40;
/// The samples per second of audio.
const RATE: f64 = 24_000.0;

/// A model that is measured, and the text it speaks.
pub(super) struct Subject {
    pub(super) gpt: SpeakingGpt,
    decoder: SpeakingDecoder,
    voice_1nd: Tensor<3>,
    speaker_1c1: Tensor<3>,
    tokens: Vec<u32>,
}

impl Subject {
    /// Makes a model with random weights of our own.
    pub(super) fn random(size: ModelSize) -> Result<Self, SynthError> {
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
        let decoder = HifiganDecoder::new(&init, &decoder).map_err(failed)?;
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

    /// Loads the reference's weights through `import` of `program`.
    pub(super) fn imported(
        program: &Path,
        folder: &Path,
        tokens: Vec<u32>,
    ) -> Result<Self, SynthError> {
        let device = Device::flex();
        let ours = folder.join("imported");
        // The import runs in a process of its own: the memory it needs is not what speaking
        // needs.
        let import = Command::new(program)
            .arg("import")
            .arg(folder)
            .arg("--out")
            .arg(&ours)
            .output()
            .map_err(failed)?;
        if !import.status.success() {
            let words = String::from_utf8_lossy(&import.stderr);
            return Err(failed(format!("the reference's weights: {words}")));
        }
        let voice = read_safetensors(&folder.join("voice.safetensors")).map_err(failed)?;
        let tensor = |name: &str| {
            let missing = || failed(format!("voice.safetensors has no tensor {name}"));
            let tensor = voice.get(name).ok_or_else(missing)?;
            let data = TensorData::new(tensor.to_f32(), tensor.shape().to_vec());
            Ok::<_, SynthError>(Tensor::<3>::from_data(data, &device))
        };
        let checkpoint = read_ours(&ours).map_err(failed)?;
        let card = ModelCard::of(&checkpoint).map_err(failed)?;
        let config = card
            .decoder
            .ok_or_else(|| failed("the reference's weights have no decoder"))?;
        let decoder =
            HifiganDecoder::new(&Init::blank(&device), &config.hifigan).map_err(failed)?;
        let tensors = InFile(&checkpoint.hifigan_decoder);
        let decoder = params::load(decoder, &tensors, "hifigan_decoder").map_err(failed)?;
        let modules = Modules::load(&checkpoint, &device).map_err(failed)?;
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

    pub(super) fn seconds_of(&self, codes: usize) -> f64 {
        Samples(codes * Codes::STRIDE).at(SampleRate::XTTS).0
    }

    pub(super) fn codes(&self, codes: usize) -> Result<Vec<u32>, SynthError> {
        let voice_1nd = self.voice_1nd.clone();
        let said = generate(&self.gpt, voice_1nd, &self.tokens, Self::sampling(codes));
        Ok(said.map_err(failed)?.codes)
    }

    /// Returns the seconds for a whole sentence, the first of its voice, and those of them for
    /// its codes.
    pub(super) fn whole(&self, codes: usize) -> Result<(f64, f64), SynthError> {
        let gpt = self.gpt.without_voices();
        let clock = Clock::of_thread();
        let voice_1nd = self.voice_1nd.clone();
        let said = generate(&gpt, voice_1nd, &self.tokens, Self::sampling(codes));
        let said = said.map_err(failed)?;
        let of_codes = clock.wall().as_secs_f64();
        let speaker_1c1 = self.speaker_1c1.clone();
        let samples = self.decoder.waveform(said.latents_1nd, speaker_1c1, 1.0);
        let heard = samples.map_err(failed)?.len() as f64 / RATE;
        if said.codes.len() != codes || (heard - self.seconds_of(codes)).abs() > 0.1 {
            return Err(failed(format!(
                "{} codes and {heard} s of audio were made, but {codes} codes were asked for",
                said.codes.len()
            )));
        }
        Ok((clock.wall().as_secs_f64(), of_codes))
    }

    /// Returns the seconds until the first samples, and how many there are.
    pub(super) fn first(&self, gpt: &SpeakingGpt) -> Result<(f64, usize), SynthError> {
        let clock = Clock::of_thread();
        let mut generation = Generation::new(gpt);
        generation
            .admit(self.voice_1nd.clone(), &self.tokens, Self::sampling(100))
            .map_err(failed)?;
        let mut stream =
            WaveStream::new(&self.decoder, self.speaker_1c1.clone(), 1.0).map_err(failed)?;
        while generation.live() > 0 {
            for step in generation.step().map_err(failed)? {
                let samples = stream.push(step.latent_11d).map_err(failed)?;
                if !samples.is_empty() {
                    return Ok((clock.wall().as_secs_f64(), samples.len()));
                }
            }
        }
        Err(failed("100 codes gave no audio"))
    }
}
