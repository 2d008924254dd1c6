//! Keys of `data` that bound the shapes of batches.

use myxtts_config::units::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ShapeConfig {
    /// Mel bands: those of the public XTTS models.
    #[schemars(
        range(min = 80, max = 80),
        extend("x-only" = "the DVAE and the conditioning encoder read 80 mel bands, as the public models do")
    )]
    pub(crate) n_mels: u32,
    /// Longest text, in tokens; longer clips are left out and named.
    #[schemars(range(min = 8, max = 402))]
    pub(crate) max_text_length: u32,
    /// Longest clip, in mel frames of 256 samples; longer clips are left out
    /// and named.
    #[schemars(range(min = 16, max = 10_000))]
    pub(crate) max_mel_frames: u32,
    /// Number of length buckets, the closed set of batch shapes.
    #[schemars(range(min = 1, max = 64))]
    pub(crate) buckets: u32,
    /// Shortest conditioning segment, in seconds.
    #[schemars(range(min = 0.5, max = 30.0))]
    pub(crate) conditioning_min: Seconds,
    /// Longest conditioning segment, in seconds; shorter ones are padded to it.
    #[schemars(range(min = 0.5, max = 30.0))]
    pub(crate) conditioning_max: Seconds,
    /// What a conditioning segment is cut from: the `clip` that is learned, as
    /// the public implementation has it, or another clip of its `speaker` (clips
    /// without one count as one speaker's), as the model will hear a voice when it
    /// speaks; where not given, the model size decides.
    pub(crate) conditioning_from: ConditioningFrom,
    /// Places within its first code (46 ms) where a clip may begin while the GPT
    /// and the decoder learn, drawn anew in each epoch: the same sound becomes other
    /// codes, and few recordings are not learned by heart. 1 is its beginning
    /// always; where not given, the model size decides.
    #[schemars(range(min = 1, max = 16))]
    pub(crate) clip_beginnings: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ConditioningFrom {
    Clip,
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
