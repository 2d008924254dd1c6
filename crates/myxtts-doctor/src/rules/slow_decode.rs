//! SLOW_DECODE: decoding is most of the host stage, and the model waits for it.

use super::{Look, Rule, waits_for_host};
use crate::code::Code;
use crate::finding::{Fact, Finding, Gain, Severity};
use crate::model::{Feed, StepModel};
use crate::signals::Signals;
use crate::units::{Seconds, Share};
use crate::verdict::HIGHLY;
use crate::words::{Bilingual, Form, Texts};

const CAUSE_FA: &str = "رمزگشایی {share} از مرحلهٔ میزبان را می‌گیرد (هر گام {decode} با {threads} رشته) و مدل {waiting} از گام را منتظر آن می‌ماند";

pub(super) const RULE: Rule = Rule {
    code: Code::SlowDecode,
    look,
    texts: Bilingual {
        en: Texts {
            title: "decoding is too slow",
            meaning: "The model waits for the host stage, and decoding the recordings (MP3, AAC, Ogg, high sample \
                      rates) is more than half of its work.",
            forms: &[Form {
                name: "run",
                cause: "decoding takes {share} of the host stage ({decode} a step on {threads} threads), and the \
                        model waits {waiting} of the step for it",
                fix: "decode once: `myxtts prepare --convert` writes every clip as mono FLAC at the training rate, \
                      and trains on those",
            }],
        },
        fa: Texts {
            title: "رمزگشایی کند است",
            meaning: "مدل منتظر مرحلهٔ میزبان می‌ماند و رمزگشاییِ ضبط‌ها (MP3، AAC، Ogg، نرخ‌های نمونه‌برداریِ بالا) بیش از نیمِ کار آن است.",
            forms: &[Form {
                name: "run",
                cause: CAUSE_FA,
                fix: "یک بار رمزگشایی کنید: `myxtts prepare --convert` هر قطعه را به شکل FLAC تک‌کانال با نرخِ آموزش می‌نویسد و آموزش با آن‌ها انجام می‌شود",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let Some(model) = waits_for_host(signals)? else {
        return Ok(None);
    };
    let host = *signals.pipeline.host.need()?;
    let decode = *signals.pipeline.decode.need()?;
    let share = Share::of(decode, host.busy);
    if share.0 <= 0.5 {
        return Ok(None);
    }
    let severity = if model.waiting() >= HIGHLY {
        Severity::Problem
    } else {
        Severity::Warning
    };
    let finding = Finding::new(
        Code::SlowDecode,
        severity,
        "run",
        vec![
            Fact::share("share", share),
            Fact::seconds("decode", Seconds(decode.0 / f64::from(host.threads.max(1)))),
            Fact::count("threads", host.threads),
            Fact::share("waiting", model.waiting()),
        ],
    );
    Ok(Some(
        finding.gaining(Gain::per_step(saved(&model, signals))),
    ))
}

/// Seconds a step without the decoding: reading FLAC instead costs little
/// beside it, and is not counted.
pub(super) fn saved(model: &StepModel, signals: &Signals) -> Seconds {
    let (Some(host), Some(decode)) = (
        signals.pipeline.host.known(),
        signals.pipeline.decode.known(),
    ) else {
        return Seconds(0.0);
    };
    let rest = (host.busy.0 - decode.0) / f64::from(host.threads.max(1));
    let feed = Feed {
        host: Some(Seconds(rest.max(0.0))),
        ..model.feed
    };
    model.saved(feed, model.own())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent, slow_decode};
    use crate::signal::Signal;

    #[test]
    fn fires_where_decoding_is_most_of_the_host_stage() {
        let signals = slow_decode();
        let finding = fires(look, &signals);
        let wait = signals.steps.data_wait.known().unwrap().0;
        let gain = finding.gain.seconds().unwrap();
        assert!((gain.0 - wait * 1000.0).abs() < 1e-6, "{gain}");
    }

    #[test]
    fn what_remains_of_the_host_stage_is_still_waited_for() {
        let mut signals = slow_decode();
        let host = *signals.pipeline.host.known().unwrap();
        // The model's own 0.1 s; 4 threads; what is not decoding takes 0.2 s a step.
        signals.pipeline.decode = Seconds(host.busy.0 - 0.8).into();
        let gain = fires(look, &signals).gain.seconds().unwrap();
        let step = signals.steps.step.known().unwrap().0;
        assert!((gain.0 - (step - 0.2) * 1000.0).abs() < 1e-6, "{gain}");
    }

    #[test]
    fn half_of_the_host_stage_is_not_enough() {
        let mut signals = slow_decode();
        let host = *signals.pipeline.host.known().unwrap();
        signals.pipeline.decode = Seconds(host.busy.0 / 2.0).into();
        quiet(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_the_time_of_decoding() {
        let mut signals = slow_decode();
        signals.pipeline.decode = Signal::unavailable("an older ledger");
        silent(look, &signals, "an older ledger");
    }
}
