//! Chooses the voice that a sentence is spoken in.
//!
//! A voice that was asked for decides. Without one it is the stored voice of the sentence's
//! speaker; if that is not stored, the voice of the sentence's own recording; and if there is
//! neither a speaker nor a recording, the first stored voice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use myxtts_audio::Waveform;
use myxtts_base::report;
use myxtts_infer::{InferError, Synthesizer, Voice, named_voices};
use myxtts_train::session::voice_file_name;

use super::sentences::Sentence;
use crate::error::Error;
use crate::voice::VoiceSource;

/// The voice chosen for a sentence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    Given,
    Stored(String),
    OwnRecording,
}

/// The voices of an evaluation.
#[derive(Debug)]
pub(super) struct Voices {
    /// The voice that was asked for.
    given: Option<VoiceSource>,
    /// The names of the voices stored with the checkpoint.
    stored: Vec<String>,
    checkpoint: PathBuf,
    made: BTreeMap<Choice, Voice>,
    /// The number of sentences for each choice.
    used: BTreeMap<Choice, usize>,
}

impl Voices {
    /// Returns the voice that was asked for, and those that the checkpoint offers.
    pub(super) fn of(given: Option<VoiceSource>, checkpoint: &Path) -> Result<Self, Error> {
        let stored = named_voices(checkpoint)?;
        Ok(Self {
            given,
            stored: stored.into_iter().map(|voice| voice.name).collect(),
            checkpoint: checkpoint.to_owned(),
            made: BTreeMap::new(),
            used: BTreeMap::new(),
        })
    }

    fn choice(&self, sentence: &Sentence) -> Option<Choice> {
        if self.given.is_some() {
            return Some(Choice::Given);
        }
        let is_of =
            |name: &&String, speaker: &str| *name == speaker || **name == voice_file_name(speaker);
        let stored = match &sentence.speaker {
            Some(speaker) => self.stored.iter().find(|name| is_of(name, speaker)),
            None => self.stored.first(),
        };
        match (stored, &sentence.recording) {
            (Some(name), _) => Some(Choice::Stored(name.clone())),
            (None, Some(_)) => Some(Choice::OwnRecording),
            (None, None) => None,
        }
    }

    /// Returns the voice of a sentence, and its name. `own` is the sentence's recording.
    pub(super) fn voice(
        &mut self,
        sentence: &Sentence,
        own: Option<&Waveform>,
        synthesizer: &mut Synthesizer,
    ) -> Result<(Voice, String), Error> {
        let Some(choice) = self.choice(sentence) else {
            return Err(self.whose(sentence));
        };
        *self.used.entry(choice.clone()).or_default() += 1;
        let name = choice.to_string();
        if let Some(made) = self.made.get(&choice) {
            return Ok((made.clone(), name));
        }
        let source = match &choice {
            Choice::Given => self.given.clone(),
            Choice::Stored(name) => Some(VoiceSource::named(Some(name), &self.checkpoint)?),
            Choice::OwnRecording => None,
        };
        let voice = match source {
            Some(source) => source.hear(synthesizer)?.voice,
            None => {
                let own: Vec<Waveform> = own.cloned().into_iter().collect();
                synthesizer.voice(&own)?
            }
        };
        if choice != Choice::OwnRecording {
            self.made.insert(choice, voice.clone());
        }
        Ok((voice, name))
    }

    fn whose(&self, sentence: &Sentence) -> Error {
        let has = match self.stored.is_empty() {
            true => "no voice is stored with the checkpoint".to_owned(),
            false => format!("the stored voices are {}", self.stored.join(", ")),
        };
        let speaker = match &sentence.speaker {
            Some(speaker) => format!("is spoken by {speaker}"),
            None => "names no speaker".to_owned(),
        };
        Error::Refused(report!(
            "whose voice? sentence {} {speaker}, and {has}", sentence.id;
            fix: "give a few seconds of a speaker with --speaker-wav FILE, or a stored voice \
                  with --speaker NAME"
        ))
    }

    /// Returns which voices were used, and how often.
    pub(super) fn in_words(&self) -> String {
        let used = self
            .used
            .iter()
            .map(|(choice, count)| match (choice, &self.given) {
                (Choice::Given, Some(source)) => source.words().join(", "),
                (choice, _) => format!("{choice} ({count})"),
            });
        used.collect::<Vec<_>>().join(", ")
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Given => f.write_str("as given"),
            Self::Stored(name) => write!(f, "stored {name}"),
            Self::OwnRecording => f.write_str("that of its own recording"),
        }
    }
}

/// Returns whether a recording has no voice in it: that is reported with its sentence and is not
/// fatal.
pub(super) fn has_no_voice(error: &InferError) -> bool {
    matches!(
        error,
        InferError::ShortReference { .. } | InferError::SilentReference { .. }
    )
}
