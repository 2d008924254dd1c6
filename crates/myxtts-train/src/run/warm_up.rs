//! Every shape before the first step.
//!
//! A device compiles and tunes kernels for shapes it has not seen, which takes
//! longer than many steps. On the CPU nothing is compiled.

use std::io::Stderr;
use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor};
use myxtts_data::schedule::{BucketShape, ConditioningSpec, Schedule};
use myxtts_infer::ModelCard;
use myxtts_model::gpt::GptBatch;
use myxtts_run::run_folder::RunLog;
use myxtts_run::signals::StopRequest;

use crate::error::TrainError;
use crate::feed::{DeviceFeed, Facts, ShapeWatch, Shapes};
use crate::looping::{Recipe, rehearse};
use crate::optim::{AdamW, AdamWConfig};
use crate::placement::Placement;
use crate::stage_run::MakeSite;
use crate::trainee::{GptTrainee, Trainee};

/// Times every shape is met: the engine fuses operations once it has seen
/// them, and what it launches then is another kernel.
const PASSES: usize = 2;

/// The warm-up of the stage that trains the GPT.
#[derive(Clone)]
pub(super) struct WarmUp {
    pub(super) schedule: Arc<Schedule>,
    pub(super) placement: Placement,
    /// A benchmark has neither a log nor anybody who stops it.
    pub(super) listener: Option<Listener>,
}

/// Kernels take minutes to compile: who waits is told, and may leave.
#[derive(Clone)]
pub(super) struct Listener {
    pub(super) log: Arc<RunLog<Stderr>>,
    pub(super) stop: StopRequest,
}

impl WarmUp {
    /// A maker of the device stage that has met every shape.
    pub(super) fn site(
        &self,
        make: MakeSite<DeviceFeed>,
        conditioning: ConditioningSpec,
        watch: &Arc<ShapeWatch>,
    ) -> MakeSite<DeviceFeed> {
        let (warm_up, watch) = (self.clone(), Arc::clone(watch));
        Arc::new(move |device: &Device| {
            let mut feed = make(device)?;
            if *device == Device::flex() {
                let frames = feed.conditioning_frames(conditioning);
                for (shape, rows) in warm_up.schedule.shapes() {
                    watch.see(Shapes {
                        rows: rows as usize,
                        text: shape.text.0 as usize,
                        codes: shape.audio.0 as usize,
                        frames,
                    });
                }
            } else {
                let who = one_of("data stage", device, &warm_up.placement.data);
                feed.warm_up(warm_up.shapes(&who, 1), conditioning)?;
            }
            if !warm_up.is_stopped() {
                watch.end_warm_up();
            }
            Ok(feed)
        })
    }

    /// Whole steps in every shape. They come before the state has moments of
    /// its own, so no more memory is held than by a step.
    pub(super) fn model(
        &self,
        trainee: GptTrainee,
        adamw: AdamWConfig,
        recipe: &Recipe,
        card: &ModelCard,
    ) -> Result<GptTrainee, TrainError> {
        let device = trainee.device().inner();
        if device == Device::flex() {
            return Ok(trainee);
        }
        let who = one_of("model", &device, &self.placement.models);
        let shapes = self.shapes(&who, PASSES);
        let batches = shapes.map(|(shape, rows)| batch(shape, rows as usize, card, &device));
        // GPUs that average among themselves need the others for it.
        let replicas = match self.placement.collective() {
            Some(_) => 1,
            None => self.placement.replicas() as usize,
        };
        rehearse(trainee, vec![AdamW::new(adamw)], batches, recipe, replicas)
    }

    /// The shapes to meet, told one by one as they are asked for.
    fn shapes(&self, who: &str, passes: usize) -> impl Iterator<Item = (BucketShape, u32)> {
        let total = passes * self.schedule.shapes().count();
        let shapes = (0..passes).flat_map(|_| self.schedule.shapes());
        let shapes = shapes.zip(1..).take_while(|_| !self.is_stopped());
        shapes.map(move |((shape, rows), number)| {
            if let Some(listener) = &self.listener {
                let line = line(who, number, total, shape, rows);
                // A terminal that is gone has nobody to tell.
                let _ = listener.log.line(&line);
            }
            (shape, rows)
        })
    }

    fn is_stopped(&self) -> bool {
        let stop = self.listener.as_ref().map(|listener| &listener.stop);
        stop.is_some_and(|stop| stop.asked().is_some())
    }
}

/// Which one, where there are several.
fn one_of<D: PartialEq>(what: &str, device: &D, devices: &[D]) -> String {
    match devices.iter().position(|other| other == device) {
        Some(index) if devices.len() > 1 => format!("{what} {} of {}", index + 1, devices.len()),
        _ => what.to_owned(),
    }
}

fn line(who: &str, number: usize, total: usize, shape: BucketShape, rows: u32) -> String {
    format!(
        "warm-up, {who}: {number} of {total}: {rows} rows of {} text tokens and {} codes",
        shape.text.0, shape.audio.0
    )
}

/// A full batch of no clips in particular.
fn batch(shape: BucketShape, rows: usize, card: &ModelCard, device: &Device) -> (Facts, GptBatch) {
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
    let facts = Facts {
        shapes: vec![(rows, shape)],
        ..Facts::default()
    };
    (facts, batch)
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
        let told = |who: &str| line(who, 3, 16, shape, 8);
        assert_eq!(
            told(&one_of("model", &'a', &['a'])),
            "warm-up, model: 3 of 16: 8 rows of 40 text tokens and 120 codes"
        );
        assert_eq!(
            told(&one_of("data stage", &'b', &['a', 'b'])),
            "warm-up, data stage 2 of 2: 3 of 16: 8 rows of 40 text tokens and 120 codes"
        );
    }
}
