//! Every shape before the first step.
//!
//! A device compiles and tunes kernels for shapes it has not seen, which takes
//! longer than many steps. On the CPU nothing is compiled.

use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor};
use myxtts_data::schedule::{ConditioningSpec, Schedule};
use myxtts_infer::ModelCard;
use myxtts_model::gpt::GptBatch;

use crate::error::TrainError;
use crate::feed::{DeviceFeed, ShapeWatch, Shapes};
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

/// A forward and a backward pass in every shape.
pub(super) fn model(
    trainee: &GptTrainee,
    schedule: &Schedule,
    card: &ModelCard,
    device: &Device,
) -> Result<(), TrainError> {
    if *device == Device::flex() {
        return Ok(());
    }
    for (shape, rows) in schedule.shapes() {
        let rows = rows as usize;
        let ids = |length: usize| Tensor::<2, Int>::ones([rows, length], device);
        let lengths = |length: usize| Tensor::<1, Int>::full([rows], length as i64, device);
        let (text, codes) = (shape.text.0 as usize, shape.audio.0 as usize);
        let frames = card.conditioning_mel.frames(card.conditioning.max).0;
        let batch = GptBatch {
            text_bt: ids(text),
            text_lengths_b: lengths(text),
            codes_bm: ids(codes),
            code_lengths_b: lengths(codes),
            conditioning_bcs: Tensor::ones([rows, card.gpt.mel_bands, frames], device),
            prompts_b2: Some(Tensor::<2, Int>::zeros([rows, 2], device)),
        };
        let loss = trainee.loss(0, &batch, &[1.0, 1.0], 0);
        let loss = loss.map_err(|why| TrainError::step(0, why))?;
        let gradients = trainee.gradients(0, loss.total.backward());
        let (_, norm) = gradients.clip(1.0);
        if let Some(norm) = norm {
            norm.try_into_data().map_err(TrainError::failed)?;
        }
    }
    Ok(())
}
