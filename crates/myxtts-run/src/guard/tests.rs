use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{EarlyStop, NonFinite, NonFiniteVerdict, Patience};
use super::{SpikeAction, SpikeDetector, SpikeSettings};
use crate::units::Step;

/// Through the checkpoint and back.
fn stored<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(state: &T) -> T {
    let section = serde_json::to_value(state).unwrap();
    let text = serde_json::to_string(&section).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn spikes(window: usize, threshold: f64) -> SpikeDetector {
    SpikeDetector::new(SpikeSettings {
        window,
        threshold,
        action: SpikeAction::Log,
    })
}

proptest! {
    #[test]
    fn a_resumed_run_decides_alike(
        losses in prop::collection::vec(
            prop_oneof![8 => 0.0..9.0_f32, 1 => Just(f32::NAN), 1 => 50.0..900.0_f32],
            1..80,
        ),
        cut in any::<prop::sample::Index>(),
    ) {
        let cut = cut.index(losses.len());
        let mut whole = (spikes(6, 1.5), NonFinite::new(1), EarlyStop::new(4, 0.1));
        let mut broken = whole.clone();
        for (index, loss) in losses.iter().enumerate() {
            let step = Step(index as u64);
            if index == cut {
                broken = (stored(&broken.0), stored(&broken.1), stored(&broken.2));
            }
            let decide = |s: &mut (SpikeDetector, NonFinite, EarlyStop)| {
                // As text, since NaN is not equal to itself.
                format!(
                    "{:?} {:?} {:?}",
                    s.0.observe(step, f64::from(*loss)),
                    s.1.judge(step, *loss, 1.0, || vec![format!("clip {index}")]),
                    s.2.observe(step, f64::from(*loss)),
                )
            };
            prop_assert_eq!(decide(&mut whole), decide(&mut broken));
        }
    }

    #[test]
    fn spikes_are_those_of_the_textbook(losses in prop::collection::vec(-5.0..5.0, 1..60)) {
        let mut detector = spikes(8, 1.5);
        for (index, loss) in losses.iter().enumerate() {
            let spike = detector.observe(Step(index as u64), *loss);
            let Some(window) = index.checked_sub(8).map(|from| &losses[from..index]) else {
                prop_assert!(spike.is_none());
                continue;
            };
            let mean = window.iter().sum::<f64>() / 8.0;
            let square = window.iter().map(|x| x * x).sum::<f64>() / 8.0;
            let z = (loss - mean) / (square - mean * mean).sqrt();
            if (z - 1.5).abs() > 1e-6 {
                prop_assert_eq!(spike.is_some(), z > 1.5);
            }
        }
    }
}

#[test]
fn a_flat_window_and_a_lasting_change_of_level() {
    let mut detector = spikes(4, 3.0);
    let mut seen = |losses: &[f64]| -> Vec<bool> {
        losses
            .iter()
            .map(|loss| detector.observe(Step(1), *loss).is_some())
            .collect()
    };
    assert_eq!(seen(&[2.0, 2.0, 2.0, 2.0, 2.0]), [false; 5]);
    assert_eq!(
        seen(&[2.5, 2.5, 2.5, 2.5, 2.5]),
        [true, false, false, false, false]
    );
    assert_eq!(detector.seen(), 1);
}

#[test]
fn bad_steps_are_counted_and_a_good_one_forgives() {
    let mut guard = NonFinite::new(2);
    let mut judge = |loss: f32, norm: f32| match guard.judge(Step(1), loss, norm, Vec::new) {
        NonFiniteVerdict::Apply => 0,
        NonFiniteVerdict::Skip { streak } => streak,
        NonFiniteVerdict::Stop(_) => 99,
    };
    let nan = f32::NAN;
    let norms = [
        (1.0, nan),
        (nan, 1.0),
        (1.0, 1.0),
        (f32::INFINITY, 1.0),
        (nan, nan),
        (nan, nan),
    ];
    assert_eq!(
        norms.map(|(loss, norm)| judge(loss, norm)),
        [1, 2, 0, 1, 2, 99]
    );
    assert_eq!(guard.skipped(), 5);
}

#[test]
fn patience() {
    let mut stop = EarlyStop::new(2, 0.5);
    let values = [3.0, 2.6, 2.4, 2.3, f64::NAN];
    let said = values.map(|value| stop.observe(Step(7), value));
    let exhausted = Patience::Exhausted {
        best_step: Some(Step(7)),
        best: Some(2.4),
        evaluations: 2,
    };
    let waiting = Patience::Waiting { left: 1 };
    assert_eq!(
        said,
        [
            Patience::Improved,
            waiting.clone(),
            Patience::Improved,
            waiting,
            exhausted
        ]
    );
}

#[test]
fn messages() {
    let mut guard = NonFinite::new(1);
    guard.judge(Step(41), f32::NAN, 2.5, || {
        vec!["rms_01.flac".into(), "rms_02.flac".into()]
    });
    let clips = || (0..11).map(|n| format!("rms_{n:02}.flac")).collect();
    let NonFiniteVerdict::Stop(report) = guard.judge(Step(42), 3.5, f32::INFINITY, clips) else {
        panic!("two in a row are too many");
    };
    let mut detector = spikes(2, 3.0);
    let spike = [2.0, 2.2, 9.0].map(|loss| detector.observe(Step(5), loss));
    let skipped = spike[2].clone().map(|s| super::Spike {
        action: SpikeAction::Skip,
        ..s
    });
    let mut said = vec![report.to_string()];
    said.extend(
        [spike[2].clone(), skipped]
            .into_iter()
            .flatten()
            .map(|s| s.to_string()),
    );
    let mut stop = EarlyStop::new(2, 0.0);
    said.extend([2.0, 3.0, 3.0].map(|value| stop.observe(Step(600), value).to_string()));
    said.push(
        EarlyStop::new(1, 0.0)
            .observe(Step(1), f64::NAN)
            .to_string(),
    );
    insta::assert_snapshot!(said.join("\n\n"));
}
