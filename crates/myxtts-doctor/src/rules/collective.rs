//! COLLECTIVE: averaging gradients takes a large part of the step.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain, Severity};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};
use crate::verdict::HIGH_COST;

/// The share that is severe: twice what is called high.
const SEVERE: Share = Share(0.30);

pub(super) const RULE: Rule = Rule {
    code: Code::Collective,
    look,
    texts: Bilingual {
        en: Texts {
            title: "averaging gradients takes too long",
            meaning: "The replicas spend more than 15 % of a step (30 %: severe) averaging their gradients.",
            forms: &[Form {
                name: "run",
                cause: "averaging gradients takes {collective} a step, {share} of it",
                fix: "average less often: accumulate more batches, or give every replica a larger batch; between CUDA GPUs, \
                      install NCCL",
            }],
        },
        fa: Texts {
            title: "میانگین‌گیریِ گرادیان‌ها زمان‌بر است",
            meaning: "رونوشت‌های مدل بیش از ۱۵٪ گام (۳۰٪: شدید) را صرفِ میانگین‌گیریِ گرادیان‌ها می‌کنند.",
            forms: &[Form {
                name: "run",
                cause: "میانگین‌گیریِ گرادیان‌ها هر گام {collective} می‌گیرد، {share} از آن",
                fix: "کمتر میانگین بگیرید: دسته‌های بیشتری را روی هم بگذارید یا به هر رونوشت دستهٔ بزرگ‌تری بدهید؛ میان GPUهای CUDA، NCCL را نصب کنید",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let step = *signals.steps.step.need()?;
    let collective = *signals.steps.collective.need()?;
    let share = Share::of(collective, step);
    if share <= HIGH_COST {
        return Ok(None);
    }
    let severity = if share > SEVERE {
        Severity::Problem
    } else {
        Severity::Warning
    };
    let finding = Finding::new(
        Code::Collective,
        severity,
        "run",
        vec![
            Fact::seconds("collective", collective),
            Fact::share("share", share),
        ],
    );
    let old = signals.settings.accumulation.known().copied();
    let edit = old.map(|old| {
        let key = "training.gradient_accumulation_steps";
        Edit::new(key, Some(old.to_string()), old * 2)
    });
    let gain = Gain::per_step(saved(collective, old.unwrap_or(1), old.unwrap_or(1) * 2));
    Ok(Some(finding.gaining(gain).editing(edit)))
}

/// Returns the seconds saved if the same clips are averaged every `new` batches in place
/// of every `old`.
pub(crate) fn saved(collective: Seconds, old: u32, new: u32) -> Seconds {
    Seconds(collective.0 * (1.0 - f64::from(old) / f64::from(new.max(1))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;

    fn collective(seconds: f64) -> Signals {
        let mut signals = healthy();
        signals.steps.collective = Seconds(seconds).into();
        signals
    }

    #[test]
    fn half_as_many_averages_save_half() {
        let finding = fires(look, &collective(0.02));
        assert_eq!(finding.edits[0].new, "2");
        assert!((finding.gain.seconds().unwrap().0 - 10.0).abs() < 1e-6);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(fires(look, &collective(0.031)).severity, Severity::Problem);
    }

    #[test]
    fn fifteen_percent_are_allowed() {
        quiet(look, &collective(0.015));
        quiet(look, &healthy());
    }

    #[test]
    fn silent_where_it_is_not_measured() {
        let mut signals = healthy();
        signals.steps.collective = Signal::unavailable("an older run");
        silent(look, &signals, "an older run");
    }
}
