//! PAUSES: checkpoints, validation and samples interrupt the steps too long.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain, Severity};
use crate::signals::{Pauses, Signals};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};

/// Pauses that take more of the wall time than this are too long.
const TOO_MUCH: Share = Share(0.05);
/// Pauses above this share are the first thing to change.
const FAR_TOO_MUCH: Share = Share(0.20);
/// The share that the edit aims at: below the threshold, and not at it.
const AIM: f64 = 0.04;

pub(super) const RULE: Rule = Rule {
    code: Code::Pauses,
    look,
    texts: Bilingual {
        en: Texts {
            title: "training pauses for too long",
            meaning: "Checkpoints, validation and samples together take more than 5 % of the wall time, and the model \
                      does not train meanwhile.",
            forms: &[
                Form {
                    name: "every",
                    cause: "{share} of the wall time goes to pauses: validation {validation}, checkpoints {checkpoint}, samples \
                            {samples} in 1,000 steps",
                    fix: "do this less often",
                },
                Form {
                    name: "end",
                    cause: "{share} of the wall time goes to pauses: validation {validation}, checkpoints {checkpoint}, samples \
                            {samples} in 1,000 steps",
                    fix: "they come at the end of a stage only; a longer stage pauses for a smaller share",
                },
            ],
        },
        fa: Texts {
            title: "وقفه‌های آموزش درازند",
            meaning: "checkpointها، اعتبارسنجی و نمونه‌ها روی هم بیش از ۵٪ زمان را می‌گیرند و در این میان مدل آموزش نمی‌بیند.",
            forms: &[
                Form {
                    name: "every",
                    cause: "{share} از زمان وقفه است: اعتبارسنجی {validation}، checkpoint {checkpoint}، نمونه‌ها {samples} در هر ۱٬۰۰۰ گام",
                    fix: "آن را کمتر انجام دهید",
                },
                Form {
                    name: "end",
                    cause: "{share} از زمان وقفه است: اعتبارسنجی {validation}، checkpoint {checkpoint}، نمونه‌ها {samples} در هر ۱٬۰۰۰ گام",
                    fix: "تنها در پایانِ مرحله می‌آیند؛ در مرحله‌ای درازتر سهمشان کمتر است",
                },
            ],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let pauses = *signals.steps.pauses.need()?;
    let step = *signals.steps.step.need()?;
    let share = share(&pauses, step);
    if share <= TOO_MUCH {
        return Ok(None);
    }
    let severity = if share > FAR_TOO_MUCH {
        Severity::Problem
    } else {
        Severity::Warning
    };
    let per_thousand = |seconds: Seconds| Seconds(seconds.0 * 1000.0);
    let rarer = rarer(signals, &pauses, step);
    let finding = Finding::new(
        Code::Pauses,
        severity,
        if rarer.is_some() { "every" } else { "end" },
        vec![
            Fact::share("share", share),
            Fact::seconds("validation", per_thousand(pauses.validation)),
            Fact::seconds("checkpoint", per_thousand(pauses.checkpoint)),
            Fact::seconds("samples", per_thousand(pauses.samples)),
        ],
    );
    Ok(Some(match rarer {
        Some((edit, saved)) => finding.gaining(Gain::per_step(saved)).editing([edit]),
        None => finding.gaining(Gain::at_most_per_step(pauses.total())),
    }))
}

fn share(pauses: &Pauses, step: Seconds) -> Share {
    let total = pauses.total();
    Share::of(total, Seconds(step.0 + total.0))
}

/// Makes the longest of the three that happens every so many steps as much rarer as
/// brings all together below the threshold, as far as that one alone can.
fn rarer(signals: &Signals, pauses: &Pauses, step: Seconds) -> Option<(Edit, Seconds)> {
    let kinds = [
        ("training.validate_every", pauses.validation),
        ("training.checkpoint_every", pauses.checkpoint),
        ("training.sample_every", pauses.samples),
    ];
    let (key, longest, every) = kinds
        .into_iter()
        .filter_map(|(key, seconds)| {
            let every = signals.settings.number(key).filter(|every| *every > 0)?;
            Some((key, seconds, every))
        })
        .max_by(|(_, left, _), (_, right, _)| left.0.total_cmp(&right.0))?;
    if longest.0 <= 0.0 {
        return None;
    }
    let others = pauses.total().0 - longest.0;
    let allowed = (step.0 * AIM / (1.0 - AIM) - others).max(longest.0 / 100.0);
    let times = (longest.0 / allowed).ceil().clamp(2.0, 1000.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 2 to 1,000"
    )]
    let new = every.saturating_mul(times as u64);
    Some((
        Edit::new(key, Some(every.to_string()), new),
        saved(longest, every, new),
    ))
}

/// Returns the seconds saved in a step by a pause that is `new / old` times as rare.
pub(crate) fn saved(pause: Seconds, old: u64, new: u64) -> Seconds {
    Seconds(pause.0 * (1.0 - old as f64 / new.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{evaluation_pauses, fires, healthy, quiet, silent};
    use crate::signal::Signal;

    #[test]
    fn the_longest_pause_is_made_rarer() {
        let finding = fires(look, &evaluation_pauses());
        let edit = &finding.edits[0];
        assert_eq!(edit.key, "training.validate_every");
        assert_eq!(edit.old.as_deref(), Some("20"));
        let new: u64 = edit.new.parse().unwrap();
        // 50 ms a step; with the edit the pauses are below 5 %.
        let left = 0.05 * 20.0 / new as f64 + 0.001;
        assert!(left / (0.1 + left) < 0.05, "{new}");
        let expected = 50.0 * (1.0 - 20.0 / new as f64);
        assert!((finding.gain.seconds().unwrap().0 - expected).abs() < 1e-6);
    }

    #[test]
    fn five_percent_are_allowed() {
        let mut signals = healthy();
        let pause = |validation: f64| Pauses {
            checkpoint: Seconds(0.0),
            validation: Seconds(validation),
            samples: Seconds(0.0),
        };
        signals.steps.pauses = Signal::Known(pause(0.1 * 0.0499 / 0.9501));
        quiet(look, &signals);
        signals.steps.pauses = Signal::Known(pause(0.1 * 0.051 / 0.949));
        fires(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn silent_where_pauses_are_not_measured() {
        let mut signals = evaluation_pauses();
        signals.steps.pauses = Signal::unavailable("an older run");
        silent(look, &signals, "an older run");
    }
}
