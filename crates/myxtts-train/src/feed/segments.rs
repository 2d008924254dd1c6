//! What the DVAE learns from: random segments of clips.
//!
//! A clip gives one segment an epoch, cut where the schedule's draw of a conditioning segment
//! falls: the host stage has only one way to cut.

use std::time::Duration;

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::units::Samples;
use myxtts_audio::{MelError, MelSpec};
use myxtts_data::host_stage::{HostBatch, PreparedBatch};
use myxtts_data::schedule::{BucketShape, ClipIndex, ClipLength, ConditioningSpec, Schedule};
use myxtts_data::units::{Codes, Tokens};
use myxtts_model::mel::{Mels, Upload};
use myxtts_pipeline::{DeviceStage, Ticket};

use super::device::FrontEnd;
use super::device_batch::{BatchStats, DeviceBatch};
use super::uploads::Uploads;

/// Mel segments on a device.
#[derive(Clone, Debug)]
pub struct SegmentBatch {
    /// The mels, `(batch, bands, frames)`.
    pub mel_bct: Tensor<3>,
    /// 1 for a row that holds a clip, 0 for an empty one.
    pub rows_b: Tensor<1>,
}

impl SegmentBatch {
    /// Moves the batch to another device.
    #[must_use]
    pub fn to_device(self, device: &Device) -> Self {
        Self {
            mel_bct: self.mel_bct.to_device(device),
            rows_b: self.rows_b.to_device(device),
        }
    }
}

/// Returns the spec of segments of exactly `frames` frames.
pub fn segment_spec(frames: usize, mel: &MelSpec) -> ConditioningSpec {
    let samples = Samples(frames * mel.hop.0);
    ConditioningSpec {
        min: samples,
        max: samples,
    }
}

/// Makes a schedule of clips for segments. It has one shape, since what is not in the segment is
/// not used.
pub fn segment_schedule(
    lengths: &[ClipLength],
    batch_size: u32,
    replicas: u32,
    seed: u64,
) -> Result<Schedule, ClipIndex> {
    let longest = |part: fn(&ClipLength) -> u32| lengths.iter().map(part).max().unwrap_or(1);
    let shape = BucketShape {
        text: Tokens(longest(|length| length.text.0)),
        audio: Codes(longest(|length| length.audio.0)),
    };
    Schedule::new(lengths, &[shape], batch_size, replicas, seed)
}

/// Makes batches of segments on one device.
#[derive(Debug)]
pub struct SegmentFeed {
    uploads: Uploads,
    mel: Mels,
    frames: usize,
}

impl SegmentFeed {
    /// Makes a feed of segments of `frames` frames.
    pub fn new(device: &Device, front_end: &FrontEnd, frames: usize) -> Result<Self, MelError> {
        Ok(Self {
            mel: Mels::new(front_end.codes, front_end.stats.as_deref(), device)?,
            uploads: Uploads::to(device),
            frames,
        })
    }

    /// Makes the segments of a batch.
    pub fn batch(&mut self, host: &HostBatch) -> Result<SegmentBatch, String> {
        let rows = host.rows();
        let mel_bct = self
            .mel
            .forward(host.conditioning_bs(), rows, &self.uploads)
            .map_err(|why| why.to_string())?;
        let present: Vec<f32> = host
            .clips()
            .iter()
            .map(|clip| if clip.is_some() { 1.0 } else { 0.0 })
            .collect();
        let batch = SegmentBatch {
            // A centred mel has one frame more than the segment has hops.
            mel_bct: mel_bct.narrow(2, 0, self.frames),
            rows_b: (&self.uploads).upload(TensorData::new(present, [rows])),
        };
        let one = batch.mel_bct.clone().slice([0..1, 0..1, 0..1]);
        one.try_into_data().map_err(|why| why.to_string())?;
        Ok(batch)
    }
}

impl DeviceStage for SegmentFeed {
    type Buffer = PreparedBatch;
    type Batch = DeviceBatch<SegmentBatch>;

    fn process(
        &mut self,
        _ticket: Ticket,
        filled: &PreparedBatch,
    ) -> Result<DeviceBatch<SegmentBatch>, String> {
        let host = &filled.batch;
        let clips = host.clips().iter().flatten().count();
        let mut stats = BatchStats::of(host, vec![clips]);
        // Only the segments are trained on.
        stats.audio = Samples(clips * host.conditioning_per_row());
        stats.used = (clips * self.frames) as u64;
        stats.padded = (host.rows() * self.frames) as u64;
        Ok(DeviceBatch {
            batch: self.batch(host)?,
            stats,
        })
    }

    fn bytes(&self, device_batch: &DeviceBatch<SegmentBatch>) -> u64 {
        let [rows, bands, frames] = device_batch.batch.mel_bct.dims();
        (rows * (bands * frames + 1) * size_of::<f32>()) as u64
    }

    fn uploading(&mut self) -> Option<Duration> {
        Some(self.uploads.take_spent())
    }
}
