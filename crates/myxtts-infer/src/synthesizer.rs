//! A model that speaks.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_audio::units::{Frames, SampleRate};
use myxtts_audio::{GriffinLim, Mel, Waveform};
use myxtts_model::dvae::Dvae;
use myxtts_model::generate::SpeakingGpt;
use myxtts_model::gpt::Quirks;
use myxtts_model::hifigan::{WaveStream, interpolate};
use myxtts_model::mel::Mels;
use myxtts_text::{Language, Limit, Vocabulary};
use myxtts_weights::read_ours;

use crate::card::ModelCard;
use crate::decoder::{Decoder, Vocoder};
use crate::error::InferError;
use crate::locate::{Pick, resolve};
use crate::modules::Modules;
use crate::reading::{self, Reading};
use crate::speaking::{Event, Said, SpeakOptions, Speaking, Utterance, last_sound};
use crate::speech::{Speech, with_last_frame_twice};
use crate::voice::{Listener, ReferenceSpec, Voice, accept};

/// The number of rows that advance together unless told otherwise.
const ROWS: usize = 8;
/// The slowest speed that speech is slowed down to.
const SLOWEST: f64 = 0.05;

/// A model that speaks, on one device.
#[derive(Debug)]
pub struct Synthesizer {
    card: ModelCard,
    references: ReferenceSpec,
    gpt: SpeakingGpt,
    vocabulary: Arc<Vocabulary>,
    conditioning_mel: Mels,
    decoder: Option<Decoder>,
    pub(crate) griffin_lim: Option<(Dvae, GriffinLim)>,
    pub(crate) mel_stats: Option<Vec<f32>>,
    device: Device,
}

impl Synthesizer {
    /// Loads a model from a folder of weights, a training's checkpoint `step_N`, or a run
    /// folder, whose newest checkpoint is taken.
    pub fn open(folder: &Path, device: &Device) -> Result<Self, InferError> {
        let checkpoint = read_ours(&resolve(folder, Pick::Newest)?)?;
        let modules = Modules::load(&checkpoint, device)?;
        // Mels that are not divided by the statistics have another scale: the model would hear,
        // and sound, different from what it was trained on.
        if modules.mel_stats.is_none() {
            return Err(InferError::Missing {
                what: "mel statistics",
                fix: "put mel_stats.pth beside model.pth and import again",
            });
        }
        let decoder = Decoder::load(&checkpoint, &modules.card, device)?;
        // The file's pages count as memory until it is dropped.
        drop(checkpoint);
        Self::new(modules, decoder, device)
    }

    /// Makes a synthesizer from modules on `device`, whether or not they carry gradients.
    pub fn new(
        modules: Modules,
        decoder: Option<Decoder>,
        device: &Device,
    ) -> Result<Self, InferError> {
        let Modules {
            card,
            references,
            gpt,
            dvae,
            mel_stats,
            vocabulary,
        } = modules;
        if let Some(dvae) = &dvae {
            let [_, codes] = dvae.codebook.embed.dims();
            let spoken = gpt.config().vocabulary.codes;
            if codes < spoken as usize {
                let (gpt, dvae) = (spoken, codes);
                return Err(InferError::Codes { gpt, dvae });
            }
        }
        let device = device.clone().inner();
        let conditioning_mel = Mels::new(card.conditioning_mel, mel_stats.as_deref(), &device)?;
        let griffin_lim = match dvae {
            Some(dvae) => Some((
                dvae.valid(),
                GriffinLim::new(card.codes_mel, mel_stats.clone())?,
            )),
            None => None,
        };
        let speaker = Self {
            gpt: gpt.into_speaking(),
            vocabulary,
            conditioning_mel,
            decoder,
            griffin_lim,
            mel_stats,
            references,
            device,
            card,
        };
        // The model must have one of the two vocoders.
        speaker.vocoder(None)?;
        Ok(speaker)
    }

    /// Returns the description of the model.
    pub fn card(&self) -> &ModelCard {
        &self.card
    }

    /// Returns the vocoder to speak with: the one asked for, or else the model's own decoder if
    /// it has one.
    pub fn vocoder(&self, asked: Option<Vocoder>) -> Result<Vocoder, InferError> {
        let usual = match self.decoder {
            Some(_) => Vocoder::Hifigan,
            None => Vocoder::GriffinLim,
        };
        match asked.unwrap_or(usual) {
            Vocoder::Hifigan if self.decoder.is_none() => Err(InferError::Missing {
                what: "waveform decoder",
                fix: "speak with --vocoder griffin-lim, or train one with `myxtts train --stage decoder --init DIR`",
            }),
            Vocoder::GriffinLim if self.griffin_lim.is_none() => Err(InferError::Missing {
                what: "DVAE",
                fix: "put dvae.pth and mel_stats.pth beside model.pth and import again",
            }),
            vocoder => Ok(vocoder),
        }
    }

    /// Returns the sample rate of a vocoder's waveforms.
    pub fn rate(&self, vocoder: Vocoder) -> SampleRate {
        match (&self.decoder, vocoder) {
            (Some(decoder), Vocoder::Hifigan) => decoder.rate,
            _ => self.card.codes_mel.sample_rate,
        }
    }

    /// Checks that a recording has a voice in it, as [`voice`](Self::voice) requires, so that a
    /// caller can name the recording at fault.
    pub fn accepts(&self, recording: &Waveform) -> Result<(), InferError> {
        accept(&self.card, &self.references, recording)
    }

    /// Makes a voice from recordings of one speaker, loaded as the card's `audio` says.
    pub fn voice(&mut self, recordings: &[Waveform]) -> Result<Voice, InferError> {
        let mut listener = Listener {
            card: &self.card,
            references: self.references,
            gpt: &self.gpt,
            mels: &mut self.conditioning_mel,
            decoder: self.decoder.as_mut(),
            device: &self.device,
        };
        listener.voice(recordings)
    }

    /// Speaks many texts together, at most `most_rows` rows at a time.
    pub fn speaking(&mut self, most_rows: usize) -> Speaking<'_> {
        Speaking::new(self, most_rows)
    }

    /// Speaks a text. A text that does not fit the model, or is longer than it speaks well, is
    /// split into sentences; each draws with a seed of its own.
    pub fn speak(
        &mut self,
        text: &str,
        voice: &Voice,
        options: &SpeakOptions,
    ) -> Result<Speech, InferError> {
        let rate = self.rate(options.vocoder);
        let mut samples = vec![];
        let said = self.stream(text, voice, options, |sound| {
            samples.extend_from_slice(sound);
            ControlFlow::Continue(())
        })?;
        Ok(Speech::of(Waveform { samples, rate }, said))
    }

    /// Speaks a text and hands out its audio as it becomes known. If `hear` breaks off, the rest
    /// is not spoken.
    pub fn stream(
        &mut self,
        text: &str,
        voice: &Voice,
        options: &SpeakOptions,
        mut hear: impl FnMut(&[f32]) -> ControlFlow<()>,
    ) -> Result<Said, InferError> {
        let mut speaking = self.speaking(ROWS);
        speaking.admit(Utterance {
            text: text.to_owned(),
            voice: voice.clone(),
            options: options.clone(),
        })?;
        while !speaking.is_idle() {
            for event in speaking.step() {
                match event {
                    Event::Sound(_, samples) => {
                        if hear(&samples).is_break() {
                            return Ok(Said::default());
                        }
                    }
                    Event::Done(_, said) => return Ok(said),
                    Event::Failed(_, why) => return Err(why),
                }
            }
        }
        Ok(Said::default())
    }

    /// Returns how much of a speaker's recordings the model listens to.
    pub fn references(&self) -> ReferenceSpec {
        self.references
    }

    pub(crate) fn gpt(&self) -> &SpeakingGpt {
        &self.gpt
    }

    pub(crate) fn decoder(&self) -> Option<&Decoder> {
        self.decoder.as_ref()
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Checks whether this model can speak with these options.
    pub(crate) fn check(&self, options: &SpeakOptions) -> Result<(), InferError> {
        self.vocoder(Some(options.vocoder))?;
        // A language without a tag is reported before a text that does not fit.
        self.vocabulary.encode("", &options.language)?;
        Ok(())
    }

    /// Splits a text into what the model says in one breath, with its pauses.
    pub(crate) fn reading(&self, text: &str, language: &Language) -> Result<Reading, InferError> {
        let limit = Limit(self.gpt.config().vocabulary.max_text_tokens);
        reading::read(text, language, &self.vocabulary, limit)
    }

    /// Keeps only the codes of sounds: neither STOP nor a START that an untrained model may draw
    /// is one.
    pub(crate) fn keep_sounds(&self, codes: &mut Vec<u32>) {
        let known = self.gpt.config().vocabulary.codes;
        codes.retain(|code| *code < known);
    }

    /// Returns whether the decoder takes the latent of this code: the public decoder takes that
    /// of STOP as well, one trained here does not.
    pub(crate) fn hears(&self, code: u32) -> bool {
        code < self.gpt.config().vocabulary.codes || self.card.quirks == Quirks::Compat
    }

    /// Opens a waveform that is given out in parts, if the vocoder can do that: Griffin-Lim
    /// needs the whole mel.
    pub(crate) fn wave_stream(
        &self,
        voice: &Voice,
        options: &SpeakOptions,
    ) -> Result<Option<WaveStream>, InferError> {
        match (options.vocoder, &self.decoder) {
            (Vocoder::Hifigan, Some(decoder)) => Ok(Some(decoder.stream(voice, options.speed)?)),
            _ => Ok(None),
        }
    }

    /// Returns the audio of a piece from `codes` as they were drawn, STOP included, and the
    /// latents that the decoder takes of them.
    pub(crate) fn sound(
        &mut self,
        codes: &[u32],
        latents: Vec<Tensor<3>>,
        voice: &Voice,
        options: &SpeakOptions,
    ) -> Result<(Vec<f32>, Option<Mel>), InferError> {
        let known = self.gpt.config().vocabulary.codes;
        match (options.vocoder, &self.decoder, &mut self.griffin_lim) {
            (Vocoder::Hifigan, Some(decoder), _) => {
                let wave = decoder.stream(voice, options.speed)?;
                Ok((last_sound(wave, latents)?, None))
            }
            (Vocoder::GriffinLim, _, Some((dvae, griffin_lim))) => {
                let codes: Vec<u32> = codes.iter().copied().filter(|code| *code < known).collect();
                if codes.is_empty() {
                    let bands = self.card.codes_mel.bands;
                    return Ok((vec![], Some(empty(bands))));
                }
                let mel = mel(dvae, &codes, options.speed, &self.device)?;
                let wave = griffin_lim.waveform(&with_last_frame_twice(&mel))?;
                Ok((wave.samples, Some(mel)))
            }
            _ => Err(InferError::NoVocoder),
        }
    }
}

fn empty(bands: usize) -> Mel {
    Mel {
        bands,
        frames: Frames(0),
        values: Vec::new(),
    }
}

/// Returns the DVAE's mel of the codes, `speed` times as fast.
fn mel(dvae: &Dvae, codes: &[u32], speed: f64, device: &Device) -> Result<Mel, InferError> {
    let ids: Vec<i64> = codes.iter().map(|code| i64::from(*code)).collect();
    let shape = [1, ids.len()];
    let codes_1m = Tensor::<2, Int>::from_data(TensorData::new(ids, shape), device);
    let mut mel_1ct = dvae.decode(codes_1m);
    if speed != 1.0 {
        mel_1ct = interpolate(mel_1ct, 1.0 / speed.max(SLOWEST));
    }
    let [_, bands, frames] = mel_1ct.dims();
    let values = mel_1ct.try_into_vec_as::<f32>();
    Ok(Mel {
        bands,
        frames: Frames(frames),
        values: values.map_err(|why| InferError::Device(why.to_string()))?,
    })
}
