//! LOW_WORKERS: the host stage is the slowest while cores are idle.

use super::{Look, Rule, of_waiting, waits_for_host};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain};
use crate::model::{Feed, StepModel};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::Seconds;

/// Paces are means; workers for a tenth more keep the batches ahead.
const MARGIN: f64 = 1.1;

pub(super) const RULE: Rule = Rule {
    code: Code::LowWorkers,
    look,
    texts: Bilingual {
        en: Texts {
            title: "too few workers",
            meaning: "The model waits for the host stage while processor cores are idle: more worker threads \
                      would prepare batches side by side.",
            forms: &[Form {
                name: "run",
                cause: "the model waits {waiting} of the step for the host stage: {threads} of {cores} cores prepare \
                        batches, and {idle} are idle",
                fix: "use {workers} threads to prepare batches",
            }],
        },
        fa: Texts {
            title: "رشته‌های آماده‌سازی کم‌اند",
            meaning: "مدل منتظر مرحلهٔ میزبان می‌ماند و هم‌زمان هسته‌های پردازنده بیکارند: رشته‌های بیشتر دسته‌ها را کنار هم آماده می‌کنند.",
            forms: &[Form {
                name: "run",
                cause: "مدل {waiting} از گام را منتظر مرحلهٔ میزبان می‌ماند: {threads} هسته از {cores} هستهٔ پردازنده دسته‌ها را آماده می‌کنند و {idle} هسته بیکارند",
                fix: "بگذارید {workers} رشته دسته‌ها را آماده کنند",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let Some(model) = waits_for_host(signals)? else {
        return Ok(None);
    };
    let host = *signals.pipeline.host.need()?;
    let idle = idle_cores(signals)?;
    let workers = workers(&model, signals, idle);
    if workers <= host.threads {
        return Ok(None);
    }
    let finding = Finding::new(
        Code::LowWorkers,
        of_waiting(&model),
        "run",
        vec![
            Fact::share("waiting", model.waiting()),
            Fact::count("threads", host.threads),
            Fact::count("cores", *signals.machine.cores.need()?),
            Fact::count("idle", idle),
            Fact::count("workers", workers),
        ],
    );
    let old = signals.settings.workers.known().unwrap_or(&host.threads);
    let edit = Edit::new("data.num_workers", Some(old.to_string()), workers);
    let gain = Gain::per_step(saved(&model, signals, workers));
    Ok(Some(finding.gaining(gain).editing([edit])))
}

/// Returns the number of cores that nothing runs on, by the readings of all programs;
/// the one that launches kernels is not counted as idle. Where there are no readings,
/// the cores without a worker are counted.
fn idle_cores(signals: &Signals) -> Result<u32, crate::signal::Silent> {
    let cores = *signals.machine.cores.need()?;
    let threads = signals.pipeline.host.need()?.threads;
    let free = cores.saturating_sub(1);
    let busy = match signals.machine.cpu_busy.known() {
        Some(busy) => (busy.0 * f64::from(cores)).ceil(),
        None => f64::from(threads),
    };
    // Between 0 and the number of cores.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of cores"
    )]
    let busy = busy.clamp(0.0, f64::from(cores)) as u32;
    Ok(free.saturating_sub(busy))
}

/// Returns as many workers as keep up with the model, and not more than idle cores allow.
fn workers(model: &StepModel, signals: &Signals, idle: u32) -> u32 {
    let Some(host) = signals.pipeline.host.known() else {
        return 0;
    };
    let needed = (host.busy.0 * MARGIN / model.own().0.max(1e-9) - 1e-6).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded by cores"
    )]
    let needed = needed.clamp(0.0, f64::from(host.threads + idle)) as u32;
    needed
}

/// Returns the seconds saved in a step if the host stage's work were spread over
/// `workers` threads.
pub(crate) fn saved(model: &StepModel, signals: &Signals, workers: u32) -> Seconds {
    let Some(host) = signals.pipeline.host.known() else {
        return Seconds(0.0);
    };
    let feed = Feed {
        host: Some(Seconds(host.busy.0 / f64::from(workers.max(1)))),
        ..model.feed
    };
    model.saved(feed, model.own())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent, too_few_workers};
    use crate::signal::Signal;
    use crate::units::Share;

    #[test]
    fn fires_where_cores_are_idle_and_says_how_many_would_do() {
        let finding = fires(look, &too_few_workers());
        // 0.3 s of work, the model takes 0.1 s: 3.3 workers, so 4.
        assert_eq!(finding.edits[0].key, "data.num_workers");
        assert_eq!(finding.edits[0].new, "4");
        assert!((finding.gain.seconds().unwrap().0 - 200.0).abs() < 1e-6);
    }

    #[test]
    fn the_gain_is_what_the_cores_allow() {
        let mut signals = too_few_workers();
        signals.machine.cores = 3.into();
        signals.machine.cpu_busy = Share(0.3).into();
        let finding = fires(look, &signals);
        assert_eq!(finding.edits[0].new, "2");
        // From 0.3 s a step to 0.15 s.
        assert!((finding.gain.seconds().unwrap().0 - 150.0).abs() < 1e-6);
    }

    #[test]
    fn not_where_no_core_is_idle() {
        let mut signals = too_few_workers();
        signals.machine.cpu_busy = Share(0.95).into();
        quiet(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_the_number_of_cores() {
        let mut signals = too_few_workers();
        signals.machine.cores = Signal::unavailable("an older run");
        silent(look, &signals, "an older run");
    }
}
