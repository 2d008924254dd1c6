//! Whether the largest bucket fits the model's memory budget, and what the
//! device holds once training goes.

use burn::tensor::Device;
use myxtts_data::schedule::{BucketShape, Schedule};
use myxtts_model::gpt::{BatchShape, GptConfig, TrainingMemory};

use super::origin::Origin;
use super::{Run, gpt_stage};
use crate::error::TrainError;
use crate::feed::Largest;

impl Run<'_> {
    /// Refuses, before anything is trained, what the model's budget cannot hold.
    pub(super) fn check_memory(&self, origin: &Origin) -> Result<(), TrainError> {
        let job = self.job;
        let Some(budget) = job.buffers.model_bytes else {
            return Ok(());
        };
        let card = origin
            .card
            .clone()
            .unwrap_or_else(|| gpt_stage::card_of(job, &self.material));
        let schedule = |batch_size: u32| {
            gpt_stage::schedule(job, &self.material, self.placement.replicas(), batch_size)
        };
        let batches = schedule(job.batch_size)?;
        let mel = &card.conditioning_mel;
        let largest = Largest::of(&batches, card.conditioning, mel);
        let demand = Demand {
            gpt: &card.gpt,
            frames: mel.frames(card.conditioning.max).0,
            waiting: largest.device * job.buffers.depth.max(1) as u64,
        };
        demand.check(&batches, job.batch_size, budget, schedule)
    }
}

/// What a training asks of a model device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand<'a> {
    /// The model.
    pub(super) gpt: &'a GptConfig,
    /// Frames of the conditioning mel.
    pub(super) frames: usize,
    /// Bytes of the batches that wait on the device.
    pub(super) waiting: u64,
}

/// The bucket that takes most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fullest {
    shape: BucketShape,
    rows: u32,
    memory: TrainingMemory,
}

impl Demand<'_> {
    fn fullest(&self, schedule: &Schedule) -> Option<Fullest> {
        let all = schedule.shapes().map(|(shape, rows)| {
            let sample = BatchShape {
                text: shape.text.0 as usize,
                codes: shape.audio.0 as usize,
                frames: self.frames,
            };
            Fullest {
                shape,
                rows,
                memory: TrainingMemory::of(self.gpt, sample, rows as usize),
            }
        });
        all.max_by_key(|bucket| bucket.memory.total())
    }

    fn bytes(&self, schedule: &Schedule) -> u64 {
        let fullest = self.fullest(schedule);
        self.waiting + fullest.map_or(0, |bucket| bucket.memory.total())
    }

    /// Refuses a schedule that needs more than `budget`. `with_batch_size`
    /// makes the schedule of another batch size, to name one that fits.
    pub(super) fn check(
        &self,
        schedule: &Schedule,
        batch_size: u32,
        budget: u64,
        with_batch_size: impl Fn(u32) -> Result<Schedule, TrainError>,
    ) -> Result<(), TrainError> {
        let Some(fullest) = self.fullest(schedule) else {
            return Ok(());
        };
        let needed = self.bytes(schedule);
        if needed <= budget {
            return Ok(());
        }
        // Needs grow with the batch size: the largest that fits by halving.
        let (mut fits, mut too_large) = (0, batch_size);
        while too_large - fits > 1 {
            let middle = fits + (too_large - fits) / 2;
            match self.bytes(&with_batch_size(middle)?) <= budget {
                true => fits = middle,
                false => too_large = middle,
            }
        }
        let fix = match fits {
            0 => format!(
                "no batch size fits: give --model-gpu-memory {} or more, or a smaller --model-size",
                megabytes(self.bytes(&with_batch_size(1)?))
            ),
            fits => format!(
                "--batch-size {fits} is the largest that fits (--grad-accum keeps the effective \
                 batch), or give --model-gpu-memory {}",
                megabytes(needed)
            ),
        };
        let TrainingMemory {
            parameters,
            gradients,
            moments,
            activations,
        } = fullest.memory;
        Err(TrainError::Usage(format!(
            "training needs {} MB of a model device, and its budget is {} MB\n  asked: --batch-size \
             {batch_size}, --model-gpu-memory {} under memory isolation\n  found: the bucket of {} \
             text tokens and {} codes has {} rows: weights {} MB, gradients {} MB, AdamW {} MB, \
             activations {} MB, waiting batches {} MB\n  fix:   {fix}",
            megabytes(needed),
            budget / MEGABYTE,
            budget / MEGABYTE,
            fullest.shape.text.0,
            fullest.shape.audio.0,
            fullest.rows,
            megabytes(parameters),
            megabytes(gradients),
            megabytes(moments),
            megabytes(activations),
            megabytes(self.waiting),
        )))
    }
}

const MEGABYTE: u64 = 1024 * 1024;

/// Rounded up: a budget of the number shown is enough.
fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(MEGABYTE)
}

/// Steps after which a device has what it needs: the first allocates moments.
const SETTLED: u64 = 2;
/// Steps between two looks after that.
const LOOK_EVERY: u64 = 50;
/// How much more is worth a warning.
const GROWTH_PERCENT: u64 = 20;

/// Watches the memory that the engine holds on a model device. Pools belong to
/// threads, so this is asked on the thread that trains.
#[derive(Debug, Default)]
pub(super) struct PoolWatch {
    steps: u64,
    settled: Option<u64>,
    held: Option<u64>,
    warned: bool,
}

impl PoolWatch {
    /// After a step; the line there is to say.
    pub(super) fn after(&mut self, device: &Device) -> Option<String> {
        self.steps += 1;
        let is_due = self.steps == SETTLED || self.steps.is_multiple_of(LOOK_EVERY);
        if !is_due {
            return None;
        }
        let usage = device.clone().inner().memory_pool_usage()?;
        self.held = Some(usage.bytes_reserved);
        self.see(usage.bytes_reserved)
    }

    /// Bytes on the device when it was last looked at; `None` where a device
    /// is the host.
    pub(super) fn held(&self) -> Option<u64> {
        self.held
    }

    fn see(&mut self, reserved: u64) -> Option<String> {
        let Some(settled) = self.settled else {
            self.settled = Some(reserved);
            return Some(format!(
                "device memory after the warm-up: {} MB reserved by the engine",
                megabytes(reserved)
            ));
        };
        if self.warned {
            return None;
        }
        self.warned = reserved > settled + settled * GROWTH_PERCENT / 100;
        self.warned.then(|| {
            format!(
                "device memory has grown from {} MB to {} MB since the warm-up: shapes that were \
                 not warmed up, or a leak; `shapes after warm-up` at the end tells them apart",
                megabytes(settled),
                megabytes(reserved)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use myxtts_data::schedule::ClipLength;
    use myxtts_data::units::{Codes, Tokens};
    use myxtts_model::ModelSize;
    use myxtts_model::gpt::Vocabulary;

    use super::*;

    fn schedule(batch_size: u32) -> Result<Schedule, TrainError> {
        let length = |text, audio| ClipLength {
            text: Tokens(text),
            audio: Codes(audio),
        };
        let lengths: Vec<ClipLength> = (0..64).map(|i| length(20 + i, 40 + 2 * i)).collect();
        let shapes = myxtts_data::schedule::choose_buckets(&lengths, 2);
        Schedule::new(&lengths, &shapes, batch_size, 1, 0)
            .map_err(|clip| TrainError::Failed(format!("{clip:?}")))
    }

    fn check(budget_mb: u64, batch_size: u32) -> Result<(), TrainError> {
        let gpt = ModelSize::Tiny.gpt(Vocabulary::XTTS_V2);
        let demand = Demand {
            gpt: &gpt,
            frames: 517,
            waiting: 3 * MEGABYTE,
        };
        let budget = budget_mb * MEGABYTE;
        demand.check(&schedule(batch_size)?, batch_size, budget, schedule)
    }

    #[test]
    fn a_bucket_that_does_not_fit_names_the_batch_size_that_does() {
        insta::assert_snapshot!(check(1024, 32).unwrap_err());
        check(1_000_000, 32).unwrap();
    }

    #[test]
    fn a_model_that_fits_with_no_batch_size_asks_for_memory() {
        insta::assert_snapshot!(check(64, 32).unwrap_err());
    }

    /// The number in the fix is the border: it fits, and one more does not.
    #[test]
    fn the_batch_size_named_is_the_largest() {
        let words = check(1024, 32).unwrap_err().to_string();
        let (_, rest) = words.split_once("fix:   --batch-size ").unwrap();
        let named: u32 = rest.split(' ').next().unwrap().parse().unwrap();
        check(1024, named).unwrap();
        check(1024, named + 1).unwrap_err();
    }

    #[test]
    fn growth_is_told_once() {
        let mut watch = PoolWatch::default();
        insta::assert_snapshot!(watch.see(100 * MEGABYTE).unwrap());
        assert_eq!(watch.see(119 * MEGABYTE), None);
        insta::assert_snapshot!(watch.see(130 * MEGABYTE).unwrap());
        assert!(watch.warned);
    }
}
