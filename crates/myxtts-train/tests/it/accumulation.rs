//! Steps of many batches: none of them is kept, so there may be more than fit
//! into the pipeline.

use std::sync::Arc;

use myxtts_data::host_stage::HostFeed;
use myxtts_data::schedule::{Beginnings, Companions};
use myxtts_model::gpt::Quirks;
use myxtts_pipeline::Ticket;
use myxtts_train::feed::{DeviceFeed, Targets};
use myxtts_train::placement::Placement;

use crate::small_stage::{clips, loop_config, mirrored, one, schedule, split, train_gpt};
use crate::world::{CONDITIONING, WORLD, device, stage};

/// The pipelines of these tests have four places a lane: on the code that kept
/// the batches of a step, all of these waited for ever.
#[test]
fn a_step_may_have_more_batches_than_the_pipeline() {
    let train = |placement: &Placement, accumulation: usize| {
        let lanes = u32::try_from(placement.models.len()).unwrap();
        let (_, seen) = train_gpt(
            placement,
            &schedule(1, lanes),
            &loop_config(1, accumulation),
            0.0,
        );
        assert_eq!(seen.steps[0].stats.shapes.len(), accumulation);
        assert!(seen.steps[0].loss.is_finite());
    };
    for accumulation in [9, 17, 51] {
        for placement in [one(), split(), mirrored()] {
            train(&placement, accumulation);
        }
    }
    train(&one(), 256);
}

/// What the schedule and the manifest say is what the batch has, clip by clip.
#[test]
fn targets_are_known_before_a_batch_is_made() {
    let batches = schedule(4, 2);
    let speakers = WORLD.corpus.speakers.iter().map(Option::as_deref);
    let companions = Arc::new(Companions::of(speakers));
    for (quirks, companions, beginnings) in [
        (Quirks::Fixed, None, Beginnings::ONE),
        (Quirks::Compat, None, Beginnings(4)),
        (Quirks::Fixed, Some(companions), Beginnings(4)),
    ] {
        let stage = stage(clips(), CONDITIONING)
            .conditioned_by(companions.clone())
            .beginning_at(beginnings);
        let host = HostFeed::new(stage, batches.clone(), None).unwrap();
        let device_stage: DeviceFeed = device(None, Arc::default()).with_quirks(quirks);
        let planned = Targets::of_gpt(
            &batches,
            &WORLD.corpus,
            CONDITIONING,
            companions,
            beginnings,
            5,
            quirks,
        );
        let mut sums = vec![0, 0];
        for step in 0..3 * batches.steps_per_epoch() {
            for lane in 0..2 {
                let ticket = Ticket { step, lane };
                let filled = host.prepare(ticket, None).unwrap();
                let found = device_stage.stats(&filled.batch).targets;
                assert_eq!(planned.of_batch(ticket), found, "{ticket:?} {quirks:?}");
                if lane == 1 {
                    sums.iter_mut().zip(found).for_each(|(sum, n)| *sum += n);
                }
            }
        }
        let first = Ticket { step: 0, lane: 1 };
        let count = usize::try_from(3 * batches.steps_per_epoch()).unwrap();
        assert_eq!(planned.sum(first, count), sums);
    }
}
