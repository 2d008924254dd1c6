//! MIXED_PRECISION_OFF: the device computes in halves, and f32 is used.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Severity};
use crate::signals::{Precision, Signals};
use crate::texts::{Bilingual, Form, Texts};

pub(super) const RULE: Rule = Rule {
    code: Code::MixedPrecisionOff,
    look,
    texts: Bilingual {
        en: Texts {
            title: "mixed precision is off",
            meaning: "The GPU can compute in bf16, which is faster for the products of a large model, but the training uses f32.",
            forms: &[Form {
                name: "run",
                cause: "{device} can compute in bf16, but the training uses f32",
                fix: "compute products in bf16; master weights stay f32. `myxtts tune` measures what it gains",
            }],
        },
        fa: Texts {
            title: "دقتِ آمیخته خاموش است",
            meaning: "GPU با bf16 حساب می‌کند که برای ضرب‌های یک مدل بزرگ تندتر است، و آموزش با f32 انجام می‌شود.",
            forms: &[Form {
                name: "run",
                cause: "{device} با bf16 حساب می‌کند و آموزش با f32 انجام می‌شود",
                fix: "بگذارید ضرب‌ها با bf16 انجام شوند؛ وزن‌های اصلی f32 می‌مانند. `myxtts tune` سودِ آن را می‌سنجد",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    if !*signals.settings.on_gpu().need()? || *signals.settings.precision.need()? != Precision::F32
    {
        return Ok(None);
    }
    let Some(device) = signals.model_device() else {
        return Ok(None);
    };
    if !device.precisions.need()?.contains(&Precision::Bf16) {
        return Ok(None);
    }
    let finding = Finding::new(
        Code::MixedPrecisionOff,
        Severity::Tip,
        "run",
        vec![Fact::text("device", device.name.clone())],
    );
    let edit = Edit::new("training.precision", Some("f32".to_owned()), "bf16");
    Ok(Some(finding.editing([edit])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;

    fn single() -> Signals {
        let mut signals = healthy();
        signals.settings.precision = Precision::F32.into();
        signals
    }

    #[test]
    fn fires_where_the_device_could_and_the_training_does_not() {
        assert_eq!(fires(look, &single()).edits[0].new, "bf16");
    }

    #[test]
    fn not_where_the_device_cannot() {
        let mut signals = single();
        signals.devices[0].precisions = vec![Precision::F32, Precision::F16].into();
        quiet(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn silent_where_its_precisions_are_not_known() {
        let mut signals = single();
        signals.devices[0].precisions = Signal::unavailable("a run folder does not hold them");
        silent(look, &signals, "a run folder does not hold them");
    }
}
