//! Chooses the voice to speak in.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts_audio::units::Seconds;
use myxtts_audio::{Limits, Loader, Waveform};
use myxtts_base::{Report, report};
use myxtts_infer::{
    InferError, NamedVoice, StoredVoice, Synthesizer, Voice, VoiceFile, named_voices,
};

use super::failure;
use crate::output::Failure;

/// How much of a recording is read, as a multiple of what is used: silence before the first word
/// is trimmed after reading.
const READ: f64 = 2.0;

/// Where a voice comes from.
#[derive(Clone, Debug)]
pub(in crate::commands) enum VoiceSource {
    /// Recordings of one speaker.
    Recordings(Vec<PathBuf>),
    /// A voice file that was saved.
    File(PathBuf, VoiceFile),
    /// A voice stored with the model.
    Named(NamedVoice),
}

/// A voice, and the notices about it.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Heard {
    pub(in crate::commands) voice: Voice,
    pub(in crate::commands) notices: Vec<String>,
}

impl VoiceSource {
    /// Returns the voice that the flags ask for; the first stored one if they ask for none.
    pub(in crate::commands) fn of(
        matches: &ArgMatches,
        checkpoint: &Path,
    ) -> Result<Self, Failure> {
        if let Some(given) = matches.get_many::<PathBuf>("speaker-wav") {
            return Self::recordings(given.cloned().collect());
        }
        if let Some(file) = matches.get_one::<PathBuf>("voice") {
            return Self::file(file);
        }
        let wanted = matches.get_one::<String>("speaker");
        Self::named(wanted.map(String::as_str), checkpoint)
    }

    pub(super) fn recordings(paths: Vec<PathBuf>) -> Result<Self, Failure> {
        match paths.iter().find(|path| !path.is_file()) {
            None => Ok(Self::Recordings(paths)),
            Some(path) => Err(Failure::Usage(report!(
                "there is no recording of the voice here";
                at: "{}", path.display();
                fix: "name a recording after --speaker-wav"
            ))),
        }
    }

    pub(super) fn file(path: &Path) -> Result<Self, Failure> {
        let file = VoiceFile::read(path).map_err(|why| failure(why.into()))?;
        Ok(Self::File(path.to_owned(), file))
    }

    /// Returns a voice stored with the model, by name or the first of them.
    pub(in crate::commands) fn named(
        wanted: Option<&str>,
        checkpoint: &Path,
    ) -> Result<Self, Failure> {
        let stored = named_voices(checkpoint).map_err(failure)?;
        let found = match wanted {
            Some(wanted) => stored.iter().find(|voice| voice.name == wanted),
            None => stored.first(),
        };
        if let Some(voice) = found {
            return Ok(Self::Named(voice.clone()));
        }
        let names: Vec<&str> = stored.iter().map(|voice| voice.name.as_str()).collect();
        let has = match names.is_empty() {
            true => format!("no voice is stored in {}", checkpoint.display()),
            false => format!("the stored voices are {}", names.join(", ")),
        };
        Err(Failure::Usage(match wanted {
            Some(wanted) => report!(
                "there is no voice `{wanted}`: {has}";
                fix: "name one of them, or give recordings with --speaker-wav"
            ),
            None => report!(
                "whose voice? {has}";
                fix: "give a few seconds of a speaker with --speaker-wav FILE"
            ),
        }))
    }

    /// Returns whose voice it is, one line each.
    pub(in crate::commands) fn words(&self) -> Vec<String> {
        match self {
            Self::Recordings(paths) => paths
                .iter()
                .map(|path| path.display().to_string())
                .collect(),
            Self::File(path, _) => vec![path.display().to_string()],
            Self::Named(voice) => vec![match &voice.stored {
                StoredVoice::Recording(path) => path.display().to_string(),
                StoredVoice::Latents { .. } => voice.name.clone(),
            }],
        }
    }

    /// Returns what a saved voice says it was made from: names, without the folders of whoever
    /// made it.
    pub(super) fn origin(&self) -> Vec<String> {
        let name = |path: &PathBuf| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.to_string_lossy().into_owned()
        };
        match self {
            Self::Recordings(paths) => paths.iter().map(name).collect(),
            Self::File(_, file) => file.source().to_vec(),
            Self::Named(voice) => vec![voice.name.clone()],
        }
    }

    /// Makes the voice with the model.
    pub(in crate::commands) fn hear(
        &self,
        synthesizer: &mut Synthesizer,
    ) -> Result<Heard, Failure> {
        match self {
            Self::Recordings(paths) => listen(paths, synthesizer),
            Self::File(path, file) => {
                let name = path.display().to_string();
                let voice = synthesizer.voice_from_file(&name, file);
                voice.map(Heard::plain).map_err(failure)
            }
            Self::Named(NamedVoice { name, stored }) => match stored {
                StoredVoice::Recording(path) => listen(std::slice::from_ref(path), synthesizer),
                StoredVoice::Latents { latents, vector } => {
                    let voice = synthesizer.voice_from_latents(name, latents, vector.as_ref());
                    voice.map(Heard::plain).map_err(failure)
                }
            },
        }
    }
}

impl Heard {
    fn plain(voice: Voice) -> Self {
        Self {
            voice,
            notices: vec![],
        }
    }
}

/// Makes the voice of recordings, reading no more of them than is used.
fn listen(paths: &[PathBuf], synthesizer: &mut Synthesizer) -> Result<Heard, Failure> {
    let mut loader = Loader::new(synthesizer.card().audio.clone(), Limits::default());
    let heard = synthesizer.references().of_each;
    let most = Seconds(heard.0 * READ);
    let mut notices = vec![];
    let mut recordings: Vec<Waveform> = vec![];
    for path in paths {
        let loaded = loader.load_beginning(path, most);
        let (loaded, is_whole) = loaded.map_err(Failure::usage)?;
        synthesizer
            .accepts(&loaded.waveform)
            .map_err(|why| failure_of(&why, path))?;
        if !is_whole {
            notices.push(format!(
                "only the first {heard} of {} are used",
                path.display()
            ));
        }
        recordings.push(loaded.waveform);
    }
    let voice = synthesizer.voice(&recordings).map_err(failure)?;
    Ok(Heard { voice, notices })
}

/// Returns the failure of a recording that has no voice in it, with its path.
fn failure_of(error: &InferError, path: &Path) -> Failure {
    Failure::Usage(Report::of(error).at(path.display().to_string()))
}
