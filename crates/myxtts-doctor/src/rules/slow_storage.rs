//! SLOW_STORAGE: recordings come off the disk more slowly than the model asks.

use super::{Look, Rule, most_of_host};
use crate::code::Code;
use crate::finding::{Fact, Finding, Gain, Severity, Value};
use crate::model::StepModel;
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::Seconds;

pub(super) const RULE: Rule = Rule {
    code: Code::SlowStorage,
    look,
    texts: Bilingual {
        en: Texts {
            title: "the disk is too slow",
            meaning: "The model waits for the host stage, and reading files is the largest part of its work; \
                      or a probe read the dataset's own files, cold, more slowly than the schedule needs them.",
            forms: &[
                Form {
                    name: "run",
                    cause: "reading takes {share} of the host stage ({read} a step on {threads} threads), and the \
                            model waits {waiting} of the step for it",
                    fix: "move the recordings to a faster disk (a local SSD instead of a network or USB one), or \
                          make them smaller: `myxtts prepare --convert` writes mono FLAC once",
                },
                Form {
                    name: "probe",
                    cause: "the dataset's files are read at {cold}, cold; to keep the model busy the schedule needs {needed}",
                    fix: "move the recordings to a faster disk (a local SSD instead of a network or USB one), or \
                          make them smaller: `myxtts prepare --convert` writes mono FLAC once",
                },
            ],
        },
        fa: Texts {
            title: "دیسک کند است",
            meaning: "مدل منتظر مرحلهٔ میزبان می‌ماند و خواندنِ فایل‌ها بزرگ‌ترین بخشِ کار آن است؛ یا در آزمایش، خودِ فایل‌های \
                      داده، بدون حافظهٔ نهان، کندتر از نیازِ زمان‌بندی خوانده شدند.",
            forms: &[
                Form {
                    name: "run",
                    cause: "خواندن {share} از مرحلهٔ میزبان را می‌گیرد (هر گام {read} با {threads} رشته) و مدل {waiting} از گام را \
                            منتظر آن می‌ماند",
                    fix: "ضبط‌ها را روی دیسکِ تندتری بگذارید (SSD محلی به جای دیسکِ شبکه یا USB)، یا کوچک‌ترشان کنید: \
                          `myxtts prepare --convert` یک بار FLAC تک‌کانال می‌نویسد",
                },
                Form {
                    name: "probe",
                    cause: "فایل‌های داده، بدون حافظهٔ نهان، با {cold} خوانده می‌شوند؛ زمان‌بندی برای بیکار نماندنِ مدل {needed} می‌خواهد",
                    fix: "ضبط‌ها را روی دیسکِ تندتری بگذارید (SSD محلی به جای دیسکِ شبکه یا USB)، یا کوچک‌ترشان کنید: \
                          `myxtts prepare --convert` یک بار FLAC تک‌کانال می‌نویسد",
                },
            ],
        },
    },
};

fn look(signals: &Signals) -> Look {
    // A probe compares rates, so the rule can fire before anybody waits.
    let storage = &signals.storage;
    if let (Some(cold), Some(needed)) = (storage.cold.known(), storage.needed.known()) {
        if cold.0 >= needed.0 {
            return in_run(signals).or(Ok(None));
        }
        let finding = Finding::new(
            Code::SlowStorage,
            Severity::Problem,
            "probe",
            vec![
                Fact::new("cold", Value::MegabytesPerSecond(cold.0)),
                Fact::new("needed", Value::MegabytesPerSecond(needed.0)),
            ],
        );
        // `needed` was computed with the model's own time.
        let gain = match StepModel::of(signals) {
            Ok(model) => {
                let behind = Seconds(model.own().0 * (needed.0 / cold.0.max(1e-9) - 1.0));
                Gain::at_most_per_step(behind)
            }
            Err(_) => Gain::Unknown,
        };
        return Ok(Some(finding.gaining(gain)));
    }
    in_run(signals)
}

fn in_run(signals: &Signals) -> Look {
    most_of_host(signals, Code::SlowStorage, "read", &signals.pipeline.read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent, slow_disk};
    use crate::signal::Signal;
    use crate::units::MegabytesPerSecond;

    #[test]
    fn fires_where_reading_is_most_of_the_host_stage() {
        let finding = fires(look, &slow_disk());
        // The model needs 0.1 s, the host 0.9 without reading 0.05: all of the waiting goes.
        let gain = finding.gain.seconds().unwrap();
        let wait = slow_disk().steps.data_wait.known().unwrap().0;
        assert!((gain.0 - wait * 1000.0).abs() < 1e-6, "{gain}");
    }

    #[test]
    fn half_of_the_host_stage_is_not_enough() {
        let mut signals = slow_disk();
        let host = *signals.pipeline.host.known().unwrap();
        signals.pipeline.read = Seconds(host.busy.0 / 2.0).into();
        quiet(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn a_probe_compares_rates() {
        let mut signals = healthy();
        signals.storage.cold = MegabytesPerSecond(39.0).into();
        fires(look, &signals);
        signals.storage.cold = MegabytesPerSecond(40.0).into();
        quiet(look, &signals);
    }

    #[test]
    fn silent_without_the_time_of_reading() {
        let mut signals = slow_disk();
        signals.pipeline.read = Signal::unavailable("an older ledger");
        signals.storage.cold = Signal::unavailable("no probe");
        silent(look, &signals, "an older ledger");
    }
}
