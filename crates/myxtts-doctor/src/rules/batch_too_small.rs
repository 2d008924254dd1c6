//! BATCH_TOO_SMALL: memory is free, and the device could do more at once.

use super::launch_bound::{BUSY, gain};
use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Severity};
use crate::model::StepModel;
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::Share;
use crate::verdict::MODERATELY;

/// Below this share of the budget there is room for more.
pub(super) const ROOM: Share = Share(0.75);
/// The part of the budget that a larger batch may fill: an estimate is off by some percent.
const FILL: f64 = 0.9;
/// The largest batch that the configuration takes.
const MOST: f64 = 4096.0;

pub(super) const RULE: Rule = Rule {
    code: Code::BatchTooSmall,
    look,
    texts: Bilingual {
        en: Texts {
            title: "the batch is too small for this GPU",
            meaning: "The device is busy less than 80 % of the time, does not wait for data, and its memory was never \
                      filled to three quarters of its budget.",
            forms: &[Form {
                name: "run",
                cause: "{device} is busy {busy} of the time, and at most {peak} of its {budget} was in use ({share})",
                fix: "by the plan's estimate a batch of {batch} fits; `myxtts tune` measures it",
            }],
        },
        fa: Texts {
            title: "دسته برای این GPU کوچک است",
            meaning: "دستگاه کمتر از ۸۰٪ زمان مشغول است، منتظر داده نمی‌ماند، و حافظه‌اش هرگز تا سه‌چهارمِ بودجه پر نشده است.",
            forms: &[Form {
                name: "run",
                cause: "{device} تنها {busy} از زمان مشغول است و از {budget} حافظه‌اش حداکثر {peak} به کار رفته است ({share})",
                fix: "به برآوردِ برنامه، دستهٔ {batch} جا می‌گیرد؛ `myxtts tune` آن را می‌سنجد",
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
    let memory = *device.memory.need()?;
    let busy = *device.busy.need()?;
    let share = Share(memory.peak.0 as f64 / memory.budget.0.max(1) as f64);
    let model = StepModel::of(signals)?;
    if share >= ROOM || busy >= BUSY || model.waiting() >= MODERATELY {
        return Ok(None);
    }
    let old = *signals.settings.batch_size.need()?;
    let Some(batch) = fitting_batch(signals).filter(|batch| *batch > old) else {
        return Ok(None);
    };
    let finding = Finding::new(
        Code::BatchTooSmall,
        Severity::Warning,
        "run",
        vec![
            Fact::text("device", device.name.clone()),
            Fact::share("busy", busy),
            Fact::megabytes("peak", memory.peak),
            Fact::megabytes("budget", memory.budget),
            Fact::share("share", share),
            Fact::count("batch", batch),
        ],
    );
    let edit = Edit::new("data.batch_size", Some(old.to_string()), batch);
    Ok(Some(
        finding.gaining(gain(model.step, busy)).editing([edit]),
    ))
}

/// Returns the largest batch that fits by what was measured: the peak, less what the
/// plan says does not grow with the batch, is taken to grow in proportion.
pub(super) fn fitting_batch(signals: &Signals) -> Option<u32> {
    let device = signals.model_device()?;
    let memory = device.memory.known()?;
    let batch = f64::from(*signals.settings.batch_size.known()?);
    let fixed = device.estimate.known().map_or(0.0, |estimate| {
        // Never more than half of what was seen: the estimate may be too high.
        (estimate.fixed.0 as f64).min(memory.peak.0 as f64 / 2.0)
    });
    let growing = memory.peak.0 as f64 - fixed;
    if growing <= 0.0 {
        return None;
    }
    let fits = batch * (FILL * memory.budget.0 as f64 - fixed) / growing;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1 to 4,096"
    )]
    let fits = fits.floor().clamp(1.0, MOST) as u32;
    Some(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;
    use crate::signals::Memory;
    use crate::units::Megabytes;

    fn small() -> Signals {
        let mut signals = healthy();
        signals.devices[0].busy = Share(0.6).into();
        signals.devices[0].memory = Signal::Known(Memory {
            peak: Megabytes(6000),
            budget: Megabytes(24_000),
            baseline: Some(Megabytes(5900)),
            latest: Some(Megabytes(6000)),
        });
        signals
    }

    #[test]
    fn the_batch_grows_with_the_room() {
        let finding = fires(look, &small());
        // 2,000 MB stay, 4,000 MB are 32 rows: 21,600 - 2,000 hold 156.
        assert_eq!(finding.edits[0].new, "156");
    }

    #[test]
    fn not_where_memory_or_device_are_used() {
        let mut signals = small();
        signals.devices[0].busy = Share(0.8).into();
        quiet(look, &signals);
        let mut signals = small();
        signals.devices[0].memory = Signal::Known(Memory {
            peak: Megabytes(18_000),
            budget: Megabytes(24_000),
            baseline: None,
            latest: None,
        });
        quiet(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_readings() {
        let mut signals = small();
        signals.devices[0].memory = Signal::unavailable("no driver library");
        silent(look, &signals, "no driver library");
    }
}
