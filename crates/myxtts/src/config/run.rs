//! Keys of `training` that say what to train, for how long, and where it goes.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunConfig {
    /// Name of the run, one plain folder name; its folder is `runs/NAME`.
    pub(crate) name: String,
    /// Folder of the run, in place of `runs/NAME`.
    #[schemars(extend("x-unset" = "runs/NAME", "x-path" = true))]
    pub(crate) checkpoint_dir: Option<String>,
    /// Parts of XTTS to train: one, a list of them, or `all` three. Where not
    /// given, a fresh run trains what can be heard, the DVAE and the GPT, and
    /// `init` the GPT alone: the waveform decoder takes longer than both.
    pub(crate) stage: Stages,
    /// Folder of imported or earlier weights to start from.
    #[schemars(extend("x-unset" = "none", "x-path" = true))]
    pub(crate) init: Option<String>,
    /// Passes over the training data, in every stage; where not given, the
    /// model size decides, and `tiny` takes more where the recordings are few: at
    /// least 760 steps of the DVAE and 1,600 of the GPT.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) epochs: u32,
    /// Passes of the DVAE stage, where they differ; `epochs` given by a person
    /// wins over a preset's.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) dvae_epochs: u32,
    /// Passes of the decoder stage, where they differ; `epochs` given by a
    /// person wins over a preset's.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) decoder_epochs: u32,
    /// Stop each stage after this many steps.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("x-unset" = "none"))]
    pub(crate) max_steps: Option<u64>,
    /// Seed of every random choice.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub(crate) seed: u64,
    /// Where to go on: `auto` at the newest checkpoint, `never`, or a step.
    pub(crate) resume: Resume,
    /// Start from step 0 with the weights of the checkpoint.
    pub(crate) reset_training: bool,
    /// Steps between two validations; 0 validates at the end of a stage only.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub(crate) validate_every: u64,
    /// Validations in a row without progress that end a stage; 0 never does.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(crate) patience: u64,
    /// Steps between two sets of samples; 0 samples at the end only.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub(crate) sample_every: u64,
    /// Sentences synthesised at the end. As many held-out ones, up to 12, are
    /// spoken first to choose how the model draws its codes; 0 leaves that as it is.
    #[schemars(range(min = 0, max = 1000))]
    pub(crate) sample_count: u32,
    /// The sentences, in the language of the recordings.
    #[schemars(extend("x-unset" = "some of the training data"))]
    pub(crate) sample_texts: Option<Vec<String>>,
    /// Steps between two checkpoints; 0 writes one at the end only.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub(crate) checkpoint_every: u64,
    /// Newest checkpoints that are kept; the best and the one a run resumed
    /// from stay besides.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) keep_checkpoints: u32,
    /// Steps between two lines of progress where the output is no terminal.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) log_every: u64,
    /// Parts of the GPT that are left as they are, by the start of their
    /// names: `text_embedding`, `gpt.h.0.`, `conditioning`.
    #[schemars(extend("x-unset" = "none"))]
    pub(crate) freeze: Option<Vec<String>>,
    /// File of the vocabulary of a new model.
    #[schemars(extend("x-unset" = "learned from the transcripts", "x-path" = true))]
    pub(crate) vocab: Option<String>,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            checkpoint_dir: None,
            stage: Stages::One(Stage::All),
            init: None,
            epochs: 100,
            dvae_epochs: 100,
            decoder_epochs: 100,
            max_steps: None,
            seed: 0,
            resume: Resume::Word(ResumeWord::Auto),
            reset_training: false,
            validate_every: 500,
            patience: 0,
            sample_every: 5000,
            sample_count: 12,
            sample_texts: None,
            checkpoint_every: 500,
            keep_checkpoints: 3,
            log_every: 10,
            freeze: None,
            vocab: None,
        }
    }
}

/// One word, or some of the parts. A word is kept as a word, so that files and
/// checkpoints say it as they always did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Stages {
    One(Stage),
    Some(Vec<Part>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stage {
    Dvae,
    Gpt,
    Decoder,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    Dvae,
    Gpt,
    Decoder,
}

impl RunConfig {
    /// Where the run is kept.
    pub(crate) fn folder(&self) -> PathBuf {
        run_folder(&self.name, self.checkpoint_dir.as_deref())
    }
}

/// Where a run of this name is kept, unless its folder was given.
pub(crate) fn run_folder(name: &str, checkpoint_dir: Option<&str>) -> PathBuf {
    match checkpoint_dir {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from("runs").join(name),
    }
}

impl Part {
    /// As people read it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Dvae => "DVAE",
            Self::Gpt => "GPT",
            Self::Decoder => "decoder",
        }
    }
}

impl Stages {
    /// The parts, each once and in the order they are trained in.
    pub(crate) fn parts(&self, is_chosen: bool, has_init: bool) -> Vec<Part> {
        let asked = match self {
            Self::One(Stage::All) if !is_chosen && has_init => vec![Part::Gpt],
            Self::One(Stage::All) if !is_chosen => vec![Part::Dvae, Part::Gpt],
            Self::One(Stage::All) => vec![Part::Dvae, Part::Gpt, Part::Decoder],
            Self::One(Stage::Dvae) => vec![Part::Dvae],
            Self::One(Stage::Gpt) => vec![Part::Gpt],
            Self::One(Stage::Decoder) => vec![Part::Decoder],
            Self::Some(parts) => parts.clone(),
        };
        let order = [Part::Dvae, Part::Gpt, Part::Decoder];
        order
            .into_iter()
            .filter(|part| asked.contains(part))
            .collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Resume {
    Word(ResumeWord),
    Step(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ResumeWord {
    Auto,
    Never,
}
