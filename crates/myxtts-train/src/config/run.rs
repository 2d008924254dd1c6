//! Keys of `training` that say what to train, for how long, and where it goes.
//!
//! Comments of variants are not doc comments: the JSON Schema would take them.

use std::path::PathBuf;

use myxtts_config::{Layer, Origin};
use myxtts_run::config_diff::Policy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::resume::resume_rules;

/// Keys of `training` that say what to train, for how long, and where it goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunConfig {
    /// Name of the run, a plain folder name; the run is kept in `runs/NAME`.
    pub name: String,
    /// Folder of the run, instead of `runs/NAME`.
    #[schemars(extend("x-unset" = "runs/NAME", "x-path" = true))]
    pub checkpoint_dir: Option<String>,
    /// Parts of XTTS to train: one, a list of them, or `all` three. If not set, a new
    /// run trains the DVAE and the GPT, which is enough to hear it speak, and a run with
    /// `init` trains the GPT alone; the waveform decoder takes longer than both.
    pub stage: Stages,
    /// Folder of imported or earlier weights to start from.
    #[schemars(extend("x-unset" = "none", "x-path" = true))]
    pub init: Option<String>,
    /// Passes over the training data in every stage. If not set, the model size
    /// decides, and `tiny` makes more passes over a small dataset: at least 760 steps of
    /// the DVAE and 1,600 of the GPT.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub epochs: u32,
    /// Passes of the DVAE stage, if different from `epochs`. A value you set for `epochs`
    /// wins over a preset's value for this key.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub dvae_epochs: u32,
    /// Passes of the decoder stage, if different from `epochs`. A value you set for
    /// `epochs` wins over a preset's value for this key.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub decoder_epochs: u32,
    /// Stop each stage after this many steps.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("x-unset" = "none"))]
    pub max_steps: Option<u64>,
    /// Seed for every random choice.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub seed: u64,
    /// Checkpoint to resume from: `auto` takes the newest, a number that of this step,
    /// `never` none.
    pub resume: Resume,
    /// Start again from step 0 with the weights of the checkpoint.
    pub reset_training: bool,
    /// Steps between validations; 0 validates only at the end of a stage.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub validate_every: u64,
    /// Number of consecutive validations without improvement that ends a stage; 0 never
    /// ends one early.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub patience: u64,
    /// Steps between sets of samples; 0 samples only at the end.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub sample_every: u64,
    /// Number of sentences synthesised at the end. As many held-out sentences, up to 12,
    /// are spoken first to choose the sampling settings; 0 leaves these unchanged.
    #[schemars(range(min = 0, max = 1000))]
    pub sample_count: u32,
    /// Sentences to synthesise, in the language of the recordings.
    #[schemars(extend("x-unset" = "some of the training data"))]
    pub sample_texts: Option<Vec<String>>,
    /// Steps between checkpoints; 0 writes one only at the end.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub checkpoint_every: u64,
    /// Number of newest checkpoints to keep. The best one and the one a run resumed from
    /// are kept as well.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub keep_checkpoints: u32,
    /// Steps between lines of progress if the output is not a terminal.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub log_every: u64,
    /// Parts of the GPT that are not trained, by the start of their names:
    /// `text_embedding`, `gpt.h.0.`, `conditioning`.
    #[schemars(extend("x-unset" = "none"))]
    pub freeze: Option<Vec<String>>,
    /// Vocabulary file for a new model.
    #[schemars(extend("x-unset" = "learned from the transcripts", "x-path" = true))]
    pub vocab: Option<String>,
}

const LENGTH: Policy = Policy::Notice("the stage's length and its learning rates change with it");

resume_rules!(RESUME = "training": RunConfig {
    name: Policy::Free,
    checkpoint_dir: Policy::Free,
    stage: Policy::Refuse("the stages of a run are fixed; start another run with --init"),
    init: Policy::Free,
    epochs: LENGTH,
    dvae_epochs: LENGTH,
    decoder_epochs: LENGTH,
    max_steps: LENGTH,
    seed: Policy::REFUSED,
    resume: Policy::Free,
    reset_training: Policy::Free,
    validate_every: Policy::Free,
    patience: Policy::Free,
    sample_every: Policy::Free,
    sample_count: Policy::Free,
    sample_texts: Policy::Free,
    checkpoint_every: Policy::Free,
    keep_checkpoints: Policy::Free,
    log_every: Policy::Free,
    freeze: Policy::REFUSED,
    vocab: Policy::REFUSED,
});

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            checkpoint_dir: None,
            stage: Stages::One(StageWord::All),
            init: None,
            epochs: 100,
            dvae_epochs: 100,
            decoder_epochs: 100,
            max_steps: None,
            seed: 0,
            resume: Resume::AUTO,
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

/// Returns what `--quick` sets: a training that shows in a minute that everything
/// works. It is a person's choice, and what else the command line says wins.
pub fn quick_layer() -> Layer {
    Layer::from_one(
        &Origin::Flag("--quick".to_owned()),
        [
            ("training.max_steps", json!(20)),
            ("training.sample_count", json!(2)),
            ("training.checkpoint_every", json!(10)),
        ],
    )
}

/// One word, or some of the stages. A word is kept as a word, so that files and
/// checkpoints say it as they always did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the schema would take the docs of variants")]
pub enum Stages {
    One(StageWord),
    Some(Vec<StageName>),
}

/// A stage, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(description = "")]
#[expect(missing_docs, reason = "the schema would take the docs of variants")]
pub enum StageWord {
    Dvae,
    Gpt,
    Decoder,
    All,
}

/// A part of XTTS that is trained.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(description = "")]
#[expect(missing_docs, reason = "the schema would take the docs of variants")]
pub enum StageName {
    // Mel to codes and back.
    Dvae,
    // Text and a voice to codes.
    Gpt,
    // Latents of the GPT to a waveform.
    Decoder,
}

impl RunConfig {
    /// Returns the folder that the run is kept in.
    pub fn folder(&self) -> PathBuf {
        run_folder(&self.name, self.checkpoint_dir.as_deref())
    }
}

/// Returns where a run of this name is kept, unless its folder was given.
pub(crate) fn run_folder(name: &str, checkpoint_dir: Option<&str>) -> PathBuf {
    match checkpoint_dir {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from("runs").join(name),
    }
}

impl StageName {
    /// Every stage, in the order they are trained in.
    const ALL: [Self; 3] = [Self::Dvae, Self::Gpt, Self::Decoder];

    /// Returns the name as flags, files and logs spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dvae => "dvae",
            Self::Gpt => "gpt",
            Self::Decoder => "decoder",
        }
    }

    /// Returns the name as people read it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Dvae => "DVAE",
            Self::Gpt => "GPT",
            Self::Decoder => "decoder",
        }
    }
}

impl Stages {
    /// Returns the stages, each once and in the order they are trained in.
    pub fn names(&self, is_chosen: bool, has_init: bool) -> Vec<StageName> {
        use StageName::{Decoder, Dvae, Gpt};
        let asked = match self {
            Self::One(StageWord::All) if !is_chosen && has_init => vec![Gpt],
            Self::One(StageWord::All) if !is_chosen => vec![Dvae, Gpt],
            Self::One(StageWord::All) => StageName::ALL.to_vec(),
            Self::One(StageWord::Dvae) => vec![Dvae],
            Self::One(StageWord::Gpt) => vec![Gpt],
            Self::One(StageWord::Decoder) => vec![Decoder],
            Self::Some(stages) => stages.clone(),
        };
        let mut stages = StageName::ALL.to_vec();
        stages.retain(|stage| asked.contains(stage));
        stages
    }
}

/// Where a run resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the schema would take the docs of variants")]
pub enum Resume {
    Word(ResumeWord),
    Step(u64),
}

/// Where a run resumes, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(description = "")]
#[expect(missing_docs, reason = "the schema would take the docs of variants")]
pub enum ResumeWord {
    // At the newest checkpoint, if there is one.
    Auto,
    // From nothing; a run that is there is refused.
    Never,
}

impl Resume {
    /// At the newest checkpoint, if there is one.
    pub(crate) const AUTO: Self = Self::Word(ResumeWord::Auto);
}
