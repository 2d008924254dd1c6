//! Text into a waveform.

use std::path::Path;
use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_audio::units::Frames;
use myxtts_audio::{GriffinLim, Mel, Waveform};
use myxtts_model::dvae::Dvae;
use myxtts_model::generate::{Choice, SamplingConfig, generate};
use myxtts_model::gpt::Gpt;
use myxtts_model::mel::Mels;
use myxtts_text::{CleanOptions, Language, Limit, Vocabulary, clean_with, split};
use myxtts_weights::read_ours;

use crate::card::ModelCard;
use crate::error::InferError;
use crate::locate::{Pick, resolve};
use crate::modules::Modules;
use crate::speech::{Speech, with_last_frame_twice};
use crate::voice::VoiceLatents;

/// A model that speaks, on one device.
#[derive(Debug)]
pub struct Synthesizer {
    card: ModelCard,
    gpt: Gpt,
    dvae: Dvae,
    vocabulary: Arc<Vocabulary>,
    conditioning_mel: Mels,
    griffin_lim: GriffinLim,
    device: Device,
}

impl Synthesizer {
    /// Loads a model: a folder of ours, a training's checkpoint `step_N`, or a
    /// run folder, whose newest checkpoint is taken.
    pub fn open(folder: &Path, device: &Device) -> Result<Self, InferError> {
        let checkpoint = read_ours(&resolve(folder, Pick::Newest)?)?;
        let modules = Modules::load(&checkpoint, device)?;
        let dvae = modules.dvae.ok_or(InferError::Missing {
            what: "DVAE",
            fix: "put dvae.pth and mel_stats.pth beside model.pth and import again",
        })?;
        // Mels that are not divided by them are of another scale: the model
        // would hear, and sound, differently from what it was trained on.
        if modules.mel_stats.is_none() {
            return Err(InferError::Missing {
                what: "mel statistics",
                fix: "put mel_stats.pth beside model.pth and import again",
            });
        }
        Self::new(
            modules.card,
            modules.gpt,
            dvae,
            modules.mel_stats,
            Arc::new(modules.vocabulary),
            device,
        )
    }

    /// From modules on `device`, whether or not they carry gradients.
    pub fn new(
        card: ModelCard,
        gpt: Gpt,
        dvae: Dvae,
        mel_stats: Option<Vec<f32>>,
        vocabulary: Arc<Vocabulary>,
        device: &Device,
    ) -> Result<Self, InferError> {
        let [_, codes] = dvae.codebook.embed.dims();
        let spoken = gpt.config().vocabulary.codes;
        if codes < spoken as usize {
            return Err(InferError::Codes {
                gpt: spoken,
                dvae: codes,
            });
        }
        let device = device.clone().inner();
        Ok(Self {
            gpt: gpt.valid(),
            dvae: dvae.valid(),
            vocabulary,
            conditioning_mel: Mels::new(card.conditioning_mel, mel_stats.as_deref(), &device)?,
            griffin_lim: GriffinLim::new(card.codes_mel, mel_stats)?,
            device,
            card,
        })
    }

    /// What the model is.
    pub fn card(&self) -> &ModelCard {
        &self.card
    }

    /// What it reads texts with.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// A voice from recordings, loaded as the card's `audio` says.
    pub fn voice(&mut self, references: &[Waveform]) -> Result<VoiceLatents, InferError> {
        let Self {
            card,
            gpt,
            conditioning_mel,
            device,
            ..
        } = self;
        VoiceLatents::of(references, card, gpt, conditioning_mel, device)
    }

    /// Speaks a text. One that does not fit the model, or is longer than it
    /// speaks well, is cut into sentences; each draws with a seed of its own.
    pub fn speak(
        &mut self,
        text: &str,
        language: &Language,
        voice: &VoiceLatents,
        sampling: SamplingConfig,
    ) -> Result<Speech, InferError> {
        // An unknown language is said before a text that does not fit.
        self.vocabulary.encode("", language)?;
        let mut spoken = Vec::new();
        for (index, piece) in (0..).zip(self.pieces(text, language)?) {
            let sampling = match sampling.choice {
                Choice::Greedy => sampling,
                Choice::Sample { seed } => SamplingConfig {
                    choice: Choice::Sample {
                        seed: seed.wrapping_add(index),
                    },
                    ..sampling
                },
            };
            spoken.push(self.speak_piece(&piece, language, voice, sampling)?);
        }
        Speech::joined(spoken).ok_or(InferError::NoText)
    }

    fn pieces(&self, text: &str, language: &Language) -> Result<Vec<String>, InferError> {
        let limit = Limit(self.gpt.config().vocabulary.max_text_tokens);
        let advised = language.advised_characters();
        split(text, language, limit, |piece| {
            let tokens = 1 + self.vocabulary.encode_raw(&cleaned(piece, language)).len();
            match piece.chars().nth(advised) {
                Some(_) => tokens.max(limit.0 + 1),
                None => tokens,
            }
        })
        .map_err(InferError::TooLong)
    }

    fn speak_piece(
        &mut self,
        piece: &str,
        language: &Language,
        voice: &VoiceLatents,
        sampling: SamplingConfig,
    ) -> Result<Speech, InferError> {
        let tokens = self
            .vocabulary
            .encode(&cleaned(piece, language), language)?;
        let generated = generate(&self.gpt, voice.latents_1nd.clone(), &tokens, sampling)?;
        // Neither STOP nor a START that an untrained model may draw is a sound.
        let codes_known = self.gpt.config().vocabulary.codes;
        let mut codes = generated.codes;
        codes.retain(|code| *code < codes_known);
        let mel = self.mel(&codes)?;
        let waveform = if codes.is_empty() {
            Waveform {
                samples: Vec::new(),
                rate: self.card.codes_mel.sample_rate,
            }
        } else {
            self.griffin_lim.waveform(&with_last_frame_twice(&mel))?
        };
        Ok(Speech {
            waveform,
            mel,
            codes,
            stopped: generated.stopped,
        })
    }

    fn mel(&self, codes: &[u32]) -> Result<Mel, InferError> {
        let bands = self.card.codes_mel.bands;
        if codes.is_empty() {
            return Ok(Mel {
                bands,
                frames: Frames(0),
                values: Vec::new(),
            });
        }
        let ids: Vec<i64> = codes.iter().map(|code| i64::from(*code)).collect();
        let shape = [1, ids.len()];
        let codes_1m = Tensor::<2, Int>::from_data(TensorData::new(ids, shape), &self.device);
        let mel_1ct = self.dvae.decode(codes_1m);
        let [_, bands, frames] = mel_1ct.dims();
        let values = mel_1ct.try_into_vec_as::<f32>();
        Ok(Mel {
            bands,
            frames: Frames(frames),
            values: values.map_err(|why| InferError::Device(why.to_string()))?,
        })
    }
}

/// A text as training reads it.
fn cleaned(text: &str, language: &Language) -> String {
    clean_with(text, language, &CleanOptions::default()).text
}
