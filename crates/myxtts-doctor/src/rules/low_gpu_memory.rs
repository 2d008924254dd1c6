//! LOW_GPU_MEMORY: the plan's estimate does not fit the device.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Severity};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::Megabytes;

pub(super) const RULE: Rule = Rule {
    code: Code::LowGpuMemory,
    look,
    texts: Bilingual {
        en: Texts {
            title: "the device has too little memory",
            meaning: "By the plan's estimate the training needs more memory than a device's budget.",
            forms: &[
                Form {
                    name: "batch",
                    cause: "by the plan's estimate the training needs {needed} on {device}, which has {budget}",
                    fix: "make the batch smaller",
                },
                Form {
                    name: "model",
                    cause: "by the plan's estimate the model alone needs {needed} on {device}, which has {budget}",
                    fix: "choose a smaller model (`--model-size`), or a device with more memory",
                },
            ],
        },
        fa: Texts {
            title: "حافظهٔ دستگاه کم است",
            meaning: "به برآوردِ برنامه، آموزش بیش از بودجهٔ دستگاه حافظه می‌خواهد.",
            forms: &[
                Form {
                    name: "batch",
                    cause: "به برآوردِ برنامه، آموزش روی {device} {needed} می‌خواهد و آن {budget} دارد",
                    fix: "دسته را کوچک کنید",
                },
                Form {
                    name: "model",
                    cause: "به برآوردِ برنامه، مدل به تنهایی روی {device} {needed} می‌خواهد و آن {budget} دارد",
                    fix: "مدلِ کوچک‌تری برگزینید (`--model-size`)، یا دستگاهی با حافظهٔ بیشتر",
                },
            ],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let mut reason = None;
    for device in signals.gpus() {
        let (estimate, budget) = match (device.estimate.need(), device.budget.need()) {
            (Ok(estimate), Ok(budget)) => (*estimate, *budget),
            (Err(silent), _) | (_, Err(silent)) => {
                reason = reason.or(Some(silent));
                continue;
            }
        };
        let needed = Megabytes(estimate.fixed.0 + estimate.growing.0);
        if needed <= budget {
            continue;
        }
        let edit = smaller(signals, estimate.fixed, estimate.growing, budget);
        let (form, needed) = match &edit {
            Some(_) => ("batch", needed),
            None => ("model", estimate.fixed),
        };
        // A training that runs shows that the estimate was too high.
        let runs = signals.steps.measured > 0;
        let severity = if runs {
            Severity::Warning
        } else {
            Severity::Blocking
        };
        let finding = Finding::new(
            Code::LowGpuMemory,
            severity,
            form,
            vec![
                Fact::megabytes("needed", needed),
                Fact::text("device", device.name.clone()),
                Fact::megabytes("budget", budget),
            ],
        );
        return Ok(Some(finding.editing(edit)));
    }
    reason.map_or(Ok(None), Err)
}

/// Returns the edit to the batch whose part fits beside what stays.
fn smaller(
    signals: &Signals,
    fixed: Megabytes,
    growing: Megabytes,
    budget: Megabytes,
) -> Option<Edit> {
    let batch = *signals.settings.batch_size.known()?;
    let room = budget.0.checked_sub(fixed.0)?;
    let fits = u64::from(batch) * room / growing.0.max(1);
    (fits >= 1).then(|| Edit::new("data.batch_size", Some(batch.to_string()), fits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;
    use crate::signals::Estimate;

    fn needs(fixed: u64, growing: u64) -> Signals {
        let mut signals = healthy();
        signals.steps.measured = 0;
        signals.devices[0].estimate = Signal::Known(Estimate {
            fixed: Megabytes(fixed),
            growing: Megabytes(growing),
        });
        signals
    }

    #[test]
    fn a_smaller_batch_or_a_smaller_model() {
        // 24,000 MB: 20,000 of 32,000 hold 20 of 32 rows.
        let finding = fires(look, &needs(4_000, 32_000));
        assert_eq!(
            (finding.form.as_str(), finding.edits[0].new.as_str()),
            ("batch", "20")
        );
        assert_eq!(finding.severity, Severity::Blocking);
        let finding = fires(look, &needs(30_000, 1_000));
        assert_eq!(finding.form, "model");
    }

    #[test]
    fn not_where_it_fits() {
        quiet(look, &needs(4_000, 20_000));
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_an_estimate() {
        let mut signals = healthy();
        signals.devices[0].estimate = Signal::unavailable("an older plan");
        silent(look, &signals, "an older plan");
    }
}
