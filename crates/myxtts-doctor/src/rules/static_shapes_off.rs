//! STATIC_SHAPES_OFF: any length may reach the device.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Finding, Severity};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};

pub(super) const RULE: Rule = Rule {
    code: Code::StaticShapesOff,
    look,
    texts: Bilingual {
        en: Texts {
            title: "static shapes are off",
            meaning: "On a GPU every new length of a batch may compile kernels again. Where that happened, RECOMPILING says \
                      how much it costs.",
            forms: &[Form {
                name: "run",
                cause: "static shapes are off on a GPU: every new length may compile kernels again",
                fix: "use a closed set of shapes",
            }],
        },
        fa: Texts {
            title: "شکل‌های ثابت خاموش‌اند",
            meaning: "روی GPU هر درازای تازهٔ دسته می‌تواند هسته‌های GPU را از نو بسازد. اگر چنین دیده شود، RECOMPILING هزینهٔ آن را می‌گوید.",
            forms: &[Form {
                name: "run",
                cause: "شکل‌های ثابت روی GPU خاموش‌اند: هر درازای تازه می‌تواند هسته‌های GPU را از نو بسازد",
                fix: "مجموعهٔ بسته‌ای از شکل‌ها به کار ببرید",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let on_gpu = *signals.settings.on_gpu().need()?;
    if !on_gpu || *signals.settings.static_shapes.need()? {
        return Ok(None);
    }
    let finding = Finding::new(Code::StaticShapesOff, Severity::Warning, "run", Vec::new());
    let edit = Edit::new("data.static_shapes", Some("false".to_owned()), true);
    Ok(Some(finding.editing([edit])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;
    use crate::signals::Strategy;

    #[test]
    fn fires_on_a_gpu_only() {
        let mut signals = healthy();
        signals.settings.static_shapes = false.into();
        assert_eq!(fires(look, &signals).edits[0].new, "true");
        signals.settings.strategy = Strategy::Cpu.into();
        quiet(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_a_plan() {
        let mut signals = healthy();
        signals.settings.static_shapes = Signal::unavailable("no plan.json");
        silent(look, &signals, "no plan.json");
    }
}
