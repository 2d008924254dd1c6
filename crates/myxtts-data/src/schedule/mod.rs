//! Which clips form which batch.
//!
//! A pure function of (seed, epoch, step): independent of workers, cheap to
//! ask anywhere, every clip exactly once per epoch. All replicas of a step
//! share one bucket, so that none waits for a longer batch; a batch that its
//! clips do not fill keeps its shape and has empty rows.

mod beginning;
mod bucket;
mod companions;
mod conditioning;
mod cuts;
mod fill;
mod lattice;
mod nested;
mod permutation;

use serde::{Deserialize, Serialize};

pub use beginning::Beginnings;
pub use bucket::{BucketShape, ClipLength, bucket_of, choose_buckets, padding_percent};
pub use companions::Companions;
pub use conditioning::{ConditioningSegment, ConditioningSpec};
use fill::fill;
use permutation::{Permutation, key};

/// What each shuffle is for: the same numbers must never drive two choices.
const ORDER_OF_STEPS: u64 = 1;
const ORDER_OF_CLIPS: u64 = 2;

/// A clip, by its position in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClipIndex(pub u32);

/// The batches of every epoch.
#[derive(Clone, Debug)]
pub struct Schedule {
    seed: u64,
    replicas: u64,
    buckets: Vec<Bucket>,
    steps: u64,
}

#[derive(Clone, Debug)]
struct Bucket {
    shape: BucketShape,
    rows: u32,
    clips: Vec<ClipIndex>,
    /// The number of steps of the epoch before this bucket's, in bucket order.
    first_step: u64,
}

impl Bucket {
    fn steps(&self, replicas: u64) -> u64 {
        (self.clips.len() as u64).div_ceil(u64::from(self.rows) * replicas)
    }

    /// Returns the positions of all its rows in an epoch.
    fn padded(&self, replicas: u64) -> u64 {
        self.steps(replicas) * replicas * u64::from(self.rows) * self.shape.cost()
    }
}

/// One replica's part of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The index of the bucket.
    pub bucket: usize,
    /// The shape of its rows.
    pub shape: BucketShape,
    /// A clip for each row; the last rows of a bucket's last batch are empty.
    pub rows: Vec<Option<ClipIndex>>,
}

impl Schedule {
    /// Makes a schedule over clips of the given lengths.
    ///
    /// `batch_size` is the number of rows of the longest bucket; shorter ones get
    /// more, up to the same number of padded positions, and never more than `most`
    /// allows a shape, but at least one. A bucket gets up to a fifth less, and
    /// clips that would not fill a step move to a costlier bucket, where that
    /// leaves less padding; a bucket that all clips left is dropped. A clip that
    /// fits no bucket is an error that names it: nothing is left out here, and
    /// whoever leaves clips out reports them.
    pub fn within(
        lengths: &[ClipLength],
        shapes: &[BucketShape],
        batch_size: u32,
        replicas: u32,
        seed: u64,
        most: impl Fn(BucketShape) -> u32,
    ) -> Result<Self, ClipIndex> {
        let budget =
            shapes.iter().map(BucketShape::cost).max().unwrap_or(0) * u64::from(batch_size);
        let mut buckets: Vec<Bucket> = shapes
            .iter()
            .map(|shape| Bucket {
                shape: *shape,
                rows: u32::try_from(budget / shape.cost().max(1))
                    .unwrap_or(u32::MAX)
                    .min(most(*shape))
                    .max(1),
                clips: vec![],
                first_step: 0,
            })
            .collect();
        for (index, length) in (0..).zip(lengths) {
            let bucket = bucket_of(shapes, *length).ok_or(ClipIndex(index))?;
            buckets[bucket].clips.push(ClipIndex(index));
        }
        let replicas = u64::from(replicas.max(1));
        fill(&mut buckets, lengths, replicas);
        buckets.retain(|bucket| !bucket.clips.is_empty());
        let mut steps = 0;
        for bucket in &mut buckets {
            bucket.first_step = steps;
            steps += bucket.steps(replicas);
        }
        Ok(Self {
            seed,
            replicas,
            buckets,
            steps,
        })
    }

    /// Makes a schedule whose rows are bounded by their positions alone.
    pub fn new(
        lengths: &[ClipLength],
        shapes: &[BucketShape],
        batch_size: u32,
        replicas: u32,
        seed: u64,
    ) -> Result<Self, ClipIndex> {
        Self::within(lengths, shapes, batch_size, replicas, seed, |_| u32::MAX)
    }

    /// Returns the number of clips of a step, all replicas together: the fewest,
    /// the most, and the mean over an epoch. `None` without clips.
    pub fn clips_per_step(&self) -> Option<(u64, u64, f64)> {
        let (mut least, mut most, mut clips) = (u64::MAX, 0, 0);
        for bucket in &self.buckets {
            let count = bucket.clips.len() as u64;
            let full = u64::from(bucket.rows) * self.replicas;
            let last = count - (bucket.steps(self.replicas) - 1) * full;
            least = least.min(last);
            most = most.max(full.min(count));
            clips += count;
        }
        (self.steps > 0).then(|| (least, most, clips as f64 / self.steps as f64))
    }

    /// Returns the number of steps of an epoch, the same for every replica.
    pub fn steps_per_epoch(&self) -> u64 {
        self.steps
    }

    /// Yields the closed set of shapes, with the number of rows of a batch of each.
    pub fn shapes(&self) -> impl Iterator<Item = (BucketShape, u32)> {
        self.buckets
            .iter()
            .map(|bucket| (bucket.shape, bucket.rows))
    }

    /// Returns the batch of one replica at one step, or `None` past the epoch's end.
    pub fn batch(&self, epoch: u64, step: u64, replica: u32) -> Option<Batch> {
        if step >= self.steps || u64::from(replica) >= self.replicas {
            return None;
        }
        let order = Permutation::new(self.steps, key(&[self.seed, epoch, ORDER_OF_STEPS]));
        let slot = order.at(step);
        let index = self
            .buckets
            .partition_point(|bucket| bucket.first_step <= slot)
            - 1;
        let bucket = &self.buckets[index];
        let count = bucket.clips.len() as u64;
        let clips = Permutation::new(
            count,
            key(&[self.seed, epoch, ORDER_OF_CLIPS, index as u64]),
        );
        let first = (slot - bucket.first_step) * u64::from(bucket.rows) * self.replicas;
        // Row r of replica k is position r * replicas + k: a short last step
        // is short by the same number of rows, give or take one, everywhere.
        let row = |row: u32| {
            let position = first + u64::from(row) * self.replicas + u64::from(replica);
            let element = (position < count).then(|| clips.at(position))?;
            bucket.clips.get(usize::try_from(element).ok()?).copied()
        };
        Some(Batch {
            bucket: index,
            shape: bucket.shape,
            rows: (0..bucket.rows).map(row).collect(),
        })
    }

    /// Returns the mean positions of a replica's batch, padding and empty rows included.
    pub fn positions_per_batch(&self) -> f64 {
        let padded: u64 = self
            .buckets
            .iter()
            .map(|bucket| bucket.padded(self.replicas))
            .sum();
        padded as f64 / (self.steps * self.replicas).max(1) as f64
    }

    /// Returns the share of an epoch's positions, in percent, that are padding,
    /// empty rows included.
    pub fn padding_percent(&self, lengths: &[ClipLength]) -> f64 {
        let mut padded = 0_u64;
        let mut true_cost = 0_u64;
        for bucket in &self.buckets {
            padded += bucket.padded(self.replicas);
            for clip in &bucket.clips {
                let length = lengths.get(clip.0 as usize);
                true_cost += length.map_or(0, |length| length.cost());
            }
        }
        if padded == 0 {
            0.0
        } else {
            100.0 * (padded - true_cost) as f64 / padded as f64
        }
    }
}
