//! Every shape before the first step.
//!
//! A device compiles and tunes kernels for shapes it has not seen, which takes
//! longer than many steps. On the CPU nothing is compiled.

use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor};
use myxtts_data::schedule::{BucketShape, ConditioningSpec, Schedule};
use myxtts_infer::ModelCard;
use myxtts_model::gpt::GptBatch;

use crate::error::TrainError;
use crate::feed::{DeviceFeed, ShapeWatch, Shapes};
use crate::looping::{Recipe, rehearse};
use crate::optim::{AdamW, AdamWConfig};
use crate::placement::Placement;
use crate::stage_run::MakeSite;
use crate::trainee::{GptTrainee, Trainee};

/// A maker of the device stage that has met every shape.
pub(super) fn site(
    make: MakeSite<DeviceFeed>,
    schedule: &Arc<Schedule>,
    conditioning: ConditioningSpec,
    watch: &Arc<ShapeWatch>,
) -> MakeSite<DeviceFeed> {
    let (schedule, watch) = (Arc::clone(schedule), Arc::clone(watch));
    Arc::new(move |device: &Device| {
        let mut feed = make(device)?;
        if *device == Device::flex() {
            let frames = feed.conditioning_frames(conditioning);
            for (shape, rows) in schedule.shapes() {
                watch.see(Shapes {
                    rows: rows as usize,
                    text: shape.text.0 as usize,
                    codes: shape.audio.0 as usize,
                    frames,
                });
            }
            watch.end_warm_up();
        } else {
            feed.warm_up(&schedule, conditioning)?;
        }
        Ok(feed)
    })
}

/// Times every shape is met: the engine fuses operations once it has seen
/// them, and what it launches then is another kernel.
const PASSES: usize = 2;

/// Whole steps in every shape. They come before the state has moments of its
/// own, so no more memory is held than by a step.
pub(super) fn model(
    trainee: GptTrainee,
    adamw: AdamWConfig,
    recipe: &Recipe,
    schedule: &Schedule,
    card: &ModelCard,
    placement: &Placement,
) -> Result<GptTrainee, TrainError> {
    let device = trainee.device().inner();
    if device == Device::flex() {
        return Ok(trainee);
    }
    let shapes = (0..PASSES).flat_map(|_| schedule.shapes());
    let batches = shapes.map(|(shape, rows)| batch(shape, rows as usize, card, &device));
    let replicas = placement.replicas() as usize;
    rehearse(trainee, vec![AdamW::new(adamw)], batches, recipe, replicas)
}

/// A full batch of no clips in particular.
fn batch(shape: BucketShape, rows: usize, card: &ModelCard, device: &Device) -> GptBatch {
    let ids = |length: usize| Tensor::<2, Int>::ones([rows, length], device);
    let lengths = |length: usize| Tensor::<1, Int>::full([rows], length as i64, device);
    let (text, codes) = (shape.text.0 as usize, shape.audio.0 as usize);
    let frames = card.conditioning_mel.frames(card.conditioning.max).0;
    GptBatch {
        text_bt: ids(text),
        text_lengths_b: lengths(text),
        codes_bm: ids(codes),
        code_lengths_b: lengths(codes),
        conditioning_bcs: Tensor::ones([rows, card.gpt.mel_bands, frames], device),
        prompts_b2: Some(Tensor::<2, Int>::zeros([rows, 2], device)),
    }
}
