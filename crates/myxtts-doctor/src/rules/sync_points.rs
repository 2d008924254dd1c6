//! SYNC_POINTS: the training thread waits for the device more than once a step.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Fact, Finding, Gain, Severity};
use crate::signal::Silent;
use crate::signals::{Signals, Strategy, TrainStage};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};
use crate::verdict::{HIGH_COST, MODERATE_COST};

/// The waits that a step may have: outside GPUs that train alone it reads its loss once, before it
/// is taken; a tenth more is a validation now and then.
const ALLOWED: f64 = 1.1;

pub(super) const RULE: Rule = Rule {
    code: Code::SyncPoints,
    look,
    texts: Bilingual {
        en: Texts {
            title: "training waits for the device too often",
            meaning: "The training thread reads from the device more than once a step. Every such wait empties the \
                      device's queue, and it is idle until new work is launched.",
            forms: &[Form {
                name: "run",
                cause: "the training thread waits for the device {syncs} times a step, {read_back} in all ({share} of the step)",
                fix: "read numbers every N steps, not in each: one read a step, that of the loss, is enough",
            }],
        },
        fa: Texts {
            title: "زیاد منتظر دستگاه می‌ماند",
            meaning: "رشتهٔ آموزش در هر گام بیش از یک بار از دستگاه می‌خواند. هر انتظار صفِ دستگاه را خالی می‌کند و دستگاه تا رسیدنِ کارِ تازه بیکار می‌ماند.",
            forms: &[Form {
                name: "run",
                cause: "رشتهٔ آموزش در هر گام {syncs} بار منتظر دستگاه می‌ماند، روی هم {read_back} ({share} از گام)",
                fix: "عددها را هر چند گام یک بار بخوانید، نه در هر گام: یک خواندن در هر گام، خواندنِ زیان، بس است",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let syncs = *signals.steps.syncs.need()?;
    if let Some(Strategy::Mirrored | Strategy::SplitMirrored) = signals.settings.strategy.known() {
        return Err(Silent(
            "replicas read their gradients to average them, which COLLECTIVE measures".to_owned(),
        ));
    }
    // The decoder and its discriminators are two steps in one.
    let reads = match signals.settings.stage.known() {
        Some(TrainStage::Decoder) => 2.0,
        _ => 1.0,
    };
    if syncs <= ALLOWED * reads {
        return Ok(None);
    }
    let step = *signals.steps.step.need()?;
    let read_back = *signals.steps.read_back.need()?;
    let saved = saved(signals, syncs, read_back);
    // Where a read takes no time, as on the processor, it costs nothing.
    if Share::of(saved, step) < MODERATE_COST {
        return Ok(None);
    }
    let severity = if Share::of(saved, step) >= HIGH_COST {
        Severity::Problem
    } else {
        Severity::Warning
    };
    let finding = Finding::new(
        Code::SyncPoints,
        severity,
        "run",
        vec![
            Fact::number("syncs", syncs),
            Fact::seconds("read_back", read_back),
            Fact::share("share", Share::of(read_back, step)),
        ],
    );
    Ok(Some(finding.gaining(Gain::per_step(saved))))
}

/// Returns the seconds saved in a step. With one wait, launching and computing
/// overlap, and the shorter of the two is hidden. With `syncs` waits the step is cut
/// into as many pieces that follow each other, and of what could be hidden only a
/// `syncs`-th part is. Where launching is not measured, all waits but one are the bound.
pub(super) fn saved(signals: &Signals, syncs: f64, read_back: Seconds) -> Seconds {
    let hidden = signals
        .steps
        .dispatch
        .known()
        .map_or(read_back.0, |dispatch| dispatch.0.min(read_back.0));
    Seconds(hidden * (1.0 - 1.0 / syncs.max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, many_syncs, quiet, silent};
    use crate::signal::Signal;

    #[test]
    fn the_gain_is_the_overlap_that_was_lost() {
        let finding = fires(look, &many_syncs());
        // 40 ms of launching and 60 ms of waiting, in 5 pieces.
        assert!((finding.gain.seconds().unwrap().0 - 32.0).abs() < 1e-6);
    }

    #[test]
    fn one_wait_a_step_is_allowed() {
        quiet(look, &healthy());
        let mut signals = many_syncs();
        signals.steps.syncs = 1.1.into();
        quiet(look, &signals);
        let mut signals = many_syncs();
        signals.steps.read_back = Seconds(0.003).into();
        quiet(look, &signals);
    }

    #[test]
    fn silent_where_waits_are_not_counted() {
        let mut signals = many_syncs();
        signals.steps.syncs = Signal::unavailable("an older run");
        silent(look, &signals, "an older run");
    }
}
