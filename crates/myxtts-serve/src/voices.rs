//! The voices of a server.
//!
//! All of them are made before the first request: what a request names is then
//! a key of a map, never a path, and no client waits for another's recording.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use myxtts_audio::units::Seconds;
use myxtts_audio::{Limits, Loader};
use myxtts_base::Report;
use myxtts_infer::{StoredVoice, Synthesizer, Voice, VoiceFile, named_voices};
use serde::Serialize;

use crate::error::{ServeError, plain};

/// The extensions of recordings that a folder of voices may hold.
const RECORDINGS: [&str; 5] = ["wav", "flac", "mp3", "ogg", "m4a"];

/// The extension of a saved voice.
const FILE: &str = "voice";

/// How much of a recording is read, as a multiple of what is heard: silence
/// before the first word is cut off after reading.
const READ: f64 = 2.0;

/// Where a voice came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VoiceSource {
    /// A recording or a speaker stored with the model.
    Model,
    /// A recording in the folder of voices.
    Recording,
    /// A `.voice` file in the folder of voices.
    File,
}

/// The voices of a server, by name.
#[derive(Debug, Default)]
pub struct VoiceBook {
    voices: BTreeMap<String, (VoiceSource, Voice)>,
    notices: Vec<String>,
}

impl VoiceBook {
    /// Makes the voices stored with the weights in `checkpoint`, and those of `folder`
    /// where one is given. A file that is not a voice is left out, and named in
    /// [`notices`](Self::notices).
    ///
    /// # Errors
    /// If the folder or the model's voices cannot be read, or there is no voice at all.
    pub fn gather(
        synthesizer: &mut Synthesizer,
        checkpoint: &Path,
        folder: Option<&Path>,
    ) -> Result<Self, ServeError> {
        let mut book = Self::default();
        for stored in named_voices(checkpoint)? {
            let name = stored.name;
            let (told, voice) = match &stored.stored {
                StoredVoice::Recording(path) => {
                    (path.display().to_string(), heard(synthesizer, path))
                }
                StoredVoice::Latents { latents, vector } => {
                    let voice = synthesizer.voice_from_latents(&name, latents, vector.as_ref());
                    let voice = voice.map_err(|why| Report::of(&why));
                    (format!("the speaker `{name}`"), voice)
                }
            };
            book.add(name, VoiceSource::Model, &told, voice);
        }
        for (name, source, path) in folder.map_or(Ok(vec![]), files)? {
            let told = path.display().to_string();
            let voice = match source {
                VoiceSource::File => read(synthesizer, &path, &told),
                VoiceSource::Model | VoiceSource::Recording => heard(synthesizer, &path),
            };
            book.add(name, source, &told, voice);
        }
        if book.voices.is_empty() {
            let none = match book.notices.is_empty() {
                true => "none is stored with the model".to_owned(),
                false => book.notices.join("; "),
            };
            return Err(ServeError::NoVoice(none));
        }
        Ok(book)
    }

    /// Returns a line for every voice that was left out, or stands in for another.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Returns the names of the voices and where each came from.
    pub fn list(&self) -> impl Iterator<Item = (&str, VoiceSource)> {
        let entries = self.voices.iter();
        entries.map(|(name, (source, _))| (name.as_str(), *source))
    }

    pub(crate) fn voice(&self, name: &str) -> Option<&Voice> {
        self.voices.get(name).map(|(_, voice)| voice)
    }

    fn add(&mut self, name: String, source: VoiceSource, told: &str, voice: Result<Voice, Report>) {
        match voice {
            Ok(voice) => {
                if self.voices.insert(name, (source, voice)).is_some() {
                    let notice = format!("{told} replaces another voice of the same name");
                    self.notices.push(notice);
                }
            }
            Err(why) => {
                let notice = format!("{told} is left out: {}", plain(&why.to_string()));
                self.notices.push(notice);
            }
        }
    }
}

/// Makes the voice of a recording, of which only the beginning is read.
fn heard(synthesizer: &mut Synthesizer, path: &Path) -> Result<Voice, Report> {
    let mut loader = Loader::new(synthesizer.card().audio.clone(), Limits::default());
    let most = Seconds(synthesizer.references().of_each.0 * READ);
    let loaded = loader.load_beginning(path, most);
    let (loaded, _) = loaded.map_err(|why| Report::of(&why))?;
    let voice = synthesizer.voice(&[loaded.waveform]);
    voice.map_err(|why| Report::of(&why))
}

/// Reads the voice of a `.voice` file, which must have been made with this model.
fn read(synthesizer: &Synthesizer, path: &Path, told: &str) -> Result<Voice, Report> {
    let file = VoiceFile::read(path).map_err(|why| Report::of(&why))?;
    let voice = synthesizer.voice_from_file(told, &file);
    voice.map_err(|why| Report::of(&why))
}

/// Lists the voices in a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<(String, VoiceSource, PathBuf)>, ServeError> {
    let unreadable = |why| ServeError::Voices {
        folder: folder.display().to_string(),
        why,
    };
    let mut found = vec![];
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let kind = path.extension().unwrap_or_default().to_ascii_lowercase();
        let source = match RECORDINGS.iter().any(|known| kind == *known) {
            true => VoiceSource::Recording,
            false if kind == FILE => VoiceSource::File,
            false => continue,
        };
        let name = path.file_stem().and_then(|name| name.to_str());
        if let (true, Some(name)) = (path.is_file(), name) {
            found.push((name.to_owned(), source, path.clone()));
        }
    }
    found.sort_by(|(one, _, a), (other, _, b)| (one, a).cmp(&(other, b)));
    Ok(found)
}
