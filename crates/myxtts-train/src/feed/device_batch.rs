//! A batch on a device, with what the host knows about it.

use myxtts_audio::units::Samples;
use myxtts_data::host_stage::HostBatch;
use myxtts_data::schedule::{BucketShape, ClipIndex};

/// A batch, with facts that need not be read back from the device.
#[derive(Clone, Debug)]
pub struct DeviceBatch<B> {
    /// The tensors, on the device.
    pub batch: B,
    /// The facts, on the host.
    pub stats: BatchStats,
}

/// What the host knows about a batch, or about all batches of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchStats {
    /// The clips in the batch.
    pub clips: Vec<ClipIndex>,
    /// The number of targets that each part of the loss is the mean of. The batches of one step
    /// are weighted by it.
    pub targets: Vec<usize>,
    /// Audio in the batch, without padding.
    pub audio: Samples,
    /// Positions that are not padding.
    pub used: u64,
    /// All positions, padding and empty rows included.
    pub padded: u64,
    /// Rows and shape of each batch.
    pub shapes: Vec<(usize, BucketShape)>,
}

impl BatchStats {
    /// Adds another batch of the same step.
    pub fn join(&mut self, other: &Self) {
        self.clips.extend(&other.clips);
        if self.targets.len() < other.targets.len() {
            self.targets.resize(other.targets.len(), 0);
        }
        for (sum, targets) in self.targets.iter_mut().zip(&other.targets) {
            *sum += targets;
        }
        self.audio.0 += other.audio.0;
        self.used += other.used;
        self.padded += other.padded;
        self.shapes.extend(&other.shapes);
    }

    /// Gathers the facts of a host batch whose losses have these targets.
    pub(super) fn of(host: &HostBatch, targets: Vec<usize>) -> Self {
        let audio: usize = host.wave_lengths().iter().map(|length| length.0).sum();
        let codes = myxtts_data::units::Codes::of;
        let rows = host.wave_lengths().iter().zip(host.text_lengths());
        let used = rows.map(|(wave, text)| u64::from(codes(*wave).0) + u64::from(text.0));
        Self {
            clips: host.clips().iter().flatten().copied().collect(),
            targets,
            audio: Samples(audio),
            used: used.sum(),
            padded: host.rows() as u64 * host.shape().cost(),
            shapes: vec![(host.rows(), host.shape())],
        }
    }
}
