//! Loads a model that speaks, and speaks with it: one text, or many lines to a folder.

pub mod batch;
mod chosen;
mod similar;
mod undisturbed;

use std::fmt::Display;
use std::path::Path;

use myxtts_audio::{Waveform, wav_pcm16};
use myxtts_base::{Report, report};
use myxtts_config::Settings;
use myxtts_device::{Machine, check_for_oom, open};
use myxtts_infer::{InferError, SpeakOptions, Synthesizer};

pub use chosen::{BEAMS, Chosen, ChosenVocoder, LENGTH_PENALTIES, SPEEDS};
pub use myxtts_audio::units::{SampleRate, Samples, Seconds};
pub use myxtts_audio::{pcm16, wav_pcm16_header};
pub use myxtts_infer::{Said, SamplingDefaults, StoredVoice, Vocoder, named_voices, newest_run};
pub use myxtts_model::generate::{Choice, SamplingConfig};
pub use myxtts_text::Language;
pub use similar::Similar;
pub use undisturbed::Undisturbed;

use crate::error::Error;
use crate::settings::{Config, plan_request};

/// The longest text that is read from a file, in bytes: what one argument of a command may have on
/// Linux, so that a file takes what an argument does. The audio of a text is held in memory until
/// it is written.
pub const LONGEST_TEXT: u64 = 128 * 1024;

/// A model that speaks, on its device.
pub struct Model {
    /// The model itself.
    pub synthesizer: Synthesizer,
    /// The device the model is on, as shown in reports.
    pub device: String,
}

impl Model {
    /// Loads the model of a run, of one checkpoint of it, or of a folder of imported weights.
    ///
    /// The device is the one that the configuration's training would use for its model.
    ///
    /// ```no_run
    /// use myxtts::{Given, Model, VoiceSource, wav_pcm16};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let machine = myxtts::cpu();
    /// let settings = Given::default().load(&machine)?;
    /// // A run that the example of `train` made, or weights that `myxtts import` wrote.
    /// let checkpoint = myxtts::resolve("runs/myxtts".as_ref(), myxtts::Pick::Newest)?;
    /// let mut model = Model::open(&settings, &machine, &checkpoint)?;
    /// let source = VoiceSource::named(None, &checkpoint)?;
    /// let voice = source.hear(&mut model.synthesizer)?.voice;
    /// let options = model.options(7)?;
    /// let speech = model.synthesizer.speak("Good morning.", &voice, &options)?;
    /// let wav = wav_pcm16(&speech.waveform).ok_or("longer than a WAV file holds")?;
    /// std::fs::write("morning.wav", wav)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the device cannot be had, or the folder does not hold a model that speaks.
    pub fn open(
        settings: &Settings<Config>,
        machine: &Machine,
        checkpoint: &Path,
    ) -> Result<Self, Error> {
        let plan = myxtts_device::plan(&plan_request(settings), machine)?;
        let Some(planned) = plan.model_devices.first() else {
            return Err(Error::failed("the plan has no device for the model"));
        };
        let device = open(planned).map_err(Error::failed)?;
        Ok(Self {
            synthesizer: Synthesizer::open(checkpoint, &device)?,
            device: format!("{} ({})", planned.label(), planned.name),
        })
    }

    /// Returns how the model speaks if nothing else is asked for: in its language, with its own
    /// sampling from `seed`, through its waveform decoder if it has one.
    ///
    /// # Errors
    /// When the model speaks several languages, or does not say which.
    pub fn options(&self, seed: u64) -> Result<SpeakOptions, Error> {
        let card = self.synthesizer.card();
        let [language] = card.languages.as_slice() else {
            return Err(Error::refused(format!(
                "which language? the model speaks {}",
                card.languages.join(", ")
            )));
        };
        Ok(SpeakOptions {
            language: language.parse().map_err(Error::refused)?,
            sampling: card.sampling().with_seed(seed, card.quirks),
            vocoder: self.synthesizer.vocoder(None)?,
            speed: 1.0,
            stream: false,
        })
    }
}

/// Checks that no device has run out of memory, which the engine tells nobody who does not ask.
///
/// # Errors
/// When one has: what was computed since is worth nothing.
pub fn check_memory() -> Result<(), Error> {
    Ok(check_for_oom().map_err(|why| InferError::Device(why.to_string()))?)
}

/// Returns the error of a model that was not trained enough.
pub fn no_sound() -> Report {
    report!(
        "the model stopped before it made any audio";
        fix: "try another --seed, or train it longer"
    )
}

/// Returns a recording as the bytes of the WAV file at `path`.
///
/// # Errors
/// When it is longer than a WAV file holds.
pub fn wav(speech: &Waveform, path: &Path) -> Result<Vec<u8>, Error> {
    wav_pcm16(speech).ok_or_else(|| {
        Error::Failed(report!(
            "the speech is longer than a WAV file holds";
            at: "{}", path.display();
            fix: "speak the text in parts"
        ))
    })
}

/// Returns a notice about pieces of a text that did not end with a stop code.
pub fn unended(count: usize, pieces: usize) -> Option<String> {
    let which = match (count, pieces) {
        (0, _) => return None,
        (1, 1) => String::new(),
        (count, pieces) => format!(" in {count} of {pieces} pieces of the text"),
    };
    Some(format!(
        "the model never produced a stop code{which}; the audio was cut at its maximum length"
    ))
}

/// Returns the error of a text that cannot be read.
pub fn unreadable(place: &str, why: &dyn Display) -> Error {
    Error::Refused(report!(
        "the text cannot be read: {why}";
        at: "{place}";
        fix: "name a text file in UTF-8, or give the text with --text"
    ))
}
