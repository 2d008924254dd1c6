//! Runs every shape before the first step.
//!
//! A device compiles and tunes kernels for shapes it has not seen, which takes
//! longer than many steps. On the CPU nothing is compiled.

use std::fmt;
use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor};
use myxtts_data::schedule::{BucketShape, ConditioningSpec, Schedule};
use myxtts_device::Settling;
use myxtts_infer::ModelCard;
use myxtts_model::gpt::GptBatch;
use myxtts_run::signals::StopRequest;

use super::execute::MakeDeviceStage;
use crate::error::TrainError;
use crate::feed::{BatchStats, DeviceFeed, ShapeTracker, Shapes};
use crate::objective::{GptObjective, Objective};
use crate::optim::{AdamW, AdamWConfig};
use crate::placement::Placement;
use crate::train_loop::{LoopConfig, dry_run_steps};

/// How often every shape is run in the first round: the engine fuses operations once it has seen
/// them, and then launches another kernel.
const PASSES: usize = 2;

/// The fewest steps of a later round: fusion boundaries still move in the third step after a
/// sync.
const LEAST_STEPS: usize = 4;

/// The most rounds. Two have been enough so far, and a third confirmed it.
const ROUNDS: usize = 5;

/// The warm-up of the stage that trains the GPT.
#[derive(Clone)]
pub(crate) struct WarmUp {
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) placement: Placement,
    /// Whether rounds follow the first until nothing new is launched.
    pub(crate) settles: bool,
    /// Kernels take minutes to compile, so progress is reported and a stop is possible.
    pub(crate) listener: Listener,
    pub(crate) stop: StopRequest,
}

type Tell = dyn Fn(&str) + Send + Sync;

/// Receives progress in words.
#[derive(Clone, Default)]
pub struct Listener(Option<Arc<Tell>>);

impl Listener {
    /// Calls `tell` from whichever thread makes progress.
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// Reports progress to the listener.
    pub fn tell(&self, words: &str) {
        if let Some(tell) = &self.0 {
            tell(words);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Listener"
        } else {
            "nobody"
        })
    }
}

impl WarmUp {
    /// Returns a maker of device stages that have run every shape.
    pub(crate) fn device_stage(
        &self,
        make: MakeDeviceStage<DeviceFeed>,
        conditioning: ConditioningSpec,
        tracker: &Arc<ShapeTracker>,
    ) -> MakeDeviceStage<DeviceFeed> {
        let (warm_up, tracker) = (self.clone(), Arc::clone(tracker));
        Arc::new(move |device: &Device| {
            let mut feed = make(device)?;
            if *device == Device::flex() {
                let frames = feed.conditioning_frames(conditioning);
                for (shape, rows) in warm_up.schedule.shapes() {
                    tracker.see(Shapes {
                        rows: rows as usize,
                        text: shape.text.0 as usize,
                        codes: shape.audio.0 as usize,
                        frames,
                    });
                }
            } else {
                let who = one_of("data stage", device, &warm_up.placement.data);
                let shapes = warm_up.schedule.shapes().count();
                feed.warm_up(warm_up.shapes(&who, 1, shapes), conditioning)?;
            }
            if !warm_up.is_stopped() {
                tracker.end_warm_up();
            }
            Ok(feed)
        })
    }

    /// Takes whole steps in every shape, as a training begins, round after round until one
    /// launches nothing new: what the engine fuses depends on all it has fused before. They come
    /// before the state has moments of its own, so no more memory is held than by a step.
    pub(crate) fn model(
        &self,
        mut objective: GptObjective,
        adamw: AdamWConfig,
        loop_config: &LoopConfig,
        card: &ModelCard,
    ) -> Result<GptObjective, TrainError> {
        let device = objective.device().inner();
        if device == Device::flex() {
            return Ok(objective);
        }
        let who = one_of("model", &device, &self.placement.models);
        // GPUs that average among themselves could only do it with the others.
        let replicas = match self.placement.collective() {
            Some(_) => 1,
            None => self.placement.replicas() as usize,
        };
        let batch = |(shape, rows): (BucketShape, u32)| batch(shape, rows as usize, card, &device);
        let shapes = self.schedule.shapes().count();
        let mut settling = Settling::watch();
        for round in 1..=ROUNDS {
            let steps = match round {
                1 => PASSES * shapes,
                _ => shapes.max(LEAST_STEPS),
            };
            let batches = self.shapes(&who, round, steps).map(batch);
            objective = dry_run_steps(
                objective,
                vec![AdamW::new(adamw)],
                batches,
                loop_config,
                replicas,
            )?;
            if !self.settles || settling.is_settled() {
                break;
            }
        }
        Ok(objective)
    }

    /// Returns the shapes in turn for `steps` steps, reporting each as it is asked for.
    fn shapes(
        &self,
        who: &str,
        round: usize,
        steps: usize,
    ) -> impl Iterator<Item = (BucketShape, u32)> {
        let shapes = (0..steps).flat_map(|_| self.schedule.shapes());
        let shapes = shapes.zip(1..=steps).take_while(|_| !self.is_stopped());
        shapes.map(move |((shape, rows), number)| {
            self.listener
                .tell(&line(who, round, [number, steps], shape, rows));
            (shape, rows)
        })
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_asked()
    }
}

/// Names a device, with its number if there are several.
fn one_of<D: PartialEq>(what: &str, device: &D, devices: &[D]) -> String {
    match devices.iter().position(|other| other == device) {
        Some(index) if devices.len() > 1 => format!("{what} {} of {}", index + 1, devices.len()),
        _ => what.to_owned(),
    }
}

fn line(
    who: &str,
    round: usize,
    [number, steps]: [usize; 2],
    shape: BucketShape,
    rows: u32,
) -> String {
    let round = match round {
        1 => String::new(),
        _ => format!("round {round}, "),
    };
    format!(
        "warm-up, {who}: {round}{number} of {steps}: {rows} rows of {} text tokens and {} codes",
        shape.text.0, shape.audio.0
    )
}

/// Makes a full batch of no clips in particular. A thread of its own makes it, as in the
/// pipeline: what this thread begins would be fused with the step.
fn batch(
    shape: BucketShape,
    rows: usize,
    card: &ModelCard,
    device: &Device,
) -> (BatchStats, GptBatch) {
    let ids = |length: usize| Tensor::<2, Int>::ones([rows, length], device);
    let lengths = |length: usize| Tensor::<1, Int>::full([rows], length as i64, device);
    let (text, codes) = (shape.text.0 as usize, shape.audio.0 as usize);
    let frames = card.conditioning_mel.frames(card.conditioning.max).0;
    let make = || {
        let batch = GptBatch {
            text_bt: ids(text),
            text_lengths_b: lengths(text),
            codes_bm: ids(codes),
            code_lengths_b: lengths(codes),
            conditioning_bcs: Tensor::ones([rows, card.gpt.mel_bands, frames], device),
            prompts_b2: Some(Tensor::<2, Int>::zeros([rows, 2], device)),
        };
        // A failure here is reported to the step that reads the batch.
        let _ = device.sync();
        batch
    };
    let made = std::thread::scope(|scope| scope.spawn(make).join());
    let batch = made.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let stats = BatchStats {
        shapes: vec![(rows, shape)],
        ..BatchStats::default()
    };
    (stats, batch)
}

#[cfg(test)]
mod tests {
    use myxtts_data::schedule::BucketShape;
    use myxtts_data::units::{Codes, Tokens};

    use super::{line, one_of};

    #[test]
    fn a_shape_is_told_with_its_place_and_the_device_where_there_are_several() {
        let shape = BucketShape {
            text: Tokens(40),
            audio: Codes(120),
        };
        let told = |who: &str, round| line(who, round, [3, 16], shape, 8);
        assert_eq!(
            told(&one_of("model", &'a', &['a']), 1),
            "warm-up, model: 3 of 16: 8 rows of 40 text tokens and 120 codes"
        );
        assert_eq!(
            told("model", 2),
            "warm-up, model: round 2, 3 of 16: 8 rows of 40 text tokens and 120 codes"
        );
        assert_eq!(
            told(&one_of("data stage", &'b', &['a', 'b']), 1),
            "warm-up, data stage 2 of 2: 3 of 16: 8 rows of 40 text tokens and 120 codes"
        );
    }
}
