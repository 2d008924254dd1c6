//! Something to hear, as a stage renders it.

use myxtts_audio::{Mel, Waveform};
use myxtts_run::tensorboard::Histogram;
use serde::Serialize;

/// What was rendered at one step.
#[derive(Debug, Default)]
pub(crate) struct SampleSet {
    /// The kind of clips, for people.
    pub(crate) title: &'static str,
    /// The clips to listen to.
    pub(crate) clips: Vec<Sample>,
    /// Histograms of weights, by name.
    pub(crate) histograms: Vec<(String, Histogram)>,
    /// What could not be rendered, and why.
    pub(crate) missing: Vec<String>,
}

/// A clip to listen to.
#[derive(Debug)]
pub(crate) struct Sample {
    /// The name of the file in the folder of its step.
    pub(crate) name: String,
    pub(crate) waveform: Waveform,
    pub(crate) mel: Option<Mel>,
    /// What was said, if it is not a copy of a recording.
    pub(crate) utterance: Option<Utterance>,
}

/// A sentence spoken in a voice; `samples.json` lists them.
#[derive(Debug, Serialize)]
pub(crate) struct Utterance {
    pub(crate) text: String,
    pub(crate) speaker: String,
    pub(crate) codes: usize,
    /// Whether the model ended the sentence by itself.
    pub(crate) stopped: bool,
}
