//! RANK_SKEW: one replica is slower than the others, which wait for it.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Fact, Finding, Gain, Severity};
use crate::signals::{DeviceRole, Replica, Signals};
use crate::stats::median;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};
use crate::verdict::{HIGH_COST, MODERATE_COST};

/// The modified z-score above which a value is an outlier (Iglewicz and Hoaglin).
const OUTLIER: f64 = 3.5;

pub(super) const RULE: Rule = Rule {
    code: Code::RankSkew,
    look,
    texts: Bilingual {
        en: Texts {
            title: "one replica is slower than the others",
            meaning: "A replica's own step time has a modified z-score over 3.5 against the others, and all wait for it \
                      when gradients are averaged.",
            forms: &[Form {
                name: "run",
                cause: "replica {rank} ({device}) needs {slow} a step, the others {others}: a modified z-score of {score}",
                fix: "see what else runs on that device (`myxtts devices`, `myxtts monitor`), or leave it out with \
                      `--visible-gpus`",
            }],
        },
        fa: Texts {
            title: "یک رونوشتِ مدل کندتر از دیگران است",
            meaning: "زمانِ گامِ یک رونوشتِ مدل در سنجش با دیگران امتیازِ z اصلاح‌شدهٔ بیش از ۳٫۵ دارد و همه هنگام میانگین‌گیریِ گرادیان‌ها منتظر آن می‌مانند.",
            forms: &[Form {
                name: "run",
                cause: "رونوشتِ {rank} ({device}) هر گام {slow} می‌خواهد و دیگران {others}: امتیازِ z اصلاح‌شده {score}",
                fix: "ببینید چه چیز دیگری روی آن دستگاه اجرا می‌شود (`myxtts devices`، `myxtts monitor`)، یا آن را با `--visible-gpus` کنار بگذارید",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let replicas = signals.steps.replicas.need()?;
    let step = *signals.steps.step.need()?;
    let slowest = replicas
        .iter()
        .max_by(|left, right| left.step.0.total_cmp(&right.step.0));
    let Some(slowest) = slowest.filter(|replica| replica.z_score > OUTLIER) else {
        return Ok(None);
    };
    let Some(others) = others(replicas, slowest) else {
        return Ok(None);
    };
    let lost = Seconds(slowest.step.0 - others.0);
    let share = Share::of(lost, step);
    // Among replicas that are even to a hair, any difference is an outlier.
    if share < MODERATE_COST {
        return Ok(None);
    }
    let severity = if share >= HIGH_COST {
        Severity::Problem
    } else {
        Severity::Warning
    };
    let models = signals
        .devices
        .iter()
        .filter(|device| device.role == DeviceRole::Model);
    let device = models.map(|device| device.name.clone()).nth(slowest.rank);
    let finding = Finding::new(
        Code::RankSkew,
        severity,
        "run",
        vec![
            Fact::count("rank", slowest.rank as u64),
            Fact::text("device", device.unwrap_or_else(|| "?".to_owned())),
            Fact::seconds("slow", slowest.step),
            Fact::seconds("others", others),
            Fact::number("score", slowest.z_score),
        ],
    );
    Ok(Some(finding.gaining(Gain::per_step(lost))))
}

fn others(replicas: &[Replica], slowest: &Replica) -> Option<Seconds> {
    let others: Vec<f64> = replicas
        .iter()
        .filter(|replica| replica.rank != slowest.rank)
        .map(|replica| replica.step.0)
        .collect();
    median(&others).map(Seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent, straggler};
    use crate::signal::Signal;

    #[test]
    fn the_slow_device_is_named_and_its_lag_is_the_gain() {
        let finding = fires(look, &straggler());
        assert!(
            finding.cause.contains("replica 1 (GPU B)"),
            "{}",
            finding.cause
        );
        assert!((finding.gain.seconds().unwrap().0 - 50.0).abs() < 1e-6);
    }

    #[test]
    fn not_at_the_threshold_and_not_for_nothing() {
        let mut signals = straggler();
        let mut replicas = signals.steps.replicas.known().unwrap().clone();
        replicas[1].z_score = 3.5;
        signals.steps.replicas = replicas.clone().into();
        quiet(look, &signals);
        replicas[1].z_score = 90.0;
        replicas[1].step = Seconds(replicas[0].step.0 + 0.001);
        signals.steps.replicas = replicas.into();
        quiet(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn silent_where_replicas_are_not_timed() {
        let mut signals = straggler();
        signals.steps.replicas = Signal::unavailable("an older run");
        silent(look, &signals, "an older run");
    }
}
