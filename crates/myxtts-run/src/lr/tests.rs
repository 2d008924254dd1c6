use proptest::prelude::*;

use super::{LrSchedule, LrScheduleError, Parts, Shape};
use crate::units::Step;

fn schedule(base: f64, warmup: u64, shape: Shape) -> Result<LrSchedule, LrScheduleError> {
    LrSchedule::new(Parts {
        base,
        warmup: Step(warmup),
        shape,
    })
}

fn any_schedule() -> impl Strategy<Value = LrSchedule> {
    let shape = prop_oneof![
        Just(Shape::Constant),
        Just(Shape::Noam),
        (1..1_000_000_u64, 0.0..1.0).prop_map(|(total, floor)| Shape::Cosine {
            total: Step(total),
            floor
        }),
        (prop::collection::vec(1..100_000_u64, 0..40), 1e-3..=1.0).prop_map(|(gaps, gamma)| {
            let milestones = gaps.iter().scan(0, |at, gap| {
                *at += gap;
                Some(Step(*at))
            });
            Shape::MultiStep {
                milestones: milestones.collect(),
                gamma,
            }
        }),
    ];
    // Relative to the warm-up and the base rate, so that every draw is valid.
    (0.0..10.0, 0..50_000_u64, shape).prop_map(|(base, warmup, shape)| {
        let shape = match shape {
            Shape::Cosine { total, floor } => Shape::Cosine {
                total: Step(total.0 + warmup),
                floor: floor * base,
            },
            Shape::MultiStep { milestones, gamma } => Shape::MultiStep {
                milestones: milestones.iter().map(|m| Step(m.0 + warmup)).collect(),
                gamma,
            },
            other => other,
        };
        schedule(base, warmup, shape).unwrap()
    })
}

proptest! {
    #[test]
    fn finite_and_between_zero_and_the_base(
        s in any_schedule(),
        near in 0..2_000_000_u64,
        far in any::<u64>(),
    ) {
        for step in [near, far, u64::MAX] {
            let lr = s.lr(Step(step));
            prop_assert!(lr.is_finite() && lr >= 0.0 && lr <= s.parts.base * (1.0 + 1e-12), "{lr}");
        }
    }

    #[test]
    fn continuous_at_the_end_of_the_warmup(s in any_schedule()) {
        let Parts { base, warmup, .. } = s.parts;
        prop_assert!((s.lr(warmup) - base).abs() <= 1e-12 * base);
        if warmup.0 > 0 {
            // One more step of the ramp, and no jump.
            let ramp = base / (warmup.0 as f64 + 1.0);
            let before = s.lr(Step(warmup.0 - 1));
            prop_assert!((s.lr(warmup) - before - ramp).abs() <= 1e-9 * base);
        }
    }

    #[test]
    fn survives_json(s in any_schedule()) {
        let parts: Parts = s.clone().into();
        let text = serde_json::to_string(&s).unwrap();
        let back: LrSchedule = serde_json::from_str(&text).unwrap();
        prop_assert!((back.lr(Step(17)) - s.lr(Step(17))).abs() <= 1e-12 * parts.base);
    }
}

#[test]
fn noam_is_the_formula_of_the_paper() {
    let (base, warmup) = (1e-3, 400_u64);
    let s = schedule(base, warmup, Shape::Noam).unwrap();
    for step in 0..10_000_u64 {
        // The paper counts from one and scales by the width; ours by the peak.
        let (t, w) = (step as f64 + 1.0, warmup as f64 + 1.0);
        let paper = base * w.sqrt() * f64::min(t.powf(-0.5), t * w.powf(-1.5));
        assert!((s.lr(Step(step)) - paper).abs() < 1e-15, "step {step}");
    }
}

#[test]
fn known_points() {
    let cosine = Shape::Cosine {
        total: Step(110),
        floor: 0.2,
    };
    let s = schedule(1.0, 10, cosine).unwrap();
    let at = |step| s.lr(Step(step));
    assert!((at(0) - 1.0 / 11.0).abs() < 1e-12);
    assert!((at(60) - 0.6).abs() < 1e-12);
    assert!((at(110) - 0.2).abs() < 1e-12 && (at(5000) - 0.2).abs() < 1e-12);

    let steps = Shape::MultiStep {
        milestones: vec![Step(5), Step(9)],
        gamma: 0.5,
    };
    let s = schedule(8.0, 0, steps).unwrap();
    assert_eq!(
        [0, 4, 5, 8, 9, 100].map(|step| s.lr(Step(step))),
        [8.0, 8.0, 4.0, 4.0, 2.0, 2.0]
    );
}

#[test]
fn refusals() {
    let shapes = [
        (f64::NAN, 0, Shape::Constant),
        (-1e-4, 0, Shape::Constant),
        (
            1e-4,
            0,
            Shape::Cosine {
                total: Step(10),
                floor: 1e-3,
            },
        ),
        (
            1e-4,
            500,
            Shape::Cosine {
                total: Step(500),
                floor: 0.0,
            },
        ),
        (
            1e-4,
            0,
            Shape::MultiStep {
                milestones: vec![],
                gamma: 1.5,
            },
        ),
        (
            1e-4,
            100,
            Shape::MultiStep {
                milestones: vec![Step(90)],
                gamma: 0.5,
            },
        ),
        (
            1e-4,
            0,
            Shape::MultiStep {
                milestones: vec![Step(90), Step(90)],
                gamma: 0.5,
            },
        ),
    ];
    let said =
        shapes.map(|(base, warmup, shape)| schedule(base, warmup, shape).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"));
}
