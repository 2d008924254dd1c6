//! A model of a few thousand numbers that knows English and Persian.

use std::path::Path;
use std::sync::Arc;

use burn::module::Param;
use burn::tensor::Device;
use myxtts_audio::units::{SampleRate, Samples};
use myxtts_audio::{AudioConfig, MelSpec, Waveform};
use myxtts_data::schedule::ConditioningSpec;
use myxtts_infer::{
    DecoderCard, ModelCard, Modules, ReferenceSpec, SpeakOptions, Synthesizer, Vocoder, VoiceKind,
    checkpoint_of,
};
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::dvae::{Dvae, DvaeConfig};
use myxtts_model::generate::SamplingConfig;
use myxtts_model::gpt::{Gpt, GptConfig, Quirks, Vocabulary as Symbols};
use myxtts_model::hifigan::{HifiganConfig, HifiganDecoder};
use myxtts_model::init::Init;
use myxtts_model::params::state_dict;
use myxtts_model::speaker::{SpeakerConfig, SpeakerEncoder};
use myxtts_text::{Language, Training, Vocabulary};
use myxtts_weights::{ModelWeights, Tensor};

pub const CODES: u32 = 24;

pub struct Tiny {
    pub card: ModelCard,
    pub gpt: Gpt,
    pub dvae: Dvae,
    pub stats: Vec<f32>,
    pub vocabulary: Arc<Vocabulary>,
}

pub fn language(tag: &str) -> Language {
    tag.parse().unwrap()
}

impl Tiny {
    /// Languages and longest text as given. It stops of its own accord at no
    /// time, so that the number of codes is what a test asks for.
    pub fn new(languages: &[&str], max_text_tokens: usize) -> Self {
        Self::with_room(languages, max_text_tokens, 40)
    }

    /// With positions for longer recordings.
    pub fn with_room(languages: &[&str], max_text_tokens: usize, max_audio_tokens: usize) -> Self {
        let device = Device::flex();
        let training = Training {
            languages: languages.iter().copied().map(language).collect(),
            tokens: 80,
            min_count: 1,
            ..Training::default()
        };
        let texts = ["hello there, the quick brown fox. jumps over lazy dogs! why?"];
        let vocabulary = Arc::new(Vocabulary::train(texts, &training).unwrap());
        let symbols = Symbols {
            text_tokens: vocabulary.text_tokens(),
            start_text: vocabulary.start(),
            stop_text: vocabulary.stop(),
            max_text_tokens,
            codes: CODES,
            max_audio_tokens,
        };
        let card = card(symbols, languages);
        let init = Init::new(5, &device);
        let mut gpt = Gpt::new(&init, &card.gpt);
        let mut bias = vec![0.0; symbols.audio_tokens()];
        bias[symbols.stop_audio() as usize] = -1e4;
        bias[symbols.start_audio() as usize] = -1e4;
        gpt.mel_head.bias = Some(Param::from_data(bias.as_slice(), &device));
        Self {
            dvae: Dvae::new(&init, &card.dvae).unwrap(),
            gpt,
            stats: (0..80).map(|band| 1.0 + band as f32 / 40.0).collect(),
            vocabulary,
            card,
        }
    }

    /// A checkpoint with a waveform decoder and its speaker encoder, as public
    /// files have them.
    pub fn with_decoder(&mut self) -> ModelWeights {
        let speaker = SpeakerConfig::TINY;
        let hifigan = HifiganConfig {
            channels: 32,
            ..HifiganConfig::tiny(self.card.gpt.channels, speaker.embedding_dim)
        };
        let init = Init::new(3, &Device::flex());
        let decoder = HifiganDecoder::new(&init, &hifigan).unwrap();
        let encoder = SpeakerEncoder::new(&init, &speaker).unwrap();
        self.card.decoder = Some(DecoderCard {
            hifigan,
            voice: VoiceKind::SpeakerEncoder(speaker),
        });
        let mut checkpoint = self.checkpoint();
        for (prefix, state) in [
            ("hifigan_decoder.", state_dict(&decoder)),
            ("hifigan_decoder.speaker_encoder.", state_dict(&encoder)),
        ] {
            for (name, data) in state.unwrap() {
                let values: Vec<f32> = data.iter().collect();
                let tensor = Tensor::from_f32(data.shape().to_vec(), &values).unwrap();
                let name = format!("{prefix}{name}");
                checkpoint.hifigan_decoder.insert(name, tensor);
            }
        }
        checkpoint
    }

    pub fn checkpoint(&self) -> ModelWeights {
        checkpoint_of(
            &self.card,
            &state_dict(&self.gpt).unwrap(),
            &state_dict(&self.dvae).unwrap(),
            Some(&self.stats),
            &self.vocabulary,
        )
        .unwrap()
    }

    pub fn synthesizer(&self) -> Synthesizer {
        Synthesizer::new(self.modules(), None, &Device::flex()).unwrap()
    }

    pub fn modules(&self) -> Modules {
        Modules {
            card: self.card.clone(),
            references: ReferenceSpec::default(),
            gpt: self.gpt.clone(),
            dvae: Some(self.dvae.clone()),
            mel_stats: Some(self.stats.clone()),
            vocabulary: self.vocabulary.clone(),
        }
    }

    /// Our files in a folder, as a training's checkpoint has them: beside others.
    pub fn save(&self, folder: &Path) {
        myxtts_weights::write_ours(folder, &self.checkpoint()).unwrap();
        std::fs::write(folder.join("manifest.json"), "{}").unwrap();
        std::fs::write(folder.join("optimizer.safetensors"), "no weights of ours").unwrap();
    }
}

/// The card of a model with these symbols, without a decoder.
fn card(symbols: Symbols, languages: &[&str]) -> ModelCard {
    ModelCard {
        gpt: GptConfig {
            layers: 2,
            channels: 32,
            heads: 2,
            vocabulary: symbols,
            mel_bands: 80,
            encoder_blocks: 1,
            perceiver: PerceiverConfig {
                latents: 4,
                depth: 1,
                heads: 2,
                head_channels: 16,
            },
            dropout: 0.1,
            embedding_std: 0.02,
        },
        dvae: DvaeConfig {
            hidden: 16,
            resnet_blocks: 1,
            codes: CODES as usize,
            codebook_dim: 16,
            ..DvaeConfig::RELEASED
        },
        quirks: Quirks::Fixed,
        audio: AudioConfig {
            trim_silence: false,
            ..AudioConfig::default()
        },
        codes_mel: MelSpec::DVAE,
        conditioning_mel: MelSpec::CONDITIONING,
        conditioning: ConditioningSpec {
            min: Samples(11_025),
            max: Samples(22_050),
        },
        languages: languages.iter().map(|tag| (*tag).to_owned()).collect(),
        decoder: None,
        sampling: None,
    }
}

/// Through Griffin-Lim, as every test model can.
pub fn options(tag: &str, sampling: SamplingConfig) -> SpeakOptions {
    SpeakOptions {
        language: language(tag),
        sampling,
        vocoder: Vocoder::GriffinLim,
        speed: 1.0,
        stream: false,
    }
}

/// A sweep of so many samples.
pub fn recording(samples: usize) -> Waveform {
    let sample = |n: usize| (n as f32 * 0.03 + (n as f32 * 2e-4).sin() * 9.0).sin() * 0.4;
    Waveform {
        samples: (0..samples).map(sample).collect(),
        rate: SampleRate::XTTS,
    }
}
