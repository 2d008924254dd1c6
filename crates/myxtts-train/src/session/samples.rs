//! Something to hear, as a stage renders it.

use myxtts_audio::{Mel, Waveform};
use myxtts_run::tensorboard::Histogram;
use serde::Serialize;

/// What was rendered of a step.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// What the clips are.
    pub(crate) title: &'static str,
    /// To listen to.
    pub(crate) clips: Vec<HeardClip>,
    /// How weights are spread, by name.
    pub(crate) histograms: Vec<(String, Histogram)>,
    /// What could not be rendered, and why.
    pub(crate) missing: Vec<String>,
}

/// One clip.
#[derive(Debug)]
pub(crate) struct HeardClip {
    /// Its file's name.
    pub(crate) name: String,
    pub(crate) waveform: Waveform,
    pub(crate) mel: Option<Mel>,
    /// What was said, where it is not a copy of a recording.
    pub(crate) spoken: Option<Spoken>,
}

/// A sentence in a voice; `samples.json` lists them.
#[derive(Debug, Serialize)]
pub(crate) struct Spoken {
    pub(crate) text: String,
    pub(crate) speaker: String,
    pub(crate) codes: usize,
    /// Whether the model ended by itself.
    pub(crate) stopped: bool,
}
