//! Keys of `training` that say what to train, for how long, and where it goes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RunConfig {
    /// Name of the run; its folder is `runs/NAME`.
    pub(crate) name: String,
    /// Folder of the run, in place of `runs/NAME`.
    #[schemars(extend("x-unset" = "runs/NAME"))]
    pub(crate) checkpoint_dir: Option<String>,
    /// Parts of XTTS to train; `all` trains the DVAE, then the GPT, then the
    /// decoder.
    pub(crate) stage: Stage,
    /// Folder of imported or earlier weights to start from.
    #[schemars(extend("x-unset" = "none"))]
    pub(crate) init: Option<String>,
    /// Passes over the training data.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) epochs: u32,
    /// Stop after this many steps.
    #[schemars(range(min = 1, max = 1_000_000_000), extend("x-unset" = "none"))]
    pub(crate) max_steps: Option<u64>,
    /// Seed of every random choice.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991_u64))]
    pub(crate) seed: u64,
    /// Where to go on: `auto` at the newest checkpoint, `never`, or a step.
    pub(crate) resume: Resume,
    /// Start from step 0 with the weights of the checkpoint.
    pub(crate) reset_training: bool,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            checkpoint_dir: None,
            stage: Stage::All,
            init: None,
            epochs: 100,
            max_steps: None,
            seed: 0,
            resume: Resume::Word(ResumeWord::Auto),
            reset_training: false,
        }
    }
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
