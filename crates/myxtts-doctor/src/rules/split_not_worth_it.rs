//! SPLIT_NOT_WORTH_IT: another mode was measured faster on these devices.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain, Severity};
use crate::signals::{ModeSpeed, Signals, Strategy};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::Seconds;

/// How many times as fast another mode must be; less is noise.
const FASTER: f64 = 1.03;

pub(super) const RULE: Rule = Rule {
    code: Code::SplitNotWorthIt,
    look,
    texts: Bilingual {
        en: Texts {
            title: "a separate data GPU does not pay off",
            meaning: "`myxtts profile` measured a mode that is faster than Multi-GPU Mode on the same devices.",
            forms: &[Form {
                name: "run",
                cause: "{mode} trains on {other} s of audio per second, Multi-GPU Mode on {split}: {ratio} times as fast",
                fix: "leave `--data-gpu` and `--model-gpu` out; with several GPUs, use `--multi-gpu`",
            }],
        },
        fa: Texts {
            title: "GPU جداگانه برای داده سودی ندارد",
            meaning: "`myxtts profile` روی همین دستگاه‌ها حالتِ دیگری را تندتر از Multi-GPU Mode سنجید.",
            forms: &[Form {
                name: "run",
                cause: "{mode} در هر ثانیه {other} ثانیه صدا را آموزش می‌دهد و Multi-GPU Mode {split}: {ratio} برابر",
                fix: "`--data-gpu` و `--model-gpu` را کنار بگذارید؛ با چند GPU، ‏`--multi-gpu`",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let strategy = *signals.settings.strategy.need()?;
    if !matches!(strategy, Strategy::Split | Strategy::SplitMirrored) {
        return Ok(None);
    }
    let modes = signals.steps.modes.need()?;
    let split = modes.iter().find(|mode| mode.in_use);
    let best = modes
        .iter()
        .filter(|mode| !mode.in_use)
        .max_by(|left, right| left.audio_per_second.total_cmp(&right.audio_per_second));
    let (Some(split), Some(best)) = (split, best) else {
        return Ok(None);
    };
    let ratio = best.audio_per_second / split.audio_per_second.max(1e-9);
    if ratio <= FASTER {
        return Ok(None);
    }
    let finding = Finding::new(
        Code::SplitNotWorthIt,
        Severity::Warning,
        "run",
        vec![
            Fact::text("mode", best.mode.clone()),
            Fact::number("other", best.audio_per_second),
            Fact::number("split", split.audio_per_second),
            Fact::number("ratio", ratio),
        ],
    );
    let gain = match signals.steps.step.known() {
        Some(step) => Gain::per_step(Seconds(step.0 * (1.0 - 1.0 / ratio))),
        None => Gain::Unknown,
    };
    Ok(Some(finding.gaining(gain).editing(edits(signals, best))))
}

fn edits(signals: &Signals, best: &ModeSpeed) -> Vec<Edit> {
    let old = |key: &str| signals.settings.key(key).map(str::to_owned);
    let mut edits: Vec<Edit> = ["data.data_gpu", "data.model_gpu"]
        .into_iter()
        .map(|key| Edit::new(key, old(key), "none"))
        .collect();
    if best.mode == "mirrored" {
        let key = "training.multi_gpu";
        edits.push(Edit::new(key, old(key), true));
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;

    fn compared(split: f64, mirrored: f64) -> Signals {
        let mut signals = healthy();
        signals.settings.strategy = Strategy::Split.into();
        let mode = |mode: &str, audio_per_second, in_use| ModeSpeed {
            mode: mode.to_owned(),
            audio_per_second,
            in_use,
        };
        signals.steps.modes = Signal::Known(vec![
            mode("split", split, true),
            mode("mirrored", mirrored, false),
        ]);
        signals
    }

    #[test]
    fn the_mode_that_won_is_named_with_its_ratio() {
        let finding = fires(look, &compared(100.0, 160.0));
        assert!(finding.cause.contains("1.60 times"), "{}", finding.cause);
        assert!((finding.gain.seconds().unwrap().0 - 37.5).abs() < 1e-6);
        assert_eq!(finding.edits.len(), 3);
    }

    #[test]
    fn not_where_split_is_as_fast() {
        quiet(look, &compared(100.0, 103.0));
        quiet(look, &healthy());
    }

    #[test]
    fn silent_where_modes_were_not_compared() {
        let mut signals = compared(1.0, 2.0);
        signals.steps.modes = Signal::unavailable("no comparison");
        silent(look, &signals, "no comparison");
    }
}
