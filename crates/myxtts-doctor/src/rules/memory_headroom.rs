//! MEMORY_HEADROOM: memory is free, and the device is busy all the same.

use super::batch_too_small::{ROOM, fitting_batch};
use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Severity};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::Share;

pub(super) const RULE: Rule = Rule {
    code: Code::MemoryHeadroom,
    look,
    texts: Bilingual {
        en: Texts {
            title: "memory is left over",
            meaning: "The memory of a GPU that trains was never filled to three quarters of its budget. A larger batch \
                      may be faster; only a measurement can tell by how much.",
            forms: &[Form {
                name: "run",
                cause: "at most {peak} of the {budget} of {device} was in use ({share})",
                fix: "a batch of up to {batch} may fit; `myxtts tune` measures what it gains",
            }],
        },
        fa: Texts {
            title: "حافظه آزاد مانده است",
            meaning: "حافظهٔ GPU آموزش هرگز تا سه‌چهارمِ بودجه پر نشده است. شاید دستهٔ بزرگ‌تر تندتر باشد؛ چقدر، تنها با سنجش روشن می‌شود.",
            forms: &[Form {
                name: "run",
                cause: "از {budget} حافظهٔ {device} حداکثر {peak} به کار رفته است ({share})",
                fix: "شاید دسته‌ای تا {batch} جا بگیرد؛ `myxtts tune` سودِ آن را می‌سنجد",
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
    let share = Share(memory.peak.0 as f64 / memory.budget.0.max(1) as f64);
    let old = *signals.settings.batch_size.need()?;
    let batch = fitting_batch(signals).filter(|batch| *batch > old);
    let (true, Some(batch)) = (share < ROOM, batch) else {
        return Ok(None);
    };
    let finding = Finding::new(
        Code::MemoryHeadroom,
        Severity::Tip,
        "run",
        vec![
            Fact::megabytes("peak", memory.peak),
            Fact::megabytes("budget", memory.budget),
            Fact::text("device", device.name.clone()),
            Fact::share("share", share),
            Fact::count("batch", batch),
        ],
    );
    let edit = Edit::new("data.batch_size", Some(old.to_string()), batch);
    Ok(Some(finding.editing([edit])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Gain;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;
    use crate::signals::Memory;
    use crate::units::Megabytes;

    fn peak(mb: u64) -> Signals {
        let mut signals = healthy();
        signals.devices[0].memory = Signal::Known(Memory {
            peak: Megabytes(mb),
            budget: Megabytes(20_000),
            baseline: None,
            latest: None,
        });
        signals
    }

    #[test]
    fn a_tip_without_a_promise() {
        let finding = fires(look, &peak(14_999));
        assert_eq!(
            (finding.severity, finding.gain),
            (Severity::Tip, Gain::Unknown)
        );
    }

    #[test]
    fn not_at_three_quarters_nor_on_the_cpu() {
        quiet(look, &peak(15_000));
        let mut signals = peak(1_000);
        signals.settings.strategy = crate::signals::Strategy::Cpu.into();
        quiet(look, &signals);
    }

    #[test]
    fn silent_without_readings() {
        let mut signals = healthy();
        signals.devices[0].memory = Signal::unavailable("no driver library");
        silent(look, &signals, "no driver library");
    }
}
