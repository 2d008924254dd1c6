//! PADDING: too much of every batch is padding.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain, Severity};
use crate::model::StepModel;
use crate::signals::{BucketChoice, Signals};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};

/// More padding than this is worth another bucket.
const TOO_MUCH: Share = Share(0.15);
/// Twice that usually costs more than anything else does.
const FAR_TOO_MUCH: Share = Share(0.30);
/// The most buckets that the configuration takes.
const MOST_BUCKETS: u32 = 64;

pub(super) const RULE: Rule = Rule {
    code: Code::Padding,
    look,
    texts: Bilingual {
        en: Texts {
            title: "too much padding",
            meaning: "More than 15 % of the positions that the model computes are padding: clips of different lengths \
                      share a shape.",
            forms: &[
                Form {
                    name: "edges",
                    cause: "{padding} of what the model computes is padding; data.buckets is {buckets}",
                    fix: "{more} buckets leave {left} padding; their edges (text tokens x codes): {edges}",
                },
                Form {
                    name: "buckets",
                    cause: "{padding} of what the model computes is padding; data.buckets is {buckets}",
                    fix: "{more} buckets leave about {left} padding",
                },
                Form {
                    name: "lengths",
                    cause: "{padding} of what the model computes is padding; data.buckets is {buckets}",
                    fix: "more buckets do not help: leave out the few very long clips (`data.max_mel_frames`, \
                          `data.max_text_length`)",
                },
            ],
        },
        fa: Texts {
            title: "پرکنندهٔ زیاد",
            meaning: "بیش از ۱۵٪ جایگاه‌هایی که مدل محاسبه می‌کند پرکننده (padding) است: قطعه‌هایی با درازاهای گوناگون یک شکل دارند.",
            forms: &[
                Form {
                    name: "edges",
                    cause: "{padding} از آنچه مدل محاسبه می‌کند پرکننده است؛ data.buckets برابر {buckets} است",
                    fix: "با {more} سطل {left} پرکننده می‌ماند؛ لبه‌هایشان (نشانه‌های متن در کُدها): {edges}",
                },
                Form {
                    name: "buckets",
                    cause: "{padding} از آنچه مدل محاسبه می‌کند پرکننده است؛ data.buckets برابر {buckets} است",
                    fix: "با {more} سطل نزدیک به {left} پرکننده می‌ماند",
                },
                Form {
                    name: "lengths",
                    cause: "{padding} از آنچه مدل محاسبه می‌کند پرکننده است؛ data.buckets برابر {buckets} است",
                    fix: "سطل‌های بیشتر کمکی نمی‌کنند: چند قطعهٔ بسیار بلند را کنار بگذارید (`data.max_mel_frames`، `data.max_text_length`)",
                },
            ],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let padding = *signals.steps.padding.need()?;
    if padding <= TOO_MUCH {
        return Ok(None);
    }
    let buckets = *signals.settings.buckets.need()?;
    let model = StepModel::of(signals)?;
    let better = better(signals, padding, buckets);
    let mut facts = vec![
        Fact::share("padding", padding),
        Fact::count("buckets", buckets),
    ];
    let form = match &better {
        Some(choice) if !choice.edges.is_empty() => "edges",
        Some(_) => "buckets",
        None => "lengths",
    };
    if let Some(choice) = &better {
        let edges: Vec<String> = choice
            .edges
            .iter()
            .map(|(text, codes)| format!("{text}x{codes}"))
            .collect();
        facts.push(Fact::count("more", choice.buckets));
        facts.push(Fact::share("left", choice.padding));
        facts.push(Fact::text("edges", edges.join(", ")));
    }
    let severity = if padding > FAR_TOO_MUCH {
        Severity::Problem
    } else {
        Severity::Warning
    };
    let finding = Finding::new(Code::Padding, severity, form, facts);
    Ok(Some(match better {
        Some(choice) => finding
            .gaining(Gain::per_step(saved(&model, padding, choice.padding)))
            .editing([Edit::new(
                "data.buckets",
                Some(buckets.to_string()),
                choice.buckets,
            )]),
        None => finding.gaining(Gain::at_most_per_step(saved(&model, padding, Share(0.0)))),
    }))
}

/// Returns the fewest buckets that pad less than the threshold, else the most that pad
/// clearly less than now; `None` where the data says that more do not help. Without
/// figures of the data, padding is taken to fall as the number of buckets grows, as it
/// does for lengths that are spread evenly.
fn better(signals: &Signals, padding: Share, buckets: u32) -> Option<BucketChoice> {
    let Some(choices) = signals.dataset.buckets.known() else {
        let more = (buckets * 2).clamp(8, MOST_BUCKETS);
        return (more > buckets).then(|| BucketChoice {
            buckets: more,
            padding: Share(padding.0 * f64::from(buckets) / f64::from(more)),
            edges: Vec::new(),
        });
    };
    let mut choices: Vec<&BucketChoice> = choices
        .iter()
        .filter(|choice| choice.buckets > buckets && choice.padding.0 < 0.9 * padding.0)
        .collect();
    choices.sort_by_key(|choice| choice.buckets);
    let enough = choices.iter().find(|choice| choice.padding <= TOO_MUCH);
    enough.or(choices.last()).map(|choice| (*choice).clone())
}

/// Returns the seconds saved per step's worth of clips: positions per clip fall from
/// 1 / (1 - before) to 1 / (1 - after), and the model's time with them.
pub(crate) fn saved(model: &StepModel, before: Share, after: Share) -> Seconds {
    let left = (1.0 - before.0) / (1.0 - after.0).max(1e-9);
    model.saved(model.feed, Seconds(model.own().0 * left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, padded, quiet, silent};
    use crate::signal::Signal;

    #[test]
    fn the_gain_is_that_of_the_positions() {
        let finding = fires(look, &padded());
        assert_eq!(finding.edits[0].key, "data.buckets");
        assert_eq!(finding.edits[0].new, "8");
        // Half of it padding; 8 buckets leave 10 %: 0.5 / 0.9 of the time stays.
        let own = 0.0995;
        let expected = own * (1.0 - 0.5 / 0.9) * 1000.0;
        assert!((finding.gain.seconds().unwrap().0 - expected).abs() < 1e-6);
    }

    #[test]
    fn where_more_buckets_do_not_help_it_says_so() {
        let mut signals = padded();
        signals.dataset.buckets = Signal::Known(vec![BucketChoice {
            buckets: 8,
            padding: Share(0.49),
            edges: Vec::new(),
        }]);
        let finding = fires(look, &signals);
        assert_eq!(finding.form, "lengths");
        assert!(finding.edits.is_empty());
    }

    #[test]
    fn without_figures_of_the_data_it_is_an_estimate_by_their_number() {
        let mut signals = padded();
        signals.dataset.buckets = Signal::unavailable("no report");
        signals.settings.buckets = 4.into();
        let finding = fires(look, &signals);
        assert_eq!(finding.edits[0].new, "8");
        assert_eq!(finding.form, "buckets");
    }

    #[test]
    fn fifteen_percent_are_allowed() {
        let mut signals = healthy();
        signals.steps.padding = Share(0.15).into();
        quiet(look, &signals);
        signals.steps.padding = Share(0.151).into();
        fires(look, &signals);
    }

    #[test]
    fn silent_without_the_padding() {
        let mut signals = healthy();
        signals.steps.padding = Signal::unavailable("an older run");
        silent(look, &signals, "an older run");
    }
}
