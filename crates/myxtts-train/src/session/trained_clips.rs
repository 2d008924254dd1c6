//! Identifies the clips a run is trained on, so that a resumed run notices when they have
//! changed.

use myxtts_base::report;
use myxtts_data::dataset::Corpus;
use myxtts_run::checkpoint::Checkpoint;
use serde::{Deserialize, Serialize};

use super::saving;
use super::training_data::TrainingData;
use crate::error::TrainError;

/// The name of the section in a manifest.
pub(crate) const SECTION: &str = "clips";

/// The clips of a run, by their number and hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrainedClips {
    train: Clips,
    validation: Clips,
}

/// Clips in their order: the batches of a run depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Clips {
    count: usize,
    blake3: String,
}

impl Clips {
    /// Hashes recordings by their contents and not by their paths: a dataset may be moved.
    fn of(corpus: &Corpus) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        let rows = corpus.clips.iter().zip(&corpus.contents);
        for ((clip, content), speaker) in rows.zip(&corpus.speakers) {
            add(content.as_ref().map_or(&[], |content| content.as_slice()));
            add(clip.text.as_bytes());
            add(clip.language.to_string().as_bytes());
            add(speaker.as_deref().unwrap_or_default().as_bytes());
        }
        Self {
            count: corpus.clips.len(),
            blake3: hasher.finalize().to_hex().to_string(),
        }
    }

    /// Describes how they differ from those of a checkpoint.
    fn changed_from(&self, then: &Self) -> String {
        let (before, now) = (then.count, self.count);
        match before == now {
            true => format!("{now} clips then and now, but with other recordings or texts"),
            false => format!("{before} clips then, {now} now"),
        }
    }
}

impl TrainedClips {
    /// Identifies the clips that a run learns from.
    pub(crate) fn of(training_data: &TrainingData) -> Self {
        Self {
            train: Clips::of(&training_data.train),
            validation: Clips::of(&training_data.validation),
        }
    }

    /// Compares the clips with those of a checkpoint, by the rules for its settings: other clips
    /// to train on are refused, other ones to validate on are reported.
    pub(crate) fn compare(&self, checkpoint: &Checkpoint) -> Result<Option<String>, TrainError> {
        // Checkpoints of schema 1 do not name their clips.
        if !checkpoint.manifest().sections.contains_key(SECTION) {
            return Ok(None);
        }
        let then: Self = saving::section(checkpoint, SECTION)?;
        if self.train != then.train {
            return Err(TrainError::Usage(report!(
                "the dataset has changed since the checkpoint of step {}", checkpoint.step();
                found: "to train on, {}", self.train.changed_from(&then.train);
                why: "batches are made from the clips by their place, so the run would silently \
                      become another one";
                fix: "put the dataset back as it was, or begin again on the new one with the \
                      weights of this run: --reset-training"
            )));
        }
        Ok((self.validation != then.validation).then(|| {
            format!(
                "the clips to validate on have changed since the checkpoint: {}; validation \
                 figures before and after are for different clips",
                self.validation.changed_from(&then.validation)
            )
        }))
    }
}
