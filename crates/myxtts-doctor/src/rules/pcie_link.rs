//! PCIE_LINK: the link is narrower or older than card and slot allow.

use super::{Look, Rule, gpu_transfer};
use crate::code::Code;
use crate::finding::{Fact, Finding, Gain, Severity};
use crate::model::StepModel;
use crate::signals::{PcieLink, Signals};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::Seconds;

pub(super) const RULE: Rule = Rule {
    code: Code::PcieLink,
    look,
    texts: Bilingual {
        en: Texts {
            title: "the PCIe link is slower than it could be",
            meaning: "A GPU never used the full width or generation of its PCIe link during the run.",
            forms: &[Form {
                name: "run",
                cause: "{device} runs at PCIe {generation}.0 x{width}; card and slot allow {max_generation}.0 x{max_width}",
                fix: "reseat the card, use the slot next to the processor, or replace the riser",
            }],
        },
        fa: Texts {
            title: "پیوندِ PCIe کندتر از توانش است",
            meaning: "GPU در این اجرا هرگز همهٔ پهنا یا نسلِ پیوندِ PCIe را به کار نبرده است.",
            forms: &[Form {
                name: "run",
                cause: "{device} با نسلِ {generation} و پهنای {width} کار می‌کند؛ کارت و شکاف تا نسلِ {max_generation} و پهنای {max_width} اجازه می‌دهند",
                fix: "کارت را دوباره جا بیندازید، از شکافِ نزدیک به پردازنده استفاده کنید، یا رایزر را عوض کنید",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let mut reason = None;
    for device in signals.gpus() {
        let link = match device.pcie.need() {
            Ok(link) => link,
            Err(silent) => {
                reason = reason.or(Some(silent));
                continue;
            }
        };
        if link.speed().0 >= 1.0 {
            continue;
        }
        let finding = Finding::new(
            Code::PcieLink,
            Severity::Warning,
            "run",
            vec![
                Fact::text("device", device.name.clone()),
                Fact::count("generation", link.generation),
                Fact::count("width", link.width),
                Fact::count("max_generation", link.max_generation),
                Fact::count("max_width", link.max_width),
            ],
        );
        return Ok(Some(finding.gaining(gain(signals, link))));
    }
    reason.map_or(Ok(None), Err)
}

/// Returns what uploads at full speed would save; unknown where they are not measured.
fn gain(signals: &Signals, link: &PcieLink) -> Gain {
    match (StepModel::of(signals), signals.pipeline.upload.known()) {
        (Ok(model), Some(upload)) => {
            let faster = Seconds(upload.0 * (1.0 - link.speed().0));
            Gain::at_most_per_step(gpu_transfer::saved(&model, faster))
        }
        _ => Gain::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;

    fn link(generation: u32, width: u32) -> Signals {
        let mut signals = healthy();
        signals.devices[0].pcie = Signal::Known(PcieLink {
            generation,
            width,
            max_generation: 4,
            max_width: 16,
        });
        signals
    }

    #[test]
    fn width_and_generation_each_fire() {
        let finding = fires(look, &link(4, 8));
        assert!(finding.cause.contains("PCIe 4.0 x8"), "{}", finding.cause);
        fires(look, &link(3, 16));
    }

    #[test]
    fn the_full_link_is_fine() {
        quiet(look, &link(4, 16));
        quiet(look, &healthy());
    }

    #[test]
    fn silent_where_the_link_cannot_be_read() {
        let mut signals = healthy();
        signals.devices[0].pcie = Signal::unavailable("no sysfs");
        silent(look, &signals, "no sysfs");
    }
}
