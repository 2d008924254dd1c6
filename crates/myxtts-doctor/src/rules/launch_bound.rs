//! LAUNCH_BOUND: the thread that launches kernels is busy, the device is not.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain, Severity};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};

/// A device that is busy for less than this could do more.
pub(super) const BUSY: Share = Share(0.80);
/// A thread that launches for more than this does nothing else.
const FULL: Share = Share(0.95);

pub(super) const RULE: Rule = Rule {
    code: Code::LaunchBound,
    look,
    texts: Bilingual {
        en: Texts {
            title: "launching kernels takes longer than running them",
            meaning: "The thread that launches the model's kernels is busy all the time while the device is not: \
                      the kernels are too small or too many.",
            forms: &[Form {
                name: "run",
                cause: "the training thread is busy {dispatch} of the step launching kernels, and {device} only {busy}",
                fix: "give every kernel more work: use a larger batch",
            }],
        },
        fa: Texts {
            title: "روانه‌کردنِ هسته‌های GPU بیش از اجرایشان زمان می‌برد",
            meaning: "رشته‌ای که هسته‌های GPU را روانه می‌کند همیشه مشغول است و دستگاه نه: هسته‌ها کوچک‌اند یا زیاد.",
            forms: &[Form {
                name: "run",
                cause: "رشتهٔ آموزش {dispatch} از گام مشغولِ روانه‌کردنِ هسته‌های GPU است و {device} تنها {busy}",
                fix: "به هر هسته کارِ بیشتری بدهید: دستهٔ بزرگ‌تر",
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
    let step = *signals.steps.step.need()?;
    let busy = *device.busy.need()?;
    let dispatch = Share::of(*signals.steps.dispatch.need()?, step);
    if busy >= BUSY || dispatch < FULL {
        return Ok(None);
    }
    let finding = Finding::new(
        Code::LaunchBound,
        Severity::Warning,
        "run",
        vec![
            Fact::share("dispatch", Share(dispatch.0.min(1.0))),
            Fact::text("device", device.name.clone()),
            Fact::share("busy", busy),
        ],
    );
    Ok(Some(
        finding
            .gaining(gain(step, busy))
            .editing(larger_batch(signals)),
    ))
}

/// Bounds the gain: at best the device is busy all the time.
pub(super) fn gain(step: Seconds, busy: Share) -> Gain {
    Gain::at_most_per_step(Seconds(step.0 * (1.0 - busy.0)))
}

/// Doubles the batch, as far as the memory that was measured or estimated allows.
pub(super) fn larger_batch(signals: &Signals) -> Option<Edit> {
    let old = *signals.settings.batch_size.known()?;
    let most = super::batch_too_small::fitting_batch(signals)?;
    let new = (old * 2).min(most);
    (new > old).then(|| Edit::new("data.batch_size", Some(old.to_string()), new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;

    fn launch_bound() -> Signals {
        let mut signals = healthy();
        signals.steps.dispatch = Seconds(0.098).into();
        signals.devices[0].busy = Share(0.4).into();
        signals
    }

    #[test]
    fn fires_where_the_thread_is_full_and_the_device_is_not() {
        let finding = fires(look, &launch_bound());
        assert_eq!(finding.gain, Gain::AtMost(Seconds(60.0)));
    }

    #[test]
    fn not_where_either_is_otherwise() {
        let mut signals = launch_bound();
        signals.devices[0].busy = Share(0.8).into();
        quiet(look, &signals);
        let mut signals = launch_bound();
        signals.steps.dispatch = Seconds(0.094).into();
        quiet(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_the_utilisation() {
        let mut signals = launch_bound();
        signals.devices[0].busy = Signal::unavailable("no driver library");
        silent(look, &signals, "no driver library");
    }
}
