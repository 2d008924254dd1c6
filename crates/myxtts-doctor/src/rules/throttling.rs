//! THROTTLING: the driver holds the clock down.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Fact, Finding, Gain, Severity};
use crate::signals::{Clock, Signals};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};
use crate::verdict::HIGH_COST;

/// The share of readings that is too much: one in twenty may be an accident.
const OFTEN: Share = Share(0.05);

pub(super) const RULE: Rule = Rule {
    code: Code::Throttling,
    look,
    texts: Bilingual {
        en: Texts {
            title: "the driver slows the GPU down",
            meaning: "In more than 5 % of the readings the driver reported that power or temperature held the clock down.",
            forms: &[Form {
                name: "run",
                cause: "{device} was slowed down in {share} of the readings: {reasons}",
                fix: "improve its cooling, or raise its power limit (`nvidia-smi -pl WATTS`) where the power supply allows it",
            }],
        },
        fa: Texts {
            title: "درایور GPU را کند می‌کند",
            meaning: "در بیش از ۵٪ خوانش‌ها درایور گفته است که توان یا دما فرکانس را پایین نگه می‌دارد.",
            forms: &[Form {
                name: "run",
                cause: "{device} در {share} از خوانش‌ها کند نگه داشته شده است: {reasons}",
                fix: "خنک‌سازی را بهتر کنید، یا اگر منبعِ تغذیه اجازه می‌دهد سقفِ توان را بالا ببرید (`nvidia-smi -pl WATTS`)",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let mut reason = None;
    for device in signals.gpus() {
        let throttled = match device.throttled.need() {
            Ok(throttled) => throttled,
            Err(silent) => {
                reason = reason.or(Some(silent));
                continue;
            }
        };
        if throttled.share <= OFTEN {
            continue;
        }
        let severity = if throttled.share >= HIGH_COST {
            Severity::Problem
        } else {
            Severity::Warning
        };
        let finding = Finding::new(
            Code::Throttling,
            severity,
            "run",
            vec![
                Fact::text("device", device.name.clone()),
                Fact::share("share", throttled.share),
                Fact::text("reasons", throttled.reasons.join(", ")),
            ],
        );
        let gain = match (signals.steps.step.known(), device.clock.known()) {
            (Some(step), Some(clock)) => gain(*step, clock),
            _ => Gain::Unknown,
        };
        return Ok(Some(finding.gaining(gain)));
    }
    reason.map_or(Ok(None), Err)
}

/// Bounds the gain: at best a step is as much shorter as the clock is below its highest.
fn gain(step: Seconds, clock: &Clock) -> Gain {
    let lost = 1.0 - (clock.mean_mhz / clock.max_mhz.max(1.0)).clamp(0.0, 1.0);
    Gain::at_most_per_step(Seconds(step.0 * lost))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;
    use crate::signals::Throttled;

    fn throttled(share: f64) -> Signals {
        let mut signals = healthy();
        signals.devices[0].throttled = Signal::Known(Throttled {
            share: Share(share),
            reasons: vec!["hw_thermal_slowdown".to_owned()],
        });
        signals.devices[0].clock = Signal::Known(Clock {
            mean_mhz: 1500.0,
            max_mhz: 2000.0,
        });
        signals
    }

    #[test]
    fn fires_with_the_drivers_words() {
        let finding = fires(look, &throttled(0.5));
        assert!(
            finding.cause.contains("hw_thermal_slowdown"),
            "{}",
            finding.cause
        );
        assert_eq!(finding.gain, Gain::AtMost(Seconds(25.0)));
    }

    #[test]
    fn now_and_then_is_allowed() {
        quiet(look, &throttled(0.05));
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_the_drivers_word() {
        let mut signals = healthy();
        signals.devices[0].throttled = Signal::unavailable("no driver library");
        silent(look, &signals, "no driver library");
    }
}
