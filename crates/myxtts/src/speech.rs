//! Loads a model that speaks.

use std::path::Path;

use myxtts_config::Settings;
use myxtts_device::{Machine, open};
use myxtts_infer::{SpeakOptions, Synthesizer};

use crate::error::Error;
use crate::settings::{Config, plan_request};

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
