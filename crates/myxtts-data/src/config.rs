//! The configuration keys that name recordings and bound the shapes of their
//! batches.
//!
//! Comments of variants are not doc comments: the JSON Schema would take them.

use myxtts_audio::units::{SampleRate, Samples};
use myxtts_config::units::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schedule::ConditioningSpec;

/// Keys of `data` that name recordings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetConfig {
    /// Folder of the training recordings.
    #[schemars(extend("x-unset" = "sample corpus", "x-path" = true))]
    pub train_data: Option<String>,
    /// Folder of the validation recordings.
    #[schemars(extend("x-unset" = "held-out split of train data", "x-path" = true))]
    pub val_data: Option<String>,
    /// Language of the recordings whose metadata does not name one.
    #[schemars(extend("x-unset" = "the model's, else by the text's script, else asked for"))]
    pub language: Option<String>,
    /// What the columns of the metadata hold, in order: `id`, `text`, `speaker`,
    /// `language`, `written` (the text before normalisation), or `-` (unused).
    #[schemars(extend("x-unset" = "by content, shown in the report"))]
    pub columns: Option<Vec<String>>,
    /// Folder that preparation writes to.
    #[schemars(extend(
        "x-unset" = "myxtts in the dataset, else the cache folder when it may not be written to",
        "x-path" = true
    ))]
    pub prepared: Option<String>,
    /// Where the codes of clips are cached. Entries are content-addressed, verified,
    /// and rebuilt when stale.
    pub cache: CacheKind,
    /// Split clips over `max_mel_frames` or `max_text_length` at pauses that fit the marks of
    /// their text, instead of leaving them out. What is not clear is still left out.
    pub split_long: bool,
    /// Training stops with the report if more than this share of the clips is bad.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_bad_fraction: f64,
}

/// Where features are kept from epoch to epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the schema would take the docs of variants")]
pub enum CacheKind {
    // Computed anew each time.
    None,
    // In this process.
    Memory,
    // In the prepared dataset's folder.
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
            cache: CacheKind::Disk,
            split_long: false,
            max_bad_fraction: 0.01,
        }
    }
}

/// Keys of `data` that bound the shapes of batches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShapeConfig {
    /// Number of mel bands, as in the public XTTS models.
    #[schemars(
        range(min = 80, max = 80),
        extend("x-only" = "the DVAE and the conditioning encoder read 80 mel bands, as the public models do")
    )]
    pub n_mels: u32,
    /// Longest text, in tokens; clips with longer text are left out and reported.
    #[schemars(range(min = 8, max = 402))]
    pub max_text_length: u32,
    /// Longest clip, in mel frames of 256 samples; longer clips are left out
    /// and reported.
    #[schemars(range(min = 16, max = 10_000))]
    pub max_mel_frames: u32,
    /// Number of length buckets, which are the closed set of batch shapes.
    #[schemars(range(min = 1, max = 64))]
    pub buckets: u32,
    /// Shortest conditioning segment, in seconds.
    #[schemars(range(min = 0.5, max = 30.0))]
    pub conditioning_min: Seconds,
    /// Longest conditioning segment, in seconds; shorter ones are padded to it.
    #[schemars(range(min = 0.5, max = 30.0))]
    pub conditioning_max: Seconds,
    /// What a conditioning segment is cut from: `clip`, the clip being learned, as in
    /// the public implementation; or `speaker`, another clip by the same speaker (clips
    /// without one count as one speaker's), which is how the model hears a voice when
    /// it speaks. If not set, the model size decides.
    pub conditioning_from: ConditioningFrom,
    /// Number of places within its first code (46 ms) at which a clip may begin while
    /// the GPT and the decoder are trained, drawn again in each epoch. The same audio then
    /// gives different codes, which keeps the model from memorising a small dataset. 1
    /// always begins at the beginning. If not set, the model size decides.
    #[schemars(range(min = 1, max = 16))]
    pub clip_beginnings: u32,
}

/// What the conditioning segment of a clip is cut from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the schema would take the docs of variants")]
pub enum ConditioningFrom {
    // The clip itself, as in the public implementation.
    Clip,
    // Another clip of its speaker, where there is one.
    Speaker,
}

impl Default for ShapeConfig {
    fn default() -> Self {
        Self {
            n_mels: 80,
            max_text_length: 200,
            max_mel_frames: 800,
            buckets: 8,
            conditioning_min: Seconds(3.0),
            conditioning_max: Seconds(6.0),
            conditioning_from: ConditioningFrom::Clip,
            clip_beginnings: 1,
        }
    }
}

impl ShapeConfig {
    /// Returns the lengths of conditioning segments at a sample rate.
    pub fn conditioning(&self, rate: SampleRate) -> ConditioningSpec {
        let samples = |length: Seconds| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at most half a minute"
            )]
            let samples = (length.0 * f64::from(rate.hz())) as usize;
            Samples(samples)
        };
        ConditioningSpec {
            min: samples(self.conditioning_min),
            max: samples(self.conditioning_max),
        }
    }
}
