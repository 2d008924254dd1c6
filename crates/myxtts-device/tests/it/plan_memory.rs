//! What the plan does where the work does not fit the devices' memory.

use std::sync::Arc;

use myxtts_base::MEGABYTE;
use myxtts_config::units::Megabytes;
use myxtts_device::{
    ClipsPerStep, LongestShape, Machine, MemoryCheck, MemoryNeeds, MomentBits, MomentsChoice, Plan,
    PlanError, PlanRequest, Precision, RecomputeChoice, Savings, Share, Verdict, Workload, plan,
};

use crate::support::{host, request};

/// 1000 MB of weights, gradients and moments, 100 MB a row of 800 mel frames,
/// 50 MB a row for data work, and copies of 400 MB on a data GPU. Where it can save, a quarter of
/// the rows' and of the moments' memory is enough.
#[derive(Debug)]
struct Linear {
    can_save: bool,
}

impl Workload for Linear {
    fn needs(&self, share: &Share) -> MemoryNeeds {
        let rows = u64::from(share.batch_size);
        let frames = u64::from(share.mel_frames.unwrap_or(800));
        let sets = 1 + u64::from(share.accumulation > 1);
        let mut needs = MemoryNeeds::default();
        if share.trains {
            needs.weights = 250 * MEGABYTE;
            needs.gradients = sets * 250 * MEGABYTE;
            needs.moments = 500 * MEGABYTE;
            needs.activations = rows * frames * MEGABYTE / 8;
            if self.can_save && share.savings.recompute {
                needs.activations /= 4;
            }
            if self.can_save && share.savings.moments == MomentBits::Int8 {
                needs.moments /= 4;
            }
        }
        if share.prepares {
            needs.data_work = rows * 50 * MEGABYTE;
        }
        if share.has_copies {
            needs.copies = 400 * MEGABYTE;
        }
        needs
    }

    fn longest(&self) -> LongestShape {
        LongestShape {
            text: 200,
            codes: 200,
            mel_frames: 800,
        }
    }

    fn clips(&self, batch_size: u32, replicas: u32) -> Option<ClipsPerStep> {
        let rows = u64::from(batch_size) * u64::from(replicas);
        Some(ClipsPerStep {
            least: rows,
            most: 3 * rows,
            mean: 2.0 * rows as f64,
        })
    }
}

fn planned(memories: &[u64], edit: impl FnOnce(&mut PlanRequest)) -> Result<Plan, PlanError> {
    planned_for(Linear { can_save: false }, memories, edit)
}

fn saving(memory: u64, edit: impl FnOnce(&mut PlanRequest)) -> Result<Plan, PlanError> {
    planned_for(Linear { can_save: true }, &[memory], edit)
}

fn planned_for(
    workload: Linear,
    memories: &[u64],
    edit: impl FnOnce(&mut PlanRequest),
) -> Result<Plan, PlanError> {
    let memories: Vec<Megabytes> = memories.iter().copied().map(Megabytes).collect();
    let machine = Machine::assume_each(host(), &memories);
    let request = request(|r| {
        r.workload = Some(Arc::new(workload));
        edit(r);
    });
    plan(&request, &machine)
}

fn choose_batch(rows: u32) -> impl Fn(&mut PlanRequest) {
    move |r| {
        r.pipeline.batch_size = rows;
        r.chosen.insert("data.batch_size".to_owned());
    }
}

#[test]
fn a_batch_that_fits_is_left_alone() {
    let plan = planned(&[4000], |_| {}).unwrap();
    assert_eq!((plan.batch_size, plan.gradient_accumulation_steps), (16, 1));
    assert_eq!(plan.memory[0].verdict, Verdict::Fits);
    assert_eq!(plan.memory[0].needed_mb, Megabytes(1000 + 16 * 150));
    insta::assert_snapshot!(plan);
}

#[test]
fn a_start_value_shrinks_and_accumulation_keeps_the_clips_of_a_step() {
    // 1250 MB with two sets of gradients, and 150 a row.
    let plan = planned(&[2000], |_| {}).unwrap();
    assert_eq!((plan.batch_size, plan.gradient_accumulation_steps), (5, 4));
    assert!(plan.rows_per_step >= 16);
    insta::assert_snapshot!(plan.reasons.join("\n"));
    let chosen = planned(&[2000], |r| {
        r.chosen
            .insert("training.gradient_accumulation_steps".to_owned());
    });
    let chosen = chosen.unwrap();
    assert_eq!(
        (chosen.batch_size, chosen.gradient_accumulation_steps),
        (6, 1),
        "what was chosen is not touched"
    );
}

#[test]
fn a_chosen_batch_is_refused_with_the_largest_that_fits() {
    let refused = planned(&[2000], choose_batch(32)).unwrap_err();
    insta::assert_snapshot!(refused);
    // The number named is the border: what is advised fits.
    planned(&[2000], |r| {
        choose_batch(5)(r);
        r.strategy.gradient_accumulation_steps = 7;
    })
    .unwrap();
    let fallback = planned(&[2000], |r| {
        choose_batch(32)(r);
        r.strategy.allow_fallback = true;
    });
    insta::assert_snapshot!(fallback.unwrap().given_up.join("\n"));
}

#[test]
fn where_no_batch_fits_a_shorter_clip_may() {
    // One row of 800 frames and one set of gradients are 1150 MB.
    insta::assert_snapshot!(planned(&[1100], |_| {}).unwrap_err());
    insta::assert_snapshot!(planned(&[900], |_| {}).unwrap_err());
    // Without room for a second set of gradients, nothing is accumulated.
    let plan = planned(&[1360], |_| {}).unwrap();
    assert_eq!((plan.batch_size, plan.gradient_accumulation_steps), (2, 1));
}

/// Time is given for memory first, then rows, then digits; what was chosen is done.
#[test]
fn memory_is_saved_where_it_lacks() {
    let found = |plan: &Plan| {
        let Savings {
            recompute, moments, ..
        } = plan.savings;
        (recompute, moments, plan.batch_size)
    };
    let f32 = MomentBits::F32;
    // 16 rows of 150 MB beside 1000; recomputed, 75 MB each.
    assert_eq!(found(&saving(4000, |_| {}).unwrap()), (false, f32, 16));
    let recomputed = saving(2200, |_| {}).unwrap();
    assert_eq!(found(&recomputed), (true, f32, 16));
    insta::assert_snapshot!(recomputed);
    // A smaller batch before rounded moments.
    assert_eq!(found(&saving(1500, |_| {}).unwrap()), (true, f32, 3));
    let rounded = saving(1050, |_| {}).unwrap();
    assert_eq!(found(&rounded), (true, MomentBits::Int8, 2));
    insta::assert_snapshot!(rounded.reasons.join("\n"));
    // A batch that somebody chose stays: then digits are given first.
    let chosen = saving(1900, choose_batch(16)).unwrap();
    assert_eq!(found(&chosen), (true, MomentBits::Int8, 16));
    let off = saving(2200, |r| r.strategy.recompute = RecomputeChoice::Off).unwrap();
    assert_eq!(found(&off), (false, f32, 6));
    let blocks = saving(9000, |r| r.strategy.recompute = RecomputeChoice::Blocks).unwrap();
    assert_eq!(found(&blocks), (true, f32, 16));
    let int8 = saving(9000, |r| r.strategy.moments = MomentsChoice::Int8).unwrap();
    assert_eq!(found(&int8), (false, MomentBits::Int8, 16));
    let whole = saving(1050, |r| r.strategy.moments = MomentsChoice::F32);
    assert!(whole.is_err());
}

#[test]
fn a_warning_leaves_everything_as_asked() {
    let plan = planned(&[900], |r| r.pipeline.memory_check = MemoryCheck::Warn).unwrap();
    assert_eq!(plan.batch_size, 16);
    assert_eq!(plan.memory[0].verdict, Verdict::TooLarge);
    insta::assert_snapshot!(plan.notices.join("\n"));
}

#[test]
fn the_smaller_of_unlike_cards_decides() {
    let mirrored = |r: &mut PlanRequest| r.strategy.multi_gpu = true;
    let plan = planned(&[12_000, 2000], mirrored).unwrap();
    assert_eq!(plan.batch_size, 5);
    let memories: Vec<_> = plan.memory.iter().map(|m| m.memory_mb.unwrap().0).collect();
    assert_eq!(memories, [12_000, 2000]);
}

#[test]
fn a_data_gpu_holds_the_copies_and_the_model_gpu_does_not() {
    let split = |r: &mut PlanRequest| {
        r.pipeline.data_gpu = Some(1);
        r.pipeline.model_gpu = Some(0);
    };
    let plan = planned(&[4000, 1300], split).unwrap();
    let needs: Vec<_> = plan.memory.iter().map(|m| m.needed_mb.0).collect();
    assert_eq!(needs, [400 + 16 * 50, 1000 + 1600]);
    // The data GPU may be the one that is too small.
    let plan = planned(&[4000, 900], split).unwrap();
    assert_eq!(plan.batch_size, 10);
}

#[test]
fn each_budget_is_compared_with_its_own_work() {
    let isolated = |r: &mut PlanRequest| {
        r.pipeline.enable_memory_isolation = true;
        r.pipeline.data_gpu_memory = Megabytes(400);
        r.pipeline.model_gpu_memory = Megabytes(4000);
        choose_batch(16)(r);
    };
    // Data work of 16 rows is 800 MB, whatever the card has.
    insta::assert_snapshot!(planned(&[24_000], isolated).unwrap_err());
}

#[test]
fn memory_that_nobody_knows_is_called_unknown() {
    let mut machine = Machine::assume(host(), 1, Megabytes(1));
    machine.backends[0].gpus[0].memory = myxtts_device::Reading::Unavailable("no".into());
    let request = request(|r| r.workload = Some(Arc::new(Linear { can_save: false })));
    let plan = plan(&request, &machine).unwrap();
    assert_eq!(plan.memory[0].verdict, Verdict::Unknown);
    assert!(
        plan.to_string()
            .contains("does not report how much there is")
    );
}

#[test]
fn the_estimate_is_part_of_the_document() {
    let plan = planned(&[4000], |r| {
        r.strategy.precision = myxtts_device::PrecisionChoice::F32;
    });
    let plan = plan.unwrap();
    assert_eq!(plan.precision, Precision::F32);
    let document = serde_json::to_value(plan).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&document["memory"]).unwrap());
    assert_eq!(document["clips_per_step"]["mean"], 32.0);
}
