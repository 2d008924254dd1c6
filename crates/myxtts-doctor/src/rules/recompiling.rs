//! RECOMPILING: kernels are compiled after the warm-up.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain, Severity};
use crate::model::StepModel;
use crate::signals::{Recompiles, Signals};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};
use crate::verdict::HIGH_COST;

pub(super) const RULE: Rule = Rule {
    code: Code::Recompiling,
    look,
    texts: Bilingual {
        en: Texts {
            title: "kernels are compiled while training",
            meaning: "A new shape reached the device after the warm-up, and kernels were compiled for it. With static \
                      shapes that does not happen.",
            forms: &[
                Form {
                    name: "shapes",
                    cause: "{kernels} kernels were compiled in {steps} of {measured} steps after the warm-up",
                    fix: "use a closed set of shapes",
                },
                Form {
                    name: "static",
                    cause: "{kernels} kernels were compiled in {steps} of {measured} steps after the warm-up, although \
                            shapes are static",
                    fix: "the warm-up missed a shape: please report it, with this output and train.log",
                },
            ],
        },
        fa: Texts {
            title: "هسته‌های GPU هنگام آموزش ساخته می‌شوند",
            meaning: "پس از گرم‌شدن، شکلِ تازه‌ای به دستگاه رسید و هسته‌های GPU برای آن ساخته شدند. با شکل‌های ثابت چنین چیزی نیست.",
            forms: &[
                Form {
                    name: "shapes",
                    cause: "پس از گرم‌شدن، {kernels} هستهٔ GPU در {steps} گام از {measured} گام ساخته شد",
                    fix: "مجموعهٔ بسته‌ای از شکل‌ها به کار ببرید",
                },
                Form {
                    name: "static",
                    cause: "پس از گرم‌شدن، {kernels} هستهٔ GPU در {steps} گام از {measured} گام ساخته شد، هرچند شکل‌ها ثابت‌اند",
                    fix: "گرم‌شدن شکلی را ندیده است: لطفاً آن را همراه این گزارش و train.log گزارش کنید",
                },
            ],
        },
    },
};

fn look(signals: &Signals) -> Look {
    if !*signals.settings.on_gpu().need()? {
        return Ok(None);
    }
    let found = *signals.steps.recompiles.need()?;
    if found.kernels == 0 {
        return Ok(None);
    }
    let step = *signals.steps.step.need()?;
    let measured = signals.steps.measured.max(1);
    let gain = gain(signals, &found, measured);
    let costs = gain
        .seconds()
        .map_or(Share(1.0), |gain| Share::of(gain, Seconds(step.0 * 1000.0)));
    let severity = if costs >= HIGH_COST {
        Severity::Problem
    } else {
        Severity::Warning
    };
    let off = signals.settings.static_shapes.known() == Some(&false);
    let finding = Finding::new(
        Code::Recompiling,
        severity,
        if off { "shapes" } else { "static" },
        vec![
            Fact::count("kernels", found.kernels),
            Fact::count("steps", found.steps),
            Fact::count("measured", measured),
        ],
    );
    let edit = off.then(|| Edit::new("data.static_shapes", Some("false".to_owned()), true));
    Ok(Some(finding.gaining(gain).editing(edit)))
}

/// Returns how much longer the steps with new kernels took than those without; where
/// every step has some, the model's own time is a bound.
fn gain(signals: &Signals, found: &Recompiles, measured: u64) -> Gain {
    match (found.extra, StepModel::of(signals)) {
        (Some(extra), _) => Gain::per_step(Seconds(extra.0 * found.steps as f64 / measured as f64)),
        (None, Ok(model)) => Gain::at_most_per_step(model.own()),
        (None, Err(_)) => Gain::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{changing_shapes, fires, healthy, quiet, silent};
    use crate::signal::Signal;

    #[test]
    fn the_gain_is_what_those_steps_took_longer() {
        let mut signals = changing_shapes();
        signals.steps.recompiles = Signal::Known(Recompiles {
            kernels: 40,
            steps: 50,
            extra: Some(Seconds(2.0)),
        });
        let finding = fires(look, &signals);
        // 50 of 500 steps took 2 s longer.
        assert_eq!(finding.gain, Gain::Estimate(Seconds(200.0)));
        assert_eq!(finding.edits[0].key, "data.static_shapes");
    }

    #[test]
    fn where_every_step_compiles_the_gain_is_a_bound() {
        let finding = fires(look, &changing_shapes());
        assert!(matches!(finding.gain, Gain::AtMost(_)));
    }

    #[test]
    fn one_kernel_is_enough_and_none_is_not() {
        let mut signals = healthy();
        signals.steps.recompiles = Signal::Known(Recompiles {
            kernels: 1,
            steps: 1,
            extra: Some(Seconds(0.1)),
        });
        assert_eq!(fires(look, &signals).form, "static");
        quiet(look, &healthy());
    }

    #[test]
    fn silent_where_kernels_are_not_counted() {
        let mut signals = healthy();
        signals.steps.recompiles = Signal::unavailable("this backend does not tell");
        silent(look, &signals, "this backend does not tell");
    }
}
