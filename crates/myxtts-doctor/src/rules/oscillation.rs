//! OSCILLATION: steps do not follow each other evenly.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain, Severity};
use crate::signals::{Oscillation, Signals};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::Share;
use crate::verdict::MODERATE_COST;

/// The standard deviation over the mean above which steps are uneven.
const UNEVEN: f64 = 0.3;
/// The same above which they are very uneven.
const VERY_UNEVEN: f64 = 0.5;
/// The autocorrelation above which a repetition counts.
const REPEATS: f64 = 0.3;
/// The lags at which a repetition is looked for.
const LAGS: std::ops::RangeInclusive<usize> = 2..=19;

pub(super) const RULE: Rule = Rule {
    code: Code::Oscillation,
    look,
    texts: Bilingual {
        en: Texts {
            title: "step times are uneven",
            meaning: "The time of a step varies by more than 0.3 of its mean (0.5: severe) beyond what the length of \
                      its clips explains, or slow steps return with a period of 2 to 19 steps.",
            forms: &[
                Form {
                    name: "period",
                    cause: "every {period} steps one is slow (autocorrelation {strength}); the step time varies by \
                            {variation} of its mean",
                    fix: "find what happens every {period} steps: a checkpoint, a validation, another program; a deeper \
                          buffer hides what happens in the pipeline",
                },
                Form {
                    name: "variation",
                    cause: "the step time varies by {variation} of its mean, without a period",
                    fix: "look for other programs on this machine (`myxtts monitor` shows them as busy cores), and keep \
                          more batches ready",
                },
            ],
        },
        fa: Texts {
            title: "گام‌ها ناهموارند",
            meaning: "زمان گام بیش از ۰٫۳ میانگینش (۰٫۵: شدید) تغییر می‌کند، بیش از آنچه درازای قطعه‌ها توضیح می‌دهد؛ یا گام‌های کند با دورهٔ ۲ تا ۱۹ گام تکرار می‌شوند.",
            forms: &[
                Form {
                    name: "period",
                    cause: "از هر {period} گام یکی کند است (خودهمبستگی {strength})؛ زمان گام {variation} میانگینش تغییر می‌کند",
                    fix: "ببینید هر {period} گام چه روی می‌دهد: checkpoint، اعتبارسنجی، برنامه‌ای دیگر؛ صفِ بلندتر آنچه را در خط لوله روی می‌دهد پنهان می‌کند",
                },
                Form {
                    name: "variation",
                    cause: "زمان گام {variation} میانگینش تغییر می‌کند، بدون دوره",
                    fix: "برنامه‌های دیگرِ این دستگاه را ببینید (`myxtts monitor` آن‌ها را به شکل هسته‌های مشغول نشان می‌دهد) و بگذارید دسته‌های بیشتری آماده بمانند",
                },
            ],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let step = *signals.steps.step.need()?;
    let found = *signals.steps.oscillation.need()?;
    let period = found.period.filter(|period| {
        // A rhythm in the noise of even steps costs nothing.
        let costs = Share::of(found.excess, step) >= MODERATE_COST;
        LAGS.contains(&period.steps) && period.strength > REPEATS && costs
    });
    if found.variation <= UNEVEN && period.is_none() {
        return Ok(None);
    }
    let severity = if found.variation > VERY_UNEVEN {
        Severity::Problem
    } else {
        Severity::Warning
    };
    let mut facts = vec![Fact::number("variation", found.variation)];
    // A period that is longer than the rule's lags still names the pause.
    let named = found.period.filter(|period| period.strength > REPEATS);
    if let Some(period) = named {
        facts.push(Fact::count("period", period.steps as u64));
        facts.push(Fact::number("strength", period.strength));
    }
    let form = if named.is_some() {
        "period"
    } else {
        "variation"
    };
    let finding = Finding::new(Code::Oscillation, severity, form, facts);
    Ok(Some(finding.gaining(gain(&found)).editing(edit(signals))))
}

/// Bounds the gain: every step would be the median one.
fn gain(found: &Oscillation) -> Gain {
    Gain::at_most_per_step(found.excess)
}

/// Lets the pipeline adapt itself where it does not.
fn edit(signals: &Signals) -> Option<Edit> {
    let key = "data.optimize_cpu_gpu_overlap";
    let off = signals.settings.key(key) == Some("false");
    off.then(|| Edit::new(key, Some("false".to_owned()), true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;
    use crate::signals::Period;
    use crate::units::Seconds;

    fn uneven(variation: f64, period: Option<(usize, f64)>, excess: f64) -> Signals {
        let mut signals = healthy();
        signals.steps.oscillation = Signal::Known(Oscillation {
            variation,
            period: period.map(|(steps, strength)| Period { steps, strength }),
            excess: Seconds(excess),
        });
        signals
    }

    #[test]
    fn variation_and_period_each_fire() {
        assert_eq!(fires(look, &uneven(0.31, None, 0.01)).form, "variation");
        let severe = fires(look, &uneven(0.51, None, 0.01));
        assert_eq!(severe.severity, Severity::Problem);
        let finding = fires(look, &uneven(0.1, Some((7, 0.4)), 0.01));
        assert_eq!(finding.form, "period");
        assert!(finding.cause.contains("every 7 steps"), "{}", finding.cause);
        assert_eq!(finding.gain, Gain::AtMost(Seconds(10.0)));
    }

    #[test]
    fn not_at_the_thresholds() {
        quiet(look, &uneven(0.3, None, 0.01));
        quiet(look, &uneven(0.1, Some((7, 0.3)), 0.01));
        quiet(look, &uneven(0.1, Some((20, 0.9)), 0.01));
        quiet(look, &uneven(0.02, Some((7, 0.9)), 0.0001));
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_step_times() {
        let mut signals = healthy();
        signals.steps.oscillation = Signal::unavailable("12 steps are too few");
        silent(look, &signals, "12 steps are too few");
    }
}
