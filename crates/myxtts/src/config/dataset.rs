//! Keys of `data` that name recordings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DatasetConfig {
    /// Folder of the training recordings.
    #[schemars(extend("x-unset" = "sample corpus", "x-path" = true))]
    pub(crate) train_data: Option<String>,
    /// Folder of the validation recordings.
    #[schemars(extend("x-unset" = "held-out split of train data", "x-path" = true))]
    pub(crate) val_data: Option<String>,
    /// Language of the recordings, where a line of the metadata does not say.
    #[schemars(extend("x-unset" = "the model's, else by the text's script, else asked for"))]
    pub(crate) language: Option<String>,
    /// What the columns of the metadata hold, in their order: `id`, `text`,
    /// `speaker`, `language`, `written` (the text before it was normalised), `-`.
    #[schemars(extend("x-unset" = "by content, shown in the report"))]
    pub(crate) columns: Option<Vec<String>>,
    /// Folder of what preparation writes.
    #[schemars(extend(
        "x-unset" = "myxtts in the dataset, else the cache folder when it may not be written to",
        "x-path" = true
    ))]
    pub(crate) prepared: Option<String>,
    /// Feature cache, for the codes of clips: content-addressed, verified, rebuilt
    /// when stale.
    pub(crate) cache: Cache,
    /// Share of bad clips above which training stops with the report.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) max_bad_fraction: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cache {
    None,
    Memory,
    Disk,
}

impl Default for DatasetConfig {
    fn default() -> Self {
        Self {
            train_data: None,
            val_data: None,
            language: None,
            columns: None,
            prepared: None,
            cache: Cache::Disk,
            max_bad_fraction: 0.01,
        }
    }
}
