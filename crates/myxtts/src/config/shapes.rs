//! Keys of `data` that bound the shapes of batches.

use myxtts_config::units::Seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ShapeConfig {
    /// Number of mel bands, as in the public XTTS models.
    #[schemars(
        range(min = 80, max = 80),
        extend("x-only" = "the DVAE and the conditioning encoder read 80 mel bands, as the public models do")
    )]
    pub(crate) n_mels: u32,
    /// Longest text, in tokens; clips with longer text are left out and reported.
    #[schemars(range(min = 8, max = 402))]
    pub(crate) max_text_length: u32,
    /// Longest clip, in mel frames of 256 samples; longer clips are left out
    /// and reported.
    #[schemars(range(min = 16, max = 10_000))]
    pub(crate) max_mel_frames: u32,
    /// Number of length buckets, which are the closed set of batch shapes.
    #[schemars(range(min = 1, max = 64))]
    pub(crate) buckets: u32,
    /// Shortest conditioning segment, in seconds.
    #[schemars(range(min = 0.5, max = 30.0))]
    pub(crate) conditioning_min: Seconds,
    /// Longest conditioning segment, in seconds; shorter ones are padded to it.
    #[schemars(range(min = 0.5, max = 30.0))]
    pub(crate) conditioning_max: Seconds,
    /// What a conditioning segment is cut from: `clip`, the clip being learned, as in
    /// the public implementation; or `speaker`, another clip by the same speaker (clips
    /// without one count as one speaker's), which is how the model hears a voice when
    /// it speaks. If not set, the model size decides.
    pub(crate) conditioning_from: ConditioningFrom,
    /// Number of places within its first code (46 ms) at which a clip may begin while
    /// the GPT and the decoder are trained, drawn again in each epoch. The same audio then
    /// gives different codes, which keeps the model from memorising a small dataset. 1
    /// always begins at the beginning. If not set, the model size decides.
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
