//! UNDERUTILIZED_GPU: the device rests though data is there.

use super::launch_bound::{BUSY, gain, larger_batch};
use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Fact, Finding, Severity};
use crate::model::StepModel;
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::Share;
use crate::verdict::MODERATELY;

/// A device that is busy for less than this rests more than it works.
const HALF: Share = Share(0.50);

pub(super) const RULE: Rule = Rule {
    code: Code::UnderutilizedGpu,
    look,
    texts: Bilingual {
        en: Texts {
            title: "the GPU is often idle",
            meaning: "The model's device is busy less than half of the time (less than 80 %: mild) although the model does \
                      not wait for data. Where a closer cause is known, it is shown instead: LAUNCH_BOUND, \
                      SYNC_POINTS, FUSION_OFF, RECOMPILING, PAUSES, BATCH_TOO_SMALL, RANK_SKEW.",
            forms: &[Form {
                name: "run",
                cause: "{device} is busy {busy} of the time, and the model waits only {waiting} of the step for data",
                fix: "try a larger batch; see what the training thread does with `myxtts profile`",
            }],
        },
        fa: Texts {
            title: "GPU بیکار می‌ماند",
            meaning: "دستگاهِ مدل کمتر از نیمِ زمان مشغول است (کمتر از ۸۰٪: خفیف)، هرچند مدل منتظر داده نمی‌ماند. اگر علتِ نزدیک‌تری شناخته شود، به جای آن می‌آید: \
                      LAUNCH_BOUND، SYNC_POINTS، FUSION_OFF، RECOMPILING، PAUSES، BATCH_TOO_SMALL، RANK_SKEW.",
            forms: &[Form {
                name: "run",
                cause: "{device} تنها {busy} از زمان مشغول است، و مدل تنها {waiting} از گام را منتظر داده می‌ماند",
                fix: "دستهٔ بزرگ‌تری را بیازمایید؛ با `myxtts profile` ببینید رشتهٔ آموزش چه می‌کند",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    if !*signals.settings.on_gpu().need()? {
        return Ok(None);
    }
    let Some(device) = signals.model_device() else {
        return Ok(None);
    };
    let model = StepModel::of(signals)?;
    let busy = *device.busy.need()?;
    if busy >= BUSY || model.waiting() >= MODERATELY {
        return Ok(None);
    }
    let severity = if busy < HALF {
        Severity::Problem
    } else {
        Severity::Warning
    };
    let finding = Finding::new(
        Code::UnderutilizedGpu,
        severity,
        "run",
        vec![
            Fact::text("device", device.name.clone()),
            Fact::share("busy", busy),
            Fact::share("waiting", model.waiting()),
        ],
    );
    Ok(Some(
        finding
            .gaining(gain(model.step, busy))
            .editing(larger_batch(signals)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;
    use crate::units::Seconds;

    fn busy(share: f64) -> Signals {
        let mut signals = healthy();
        signals.devices[0].busy = Share(share).into();
        signals
    }

    #[test]
    fn mild_below_eighty_percent_and_severe_below_half() {
        assert_eq!(fires(look, &busy(0.79)).severity, Severity::Warning);
        assert_eq!(fires(look, &busy(0.49)).severity, Severity::Problem);
    }

    #[test]
    fn not_at_the_threshold_nor_where_data_is_late() {
        quiet(look, &busy(0.8));
        let mut late = busy(0.3);
        late.steps.data_wait = Seconds(0.05).into();
        quiet(look, &late);
        let mut cpu = busy(0.3);
        cpu.settings.strategy = crate::signals::Strategy::Cpu.into();
        quiet(look, &cpu);
    }

    #[test]
    fn silent_without_the_utilisation() {
        let mut signals = healthy();
        signals.devices[0].busy = Signal::unavailable("a software GPU");
        silent(look, &signals, "a software GPU");
    }
}
