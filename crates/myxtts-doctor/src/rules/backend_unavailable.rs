//! BACKEND_UNAVAILABLE: the backend that was asked for has no GPU, others do.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Severity};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};

pub(super) const RULE: Rule = Rule {
    code: Code::BackendUnavailable,
    look,
    texts: Bilingual {
        en: Texts {
            title: "the requested backend is not available",
            meaning: "`training.backend` names a backend that has no GPU, while another has one. The driver's own reason is shown.",
            forms: &[Form {
                name: "run",
                cause: "training.backend is {backend}, which is unavailable: {reason}",
                fix: "install its driver or build with its feature, or use {other}, which has {gpu}",
            }],
        },
        fa: Texts {
            title: "backendِ خواسته‌شده در دسترس نیست",
            meaning: "`training.backend` نامِ backendی است که GPU ندارد، و backend دیگری دارد. دلیلِ خودِ درایور نشان داده می‌شود.",
            forms: &[Form {
                name: "run",
                cause: "training.backend برابر {backend} است که در دسترس نیست: {reason}",
                fix: "درایورش را نصب کنید یا با feature آن بسازید، یا {other} را بردارید که {gpu} را دارد",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let backends = signals.machine.backends.need()?;
    let Some(asked) = signals.settings.key("training.backend") else {
        return Ok(None);
    };
    let named = backends.iter().find(|backend| backend.name == asked);
    let is_there = named.is_some_and(|backend| !backend.gpus.is_empty());
    let other = backends
        .iter()
        .find_map(|backend| Some((backend, backend.gpus.first()?)));
    let (false, false, Some((other, gpu))) = (["auto", "cpu"].contains(&asked), is_there, other)
    else {
        return Ok(None);
    };
    let reason = named.and_then(|backend| backend.unavailable.clone());
    let finding = Finding::new(
        Code::BackendUnavailable,
        Severity::Blocking,
        "run",
        vec![
            Fact::text("backend", asked),
            Fact::text(
                "reason",
                reason.unwrap_or_else(|| "this build does not have it".to_owned()),
            ),
            Fact::text("other", other.name.clone()),
            Fact::text("gpu", gpu.name.clone()),
        ],
    );
    let edit = Edit::new("training.backend", Some(asked.to_owned()), "auto");
    Ok(Some(finding.editing([edit])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, set, silent};
    use crate::signal::Signal;

    #[test]
    fn fires_where_another_backend_has_a_gpu() {
        let mut signals = healthy();
        set(&mut signals, "training.backend", "rocm");
        let finding = fires(look, &signals);
        assert_eq!(finding.severity, Severity::Blocking);
        assert!(finding.cause.contains("rocm"), "{}", finding.cause);
    }

    #[test]
    fn not_where_it_is_there_or_nobody_asked() {
        let mut signals = healthy();
        quiet(look, &signals);
        set(&mut signals, "training.backend", "cuda");
        quiet(look, &signals);
    }

    #[test]
    fn silent_without_discovery() {
        let mut signals = healthy();
        signals.machine.backends = Signal::unavailable("a run folder does not hold it");
        silent(look, &signals, "a run folder does not hold it");
    }
}
