//! TOO_MANY_WORKERS: loading takes the cores, and the thread that launches
//! kernels waits for one.

use super::{Look, Rule, waits_for_host};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain, Severity};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};
use crate::verdict::{HIGH_COST, MODERATE_COST};

/// Loading that keeps more than this share of all cores busy crowds the host.
const CROWDED: Share = Share(0.80);

pub(super) const RULE: Rule = Rule {
    code: Code::TooManyWorkers,
    look,
    texts: Bilingual {
        en: Texts {
            title: "too many workers",
            meaning: "Worker threads keep more than four fifths of the processor busy, and the thread that launches \
                      the model's work waits for a core.",
            forms: &[Form {
                name: "run",
                cause: "{threads} workers keep {loading} of the {cores} cores busy, and the training thread waits \
                        {waited} of the step for a core",
                fix: "{workers} workers are enough for the batches that the model takes",
            }],
        },
        fa: Texts {
            title: "رشته‌های آماده‌سازی زیادند",
            meaning: "رشته‌های آماده‌سازی بیش از چهارپنجمِ پردازنده را می‌گیرند و رشته‌ای که کارِ مدل را روانه می‌کند منتظر هستهٔ پردازنده می‌ماند.",
            forms: &[Form {
                name: "run",
                cause: "{threads} رشتهٔ آماده‌سازی {loading} از {cores} هستهٔ پردازنده را می‌گیرند و رشتهٔ آموزش {waited} از گام را منتظر هسته می‌ماند",
                fix: "{workers} رشته به اندازهٔ نیازِ مدل دسته آماده می‌کنند",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    // A model that waits for the host stage would wait longer for fewer workers.
    if let Ok(Some(_)) = waits_for_host(signals) {
        return Ok(None);
    }
    let step = *signals.steps.step.need()?;
    let host = *signals.pipeline.host.need()?;
    let cores = *signals.machine.cores.need()?;
    let capacity = Seconds(step.0 * f64::from(cores.max(1)));
    // Waiting for a disk takes no core.
    let read = signals.pipeline.read.known().map_or(0.0, |read| read.0);
    let busy = Seconds((host.busy.0 - read).max(0.0));
    let loading = Share::of(busy, capacity);
    if loading <= CROWDED {
        return Ok(None);
    }
    let core_wait = *signals.steps.core_wait.need()?;
    let waited = Share::of(core_wait, step);
    let workers = workers(busy, step, core_wait, cores);
    if waited < MODERATE_COST || workers >= host.threads {
        return Ok(None);
    }
    let severity = if waited >= HIGH_COST {
        Severity::Problem
    } else {
        Severity::Warning
    };
    let finding = Finding::new(
        Code::TooManyWorkers,
        severity,
        "run",
        vec![
            Fact::count("threads", host.threads),
            Fact::share("loading", Share(loading.0.min(1.0))),
            Fact::count("cores", cores),
            Fact::share("waited", waited),
            Fact::count("workers", workers),
        ],
    );
    let old = signals.settings.workers.known().unwrap_or(&host.threads);
    let edit = Edit::new("data.num_workers", Some(old.to_string()), workers);
    Ok(Some(
        finding.gaining(Gain::per_step(core_wait)).editing([edit]),
    ))
}

/// Returns how many workers are enough. Crowded threads stretch their work: `busy`
/// counts the time without a core. On cores of their own they would have what the host
/// has to give, less what the training thread was kept waiting for, and at most one
/// core less than all.
fn workers(busy: Seconds, step: Seconds, core_wait: Seconds, cores: u32) -> u32 {
    let most = cores.saturating_sub(1).max(1);
    let real = busy.0.min(step.0 * f64::from(cores)) - core_wait.0;
    let needed = (real / step.0.max(1e-9)).floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded by cores"
    )]
    let needed = needed.clamp(1.0, f64::from(most)) as u32;
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent, too_many_workers};
    use crate::signal::Signal;

    #[test]
    fn fires_where_loading_crowds_out_the_training_thread() {
        let finding = fires(look, &too_many_workers());
        assert_eq!(finding.edits[0].key, "data.num_workers");
        assert!(finding.edits[0].new.parse::<u32>().unwrap() < 32);
        assert!((finding.gain.seconds().unwrap().0 - 40.0).abs() < 1e-6);
    }

    #[test]
    fn not_where_the_training_thread_has_its_core() {
        let mut signals = too_many_workers();
        signals.steps.core_wait = Seconds(0.001).into();
        quiet(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn four_fifths_are_not_yet_a_crowd() {
        let mut signals = too_many_workers();
        let step = signals.steps.step.known().unwrap().0;
        let mut host = *signals.pipeline.host.known().unwrap();
        host.busy = Seconds(0.8 * step * 16.0);
        signals.pipeline.host = host.into();
        quiet(look, &signals);
    }

    #[test]
    fn silent_without_the_wait_for_a_core() {
        let mut signals = too_many_workers();
        signals.steps.core_wait = Signal::unavailable("this system does not tell");
        silent(look, &signals, "this system does not tell");
    }
}
