//! Copies of recordings, made through the model's own codes.
//!
//! ```text
//! recording -> mel -> DVAE -> codes ─┬─> DVAE -> mel -> Griffin-Lim
//!                                    └─> GPT, told text and codes -> latents -> waveform decoder
//! ```
//!
//! Nothing is sampled: what a copy loses is what the codes and the vocoder lose, so that copies
//! of one recording compare vocoders. No speech of the model can be better.

use burn::tensor::Tensor;
use myxtts_audio::Waveform;
use myxtts_data::units::Codes;
use myxtts_model::mel::Mels;

use crate::decoder::Vocoder;
use crate::error::InferError;
use crate::speaking::SpeakOptions;
use crate::synthesizer::Synthesizer;
use crate::voice::Voice;

impl Synthesizer {
    /// Returns a recording as it comes back from the model's codes, by the vocoder of the
    /// options. It must be loaded as the card's `audio` says, and `text` is what is said in it.
    pub fn copy(
        &mut self,
        recording: &Waveform,
        text: &str,
        voice: &Voice,
        options: &SpeakOptions,
    ) -> Result<Waveform, InferError> {
        self.check(options)?;
        let mut codes = self.codes(recording)?;
        codes.push(self.gpt().config().vocabulary.stop_audio());
        let latents = match options.vocoder {
            Vocoder::Hifigan => self.told(&codes, text, voice, options)?,
            Vocoder::GriffinLim => vec![],
        };
        let (samples, _) = self.sound(&codes, latents, voice, options)?;
        let rate = self.rate(options.vocoder);
        Ok(Waveform { samples, rate })
    }

    /// Returns the codes of a recording, as a training makes them.
    fn codes(&mut self, recording: &Waveform) -> Result<Vec<u32>, InferError> {
        let (found, needed) = (recording.rate, self.card().audio.sample_rate);
        if found != needed {
            return Err(InferError::Rate { found, needed });
        }
        let count = Codes::of(recording.len());
        let mut wave = recording.samples.clone();
        wave.resize(count.samples().0, 0.0);
        let stats = self.mel_stats.as_deref();
        let mut mels = Mels::new(self.card().codes_mel, stats, self.device())?;
        let mel_1ct = mels.forward(&wave, 1, self.device())?;
        let Some((dvae, _)) = &self.griffin_lim else {
            return Err(InferError::Missing {
                what: "DVAE",
                fix: "put dvae.pth and mel_stats.pth beside model.pth and import again",
            });
        };
        // Centred frames are one more than the hops of the wave, and would make one code more.
        let codes_1m = dvae.encode(mel_1ct).narrow(1, 0, count.0 as usize);
        let codes = codes_1m.try_into_vec_as::<i64>();
        let codes = codes.map_err(|why| InferError::Device(why.to_string()))?;
        let code = |code: i64| u32::try_from(code).unwrap_or_default();
        Ok(codes.into_iter().map(code).collect())
    }

    /// Returns the latents that the decoder takes, when the GPT is given the text and the codes,
    /// STOP included.
    fn told(
        &self,
        codes: &[u32],
        text: &str,
        voice: &Voice,
        options: &SpeakOptions,
    ) -> Result<Vec<Tensor<3>>, InferError> {
        let phrases = self.reading(text, &options.language)?.phrases;
        let [phrase] = phrases.as_slice() else {
            let pieces = phrases.len();
            return Err(InferError::CopyInPieces { pieces });
        };
        let latents_1nd = voice.latents_1nd.clone();
        let latents_1md = self.gpt().latents(latents_1nd, &phrase.tokens, codes)?;
        let heard = (0..).zip(codes).filter(|(_, code)| self.hears(**code));
        let latent = |(place, _)| latents_1md.clone().narrow(1, place, 1);
        Ok(heard.map(latent).collect())
    }
}
