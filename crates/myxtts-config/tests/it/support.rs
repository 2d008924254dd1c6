//! A small configuration with one key of every kind.

use myxtts_config::{Alias, Keys, Meaning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Config {
    pub data: Data,
    pub training: Training,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Data {
    /// Clips per batch.
    #[schemars(range(min = 1, max = 512))]
    pub batch_size: u32,
    /// Language of the recordings.
    pub language: String,
    /// Feature cache.
    pub cache: Cache,
    /// Worker threads.
    #[schemars(range(min = 1, max = 64))]
    pub num_workers: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    None,
    Memory,
    Disk,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Training {
    /// Step size of the optimizer.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub learning_rate: f64,
    /// Kernel fusion.
    pub enable_graph_mode: bool,
    /// GPUs that may be used.
    #[schemars(extend("x-unset" = "all"))]
    pub visible_gpus: Option<Vec<u32>>,
    /// Where to resume.
    pub resume: Resume,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Resume {
    Word(ResumeWord),
    Step(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeWord {
    /// From the newest checkpoint.
    Auto,
    /// From zero.
    Never,
}

impl Default for Data {
    fn default() -> Self {
        Self {
            batch_size: 16,
            language: "en".into(),
            cache: Cache::Disk,
            num_workers: None,
        }
    }
}

impl Default for Training {
    fn default() -> Self {
        Self {
            learning_rate: 1e-3,
            enable_graph_mode: true,
            visible_gpus: None,
            resume: Resume::Word(ResumeWord::Auto),
        }
    }
}

pub fn keys() -> Keys {
    Keys::of::<Config>(&[
        Alias {
            name: "data.enable_xla",
            meaning: Meaning::Same("training.enable_graph_mode"),
        },
        Alias {
            name: "training.eager",
            meaning: Meaning::Not("training.enable_graph_mode"),
        },
        Alias {
            name: "data.mixed",
            meaning: Meaning::Words {
                key: "data.cache",
                yes: "memory",
                no: "none",
            },
        },
        Alias {
            name: "data.native",
            meaning: Meaning::AlwaysOn {
                why: "the native loader is the only one",
            },
        },
    ])
}
