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
    /// Language of the recordings whose metadata does not name one.
    #[schemars(extend("x-unset" = "the model's, else by the text's script, else asked for"))]
    pub(crate) language: Option<String>,
    /// What the columns of the metadata hold, in order: `id`, `text`, `speaker`,
    /// `language`, `written` (the text before normalisation), or `-` (unused).
    #[schemars(extend("x-unset" = "by content, shown in the report"))]
    pub(crate) columns: Option<Vec<String>>,
    /// Folder that preparation writes to.
    #[schemars(extend(
        "x-unset" = "myxtts in the dataset, else the cache folder when it may not be written to",
        "x-path" = true
    ))]
    pub(crate) prepared: Option<String>,
    /// Where the codes of clips are cached. Entries are content-addressed, verified,
    /// and rebuilt when stale.
    pub(crate) cache: Cache,
    /// Training stops with the report if more than this share of the clips is bad.
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
