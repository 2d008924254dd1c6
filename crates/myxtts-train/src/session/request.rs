//! What a training is asked for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use myxtts_data::prepare::Reading;
use myxtts_device::Plan;
use myxtts_text::Vocabulary;

use crate::config::{Config, Sizes};

/// A training: its configuration, what the plan made of it, and what it learns
/// from.
#[derive(Clone, Debug)]
pub struct TrainRequest {
    /// The configuration in force.
    pub config: Config,
    /// Its keys that a person chose, as opposed to defaults and presets.
    pub chosen: BTreeSet<String>,
    /// The configuration as people read it, with the origin of every value.
    pub config_text: String,
    /// Devices, batches and buffers.
    pub plan: Plan,
    /// The recordings.
    pub dataset: PreparedDataset,
    /// Sizes of a new model; the vocabulary is that of the texts.
    pub sizes: Sizes,
    /// Sizes of the segments that are cut from clips.
    pub segments: SegmentSizes,
}

impl TrainRequest {
    /// Returns the folder that the run is kept in.
    pub fn folder(&self) -> PathBuf {
        self.config.training.run.folder()
    }
}

/// The recordings of a training, prepared.
#[derive(Clone, Debug, Default)]
pub struct PreparedDataset {
    /// The folder that preparation wrote.
    pub folder: PathBuf,
    /// The same of the recordings to validate on, in place of held-out clips.
    pub validation: Option<PathBuf>,
    /// The vocabulary a person named, which texts were counted with.
    pub vocabulary: Option<Arc<Vocabulary>>,
    /// The language that preparation decided on, where it was made for this
    /// training.
    pub language: Option<String>,
    /// Keeps the prepared folders as they are until they are read.
    pub reading: Reading,
}

/// Sizes of the segments that the DVAE and the decoder learn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSizes {
    /// Mel frames of a segment of the DVAE.
    pub dvae_frames: usize,
    /// Segments in a batch of the DVAE.
    pub dvae_batch: u32,
    /// Mel frames of a segment of the decoder; a code is some four.
    pub decoder_frames: usize,
}

impl Default for SegmentSizes {
    fn default() -> Self {
        Self {
            dvae_frames: 64,
            dvae_batch: 16,
            // 0.37 s, as HiFi-GAN has it.
            decoder_frames: 35,
        }
    }
}
