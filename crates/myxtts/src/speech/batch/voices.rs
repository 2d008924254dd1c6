//! The voices of the lines, each made once.

use std::collections::BTreeMap;
use std::path::PathBuf;

use myxtts_base::Report;
use myxtts_infer::Synthesizer;

use super::lines::Wish;
use super::settings;
use crate::error::Error;
use crate::voice::{Heard, VoiceSource};

/// The number of voices kept at a time, a few hundred kilobytes each. Files of lines are usually
/// sorted by speaker or have only a few speakers.
const MOST_VOICES: usize = 256;

/// A voice, ready to speak.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) heard: Heard,
    /// Whose voice it is, in words.
    pub(super) words: String,
    /// The hash of the voice's numbers.
    pub(super) hash: String,
}

pub(super) struct Voices {
    /// The voice of lines that do not name one.
    usual: Option<VoiceSource>,
    checkpoint: PathBuf,
    /// The voices, or why one cannot be had: that is tried once and reported for each of its
    /// lines.
    known: BTreeMap<Option<Wish>, Result<Known, Report>>,
}

impl Voices {
    pub(super) fn new(usual: Option<VoiceSource>, checkpoint: PathBuf) -> Self {
        Self {
            usual,
            checkpoint,
            known: BTreeMap::new(),
        }
    }

    /// Returns the voice that a line asks for.
    pub(super) fn get(
        &mut self,
        wish: Option<&Wish>,
        synthesizer: &mut Synthesizer,
    ) -> Result<Known, Error> {
        let wish = wish.cloned();
        if let Some(known) = self.known.get(&wish) {
            return known.clone().map_err(Error::Refused);
        }
        if self.known.len() >= MOST_VOICES {
            self.known.clear();
        }
        let made = self.make(wish.as_ref(), synthesizer);
        let kept = made.map_err(Error::into_report);
        self.known.insert(wish, kept.clone());
        kept.map_err(Error::Refused)
    }

    fn make(&self, wish: Option<&Wish>, synthesizer: &mut Synthesizer) -> Result<Known, Error> {
        let source = match (wish, &self.usual) {
            (Some(Wish::Speaker(name)), _) => VoiceSource::named(Some(name), &self.checkpoint)?,
            (Some(Wish::Voice(path)), _) => VoiceSource::file(path)?,
            (Some(Wish::Recordings(paths)), _) => VoiceSource::recordings(paths.clone())?,
            (None, Some(usual)) => usual.clone(),
            (None, None) => VoiceSource::named(None, &self.checkpoint)?,
        };
        let heard = source.hear(synthesizer)?;
        Ok(Known {
            hash: settings::voice(&heard.voice)?,
            words: source.words().join(", "),
            heard,
        })
    }
}
