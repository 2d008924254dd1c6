//! DATA_QUALITY: recordings that teach the model something wrong.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Fact, Finding, Severity};
use crate::signals::{Quality, Signals};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::Share;

/// The share of clips left out above which a person should look; the default of
/// `data.max_bad_fraction`.
const LEFT_OUT: Share = Share(0.01);
/// The same for clips that are kept and odd: more of them are usual.
const ODD: Share = Share(0.05);

pub(super) const RULE: Rule = Rule {
    code: Code::DataQuality,
    look,
    texts: Bilingual {
        en: Texts {
            title: "recordings need a look",
            meaning: "More than 1 % of the clips were left out, or more than 5 % are kept but odd: silence, clipping, several \
                      sample rates, the same audio twice, texts that do not fit their duration, characters outside the \
                      vocabulary.",
            forms: &[Form {
                name: "run",
                cause: "{clips} of {total} clips: {reasons}; for example {examples}",
                fix: "see every one with its reason in quarantine.jsonl and in the report of `myxtts prepare`; correct or \
                      remove them",
            }],
        },
        fa: Texts {
            title: "ضبط‌ها را باید دید",
            meaning: "بیش از ۱٪ قطعه‌ها کنار گذاشته شده‌اند، یا بیش از ۵٪ نگه داشته شده و غیرعادی‌اند: سکوت، بریدگیِ موج، نرخ‌های نمونه‌برداریِ گوناگون، \
                      صدای تکراری، متنی که به زمانش نمی‌خورد، نویسه‌های بیرون از واژگان.",
            forms: &[Form {
                name: "run",
                cause: "{clips} قطعه از {total} قطعه: {reasons}؛ برای نمونه {examples}",
                fix: "همه را با دلیلشان در quarantine.jsonl و در گزارشِ `myxtts prepare` ببینید؛ درستشان کنید یا کنارشان بگذارید",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let quality = signals.dataset.quality.need()?;
    let total = *signals.dataset.clips.need()?;
    let count = |left_out: bool| -> u64 {
        let faults = quality.iter().filter(|fault| fault.left_out == left_out);
        faults.map(|fault| fault.clips).sum()
    };
    let share = |clips: u64| Share(clips as f64 / total.max(1) as f64);
    let (left_out, odd) = (count(true), count(false));
    let shown: Vec<&Quality> = quality
        .iter()
        .filter(|fault| match fault.left_out {
            true => share(left_out) > LEFT_OUT,
            false => share(odd) > ODD,
        })
        .filter(|fault| fault.clips > 0)
        .collect();
    if shown.is_empty() {
        return Ok(None);
    }
    let clips: u64 = shown.iter().map(|fault| fault.clips).sum();
    let reasons: Vec<String> = shown
        .iter()
        .map(|fault| format!("{} {}", fault.reason, fault.clips))
        .collect();
    let examples: Vec<&str> = shown
        .iter()
        .flat_map(|fault| fault.examples.iter().map(String::as_str))
        .take(3)
        .collect();
    let severity = if share(left_out) > LEFT_OUT {
        Severity::Warning
    } else {
        Severity::Tip
    };
    let finding = Finding::new(
        Code::DataQuality,
        severity,
        "run",
        vec![
            Fact::count("clips", clips),
            Fact::count("total", total),
            Fact::text("reasons", reasons.join(", ")),
            Fact::text("examples", examples.join(", ")),
        ],
    );
    Ok(Some(finding))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;

    fn clips(clips: u64, left_out: bool) -> Signals {
        let mut signals = healthy();
        signals.dataset.clips = 1000.into();
        signals.dataset.quality = Signal::Known(vec![Quality {
            reason: "silent".to_owned(),
            clips,
            left_out,
            examples: vec!["metadata.csv:7".to_owned()],
        }]);
        signals
    }

    #[test]
    fn fires_with_reason_and_line() {
        let finding = fires(look, &clips(11, true));
        assert!(finding.cause.contains("silent 11"), "{}", finding.cause);
        assert!(
            finding.cause.contains("metadata.csv:7"),
            "{}",
            finding.cause
        );
        assert_eq!(fires(look, &clips(51, false)).severity, Severity::Tip);
    }

    #[test]
    fn a_few_are_allowed() {
        quiet(look, &clips(10, true));
        quiet(look, &clips(50, false));
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_a_report() {
        let mut signals = healthy();
        signals.dataset.quality = Signal::unavailable("no quarantine.jsonl");
        silent(look, &signals, "no quarantine.jsonl");
    }
}
