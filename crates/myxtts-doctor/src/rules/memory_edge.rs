//! MEMORY_EDGE: memory is nearly full, or grows.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Severity};
use crate::signals::{DeviceRole, DeviceSignals, Memory, Signals};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Megabytes, Share};

/// Above this share of the budget the next long batch may not fit.
const EDGE: Share = Share(0.95);
/// Growth since the end of the warm-up that is not noise, on a data device.
const DATA_GROWTH: Megabytes = Megabytes(200);
/// The same on a model device.
const MODEL_GROWTH: Megabytes = Megabytes(500);

pub(super) const RULE: Rule = Rule {
    code: Code::MemoryEdge,
    look,
    texts: Bilingual {
        en: Texts {
            title: "memory may run out",
            meaning: "More than 95 % of a device's memory budget was in use, or since the warm-up its memory has grown by more \
                      than 500 MB (200 MB on a device that prepares data).",
            forms: &[
                Form {
                    name: "full",
                    cause: "{device} used {peak} of its {budget} ({share})",
                    fix: "make the batch smaller and accumulate more of them: the effective batch stays the same",
                },
                Form {
                    name: "grows",
                    cause: "{device} uses {latest}, {growth} more than at the end of the warm-up",
                    fix: "restart from the last checkpoint before it runs out (the same command resumes), and report it, \
                          with this output",
                },
            ],
        },
        fa: Texts {
            title: "شاید حافظه پر شود",
            meaning: "بیش از ۹۵٪ بودجهٔ حافظهٔ دستگاهی به کار رفته است، یا حافظه‌اش پس از گرم‌شدن بیش از ۵۰۰ مگابایت (۲۰۰ مگابایت روی دستگاهِ داده) بزرگ شده است.",
            forms: &[
                Form {
                    name: "full",
                    cause: "{device} از {budget} حافظه‌اش {peak} را به کار برده است ({share})",
                    fix: "دسته را کوچک کنید و شمارِ بیشتری را روی هم بگذارید: دستهٔ مؤثر همان می‌ماند",
                },
                Form {
                    name: "grows",
                    cause: "{device} اکنون {latest} به کار می‌برد، {growth} بیش از پایانِ گرم‌شدن",
                    fix: "پیش از پرشدن از آخرین checkpoint ادامه دهید (همان دستور ادامه می‌دهد) و آن را همراه این گزارش گزارش کنید",
                },
            ],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let mut reason = None;
    for device in signals.gpus() {
        match device.memory.need() {
            Ok(memory) => {
                if let Some(finding) = edge(signals, device, memory) {
                    return Ok(Some(finding));
                }
            }
            Err(silent) => reason = reason.or(Some(silent)),
        }
    }
    reason.map_or(Ok(None), Err)
}

fn edge(signals: &Signals, device: &DeviceSignals, memory: &Memory) -> Option<Finding> {
    let share = Share(memory.peak.0 as f64 / memory.budget.0.max(1) as f64);
    if share > EDGE {
        let finding = Finding::new(
            Code::MemoryEdge,
            Severity::Problem,
            "full",
            vec![
                Fact::text("device", device.name.clone()),
                Fact::megabytes("peak", memory.peak),
                Fact::megabytes("budget", memory.budget),
                Fact::share("share", share),
            ],
        );
        return Some(finding.editing(smaller(signals)));
    }
    let allowed = match device.role {
        DeviceRole::Data => DATA_GROWTH,
        DeviceRole::Model => MODEL_GROWTH,
    };
    let latest = memory.latest?;
    let growth = Megabytes(latest.0.saturating_sub(memory.baseline?.0));
    (growth > allowed).then(|| {
        Finding::new(
            Code::MemoryEdge,
            Severity::Warning,
            "grows",
            vec![
                Fact::text("device", device.name.clone()),
                Fact::megabytes("latest", latest),
                Fact::megabytes("growth", growth),
            ],
        )
    })
}

/// Halves the batch and doubles the accumulation.
fn smaller(signals: &Signals) -> Vec<Edit> {
    let settings = &signals.settings;
    let (Some(batch), Some(accumulation)) =
        (settings.batch_size.known(), settings.accumulation.known())
    else {
        return Vec::new();
    };
    if *batch < 2 {
        return Vec::new();
    }
    vec![
        Edit::new("data.batch_size", Some(batch.to_string()), batch / 2),
        Edit::new(
            "training.gradient_accumulation_steps",
            Some(accumulation.to_string()),
            accumulation * 2,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;

    fn memory(peak: u64, baseline: u64, latest: u64) -> Signals {
        let mut signals = healthy();
        signals.devices[0].memory = Signal::Known(Memory {
            peak: Megabytes(peak),
            budget: Megabytes(20_000),
            baseline: Some(Megabytes(baseline)),
            latest: Some(Megabytes(latest)),
        });
        signals
    }

    #[test]
    fn nearly_full_and_growing_each_fire() {
        let finding = fires(look, &memory(19_001, 18_900, 19_000));
        assert_eq!(finding.form, "full");
        assert_eq!(finding.edits.len(), 2);
        assert_eq!(fires(look, &memory(18_000, 17_000, 17_501)).form, "grows");
    }

    #[test]
    fn not_at_the_thresholds() {
        quiet(look, &memory(19_000, 18_900, 19_000));
        quiet(look, &memory(18_000, 17_000, 17_500));
        quiet(look, &healthy());
    }

    #[test]
    fn a_data_device_may_grow_less() {
        let mut signals = memory(18_000, 17_000, 17_201);
        signals.devices[0].role = DeviceRole::Data;
        fires(look, &signals);
        let mut signals = memory(18_000, 17_000, 17_200);
        signals.devices[0].role = DeviceRole::Data;
        quiet(look, &signals);
    }

    #[test]
    fn silent_without_readings() {
        let mut signals = healthy();
        signals.devices[0].memory = Signal::unavailable("no driver library");
        silent(look, &signals, "no driver library");
    }
}
