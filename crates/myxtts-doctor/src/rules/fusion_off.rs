//! FUSION_OFF: every operation is a kernel of its own.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Finding, Gain, Severity};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};

pub(super) const RULE: Rule = Rule {
    code: Code::FusionOff,
    look,
    texts: Bilingual {
        en: Texts {
            title: "kernel fusion is off",
            meaning: "On a GPU every operation runs as a kernel of its own, as `--eager-debug` asks: good for debugging, slow \
                      for training.",
            forms: &[Form {
                name: "run",
                cause: "kernel fusion is off on a GPU: every operation is a kernel of its own, with its own trip to memory",
                fix: "switch it on; turning it off is meant for debugging only",
            }],
        },
        fa: Texts {
            title: "ادغامِ هسته‌های GPU خاموش است",
            meaning: "روی GPU هر عمل هستهٔ جداگانه‌ای است، چنان‌که `--eager-debug` می‌خواهد: برای اشکال‌زدایی خوب و برای آموزش کند.",
            forms: &[Form {
                name: "run",
                cause: "ادغامِ هسته‌ها روی GPU خاموش است: هر عمل هستهٔ جداگانه‌ای با رفت‌وآمدِ جداگانه به حافظه است",
                fix: "روشنش کنید؛ خاموش‌بودنش تنها برای اشکال‌زدایی است",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    if *signals.settings.fusion.need()? != Some(false) {
        return Ok(None);
    }
    let finding = Finding::new(Code::FusionOff, Severity::Problem, "run", Vec::new());
    let busy = signals
        .model_device()
        .and_then(|device| device.busy.known());
    let gain = match (signals.steps.step.known(), busy) {
        (Some(step), Some(busy)) => super::launch_bound::gain(*step, *busy),
        // Only a run with fusion tells how many kernels it would save.
        _ => Gain::Unknown,
    };
    let edit = Edit::new("training.enable_graph_mode", Some("false".to_owned()), true);
    Ok(Some(finding.gaining(gain).editing([edit])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, fusion_off, healthy, quiet, silent};
    use crate::signal::Signal;
    use crate::units::Seconds;

    #[test]
    fn fires_on_a_gpu_without_fusion() {
        let finding = fires(look, &fusion_off());
        assert_eq!(finding.edits[0].key, "training.enable_graph_mode");
        assert_eq!(finding.gain, Gain::AtMost(Seconds(50.0)));
    }

    #[test]
    fn not_with_it_and_not_on_the_cpu() {
        quiet(look, &healthy());
        let mut cpu = healthy();
        cpu.settings.fusion = Signal::Known(None);
        quiet(look, &cpu);
    }

    #[test]
    fn silent_without_a_plan() {
        let mut signals = healthy();
        signals.settings.fusion = Signal::unavailable("no plan.json");
        silent(look, &signals, "no plan.json");
    }
}
