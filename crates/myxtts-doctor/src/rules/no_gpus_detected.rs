//! NO_GPUS_DETECTED: no backend has a GPU.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Fact, Finding, Severity};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};

pub(super) const RULE: Rule = Rule {
    code: Code::NoGpusDetected,
    look,
    texts: Bilingual {
        en: Texts {
            title: "no GPU was found",
            meaning: "No backend of this build found a GPU; training runs on the processor. Each backend's own reason is shown.",
            forms: &[
                Form {
                    name: "cpu",
                    cause: "no GPU was found, so training runs on the processor ({reasons})",
                    fix: "if there is a card, install its driver, then run `myxtts devices`; for small models the processor will do",
                },
                Form {
                    name: "asked",
                    cause: "no GPU was found, but the configuration asks for one: {asked} ({reasons})",
                    fix: "install the card's driver, then run `myxtts devices`; or train on the processor with \
                          `--set training.backend=cpu`",
                },
            ],
        },
        fa: Texts {
            title: "هیچ GPU یافت نشد",
            meaning: "هیچ backend این ساخت GPU نیافت؛ آموزش روی پردازنده انجام می‌شود. دلیلِ هر backend نشان داده می‌شود.",
            forms: &[
                Form {
                    name: "cpu",
                    cause: "هیچ GPU یافت نشد، پس آموزش روی پردازنده انجام می‌شود ({reasons})",
                    fix: "اگر کارتی هست: درایورش را نصب کنید و سپس `myxtts devices`؛ برای مدل‌های کوچک پردازنده بس است",
                },
                Form {
                    name: "asked",
                    cause: "هیچ GPU یافت نشد و تنظیمات آن را می‌خواهد: {asked} ({reasons})",
                    fix: "درایورِ کارت را نصب کنید و سپس `myxtts devices`؛ یا با `--set training.backend=cpu` روی پردازنده آموزش دهید",
                },
            ],
        },
    },
};

/// Keys by which a person orders a GPU.
const ORDERS: [&str; 3] = ["data.data_gpu", "data.model_gpu", "training.visible_gpus"];

fn look(signals: &Signals) -> Look {
    let backends = signals.machine.backends.need()?;
    if backends.iter().any(|backend| !backend.gpus.is_empty()) {
        return Ok(None);
    }
    let reasons: Vec<String> = backends
        .iter()
        .map(|backend| {
            let why = backend.unavailable.as_deref().unwrap_or("no GPU");
            format!("{}: {why}", backend.name)
        })
        .collect();
    let mut facts = vec![Fact::text("reasons", reasons.join("; "))];
    let asked = asked(signals);
    let (form, severity) = match asked {
        Some(asked) => {
            facts.push(Fact::text("asked", asked));
            ("asked", Severity::Blocking)
        }
        None => ("cpu", Severity::Tip),
    };
    Ok(Some(Finding::new(
        Code::NoGpusDetected,
        severity,
        form,
        facts,
    )))
}

/// Returns what in the configuration orders a GPU: ids are an order, `multi_gpu` is
/// only a permission.
fn asked(signals: &Signals) -> Option<String> {
    let settings = &signals.settings;
    let ordered = ORDERS
        .into_iter()
        .find_map(|key| Some(format!("{key} {}", settings.key(key)?)));
    let backend = settings.key("training.backend");
    let backend = backend.filter(|backend| !["auto", "cpu"].contains(backend));
    ordered.or_else(|| Some(format!("training.backend {}", backend?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, set, silent};
    use crate::signal::Signal;
    use crate::signals::BackendFound;

    fn none() -> Signals {
        let mut signals = healthy();
        signals.machine.backends = Signal::Known(vec![BackendFound {
            name: "wgpu".to_owned(),
            gpus: Vec::new(),
            unavailable: Some("no Vulkan driver".to_owned()),
        }]);
        signals
    }

    #[test]
    fn a_tip_with_the_drivers_words_and_an_order_blocks() {
        let finding = fires(look, &none());
        assert_eq!(finding.severity, Severity::Tip);
        assert!(
            finding.cause.contains("wgpu: no Vulkan driver"),
            "{}",
            finding.cause
        );
        let mut signals = none();
        set(&mut signals, "training.backend", "cuda");
        assert_eq!(fires(look, &signals).severity, Severity::Blocking);
    }

    #[test]
    fn not_where_there_is_one() {
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_discovery() {
        let mut signals = none();
        signals.machine.backends = Signal::unavailable("a run folder does not hold it");
        silent(look, &signals, "a run folder does not hold it");
    }
}
