//! DATA_LOADING: the model waits for the host stage.

use super::{Look, Rule, of_waiting, waits_for_host};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain};
use crate::model::StepModel;
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};

pub(super) const RULE: Rule = Rule {
    code: Code::DataLoading,
    look,
    texts: Bilingual {
        en: Texts {
            title: "the model waits for data",
            meaning: "The model waits for data for a twentieth of the step or more, and of the stages that \
                      feed it the host stage (reading, decoding, filling batches) is the slowest. \
                      Where a closer cause is known, it is shown instead: SLOW_STORAGE, SLOW_DECODE, LOW_WORKERS.",
            forms: &[
                Form {
                    name: "slow",
                    cause: "the model waits {waiting} of the step for the host stage, which needs {host} \
                            a step on {threads} threads; the model needs {own}",
                    fix: "reduce the work per clip (recordings at 22,050 Hz, in WAV or FLAC), or give the host \
                          more cores",
                },
                Form {
                    name: "bursts",
                    cause: "the model waits {waiting} of the step for the host stage, which keeps up on average \
                            ({host} a step on {threads} threads; the model needs {own}): batches come in bursts",
                    fix: "keep more batches ready",
                },
            ],
        },
        fa: Texts {
            title: "مدل منتظر داده می‌ماند",
            meaning: "مدل یک‌بیستمِ گام یا بیشتر منتظر داده می‌ماند و از میان مرحله‌هایی که به آن داده می‌رسانند، مرحلهٔ میزبان \
                      (خواندن، رمزگشایی، پرکردن دسته‌ها) از همه کندتر است. اگر علتِ نزدیک‌تری شناخته شود، به جای آن می‌آید: \
                      SLOW_STORAGE، SLOW_DECODE، LOW_WORKERS.",
            forms: &[
                Form {
                    name: "slow",
                    cause: "مدل {waiting} از گام را منتظر مرحلهٔ میزبان می‌ماند که با {threads} رشته، هر گام {host} زمان می‌خواهد؛ \
                            خودِ مدل {own} می‌خواهد",
                    fix: "کارِ هر قطعه را کوتاه کنید (ضبط‌ها با ۲۲٬۰۵۰ هرتز و به شکل WAV یا FLAC)، یا هسته‌های بیشتری به میزبان بدهید",
                },
                Form {
                    name: "bursts",
                    cause: "مدل {waiting} از گام را منتظر مرحلهٔ میزبان می‌ماند، هرچند این مرحله به طور میانگین می‌رسد \
                            (هر گام {host} با {threads} رشته؛ خودِ مدل {own}): دسته‌ها یک‌باره می‌آیند",
                    fix: "بگذارید دسته‌های بیشتری آماده بمانند",
                },
            ],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let Some(model) = waits_for_host(signals)? else {
        return Ok(None);
    };
    let host = signals.pipeline.host.need()?;
    let in_bursts = host.pace() <= model.own();
    let form = if in_bursts { "bursts" } else { "slow" };
    let finding = Finding::new(
        Code::DataLoading,
        of_waiting(&model),
        form,
        vec![
            Fact::share("waiting", model.waiting()),
            Fact::seconds("host", host.pace()),
            Fact::count("threads", host.threads),
            Fact::seconds("own", model.own()),
        ],
    );
    Ok(Some(
        finding
            .gaining(gain(&model))
            .editing(edit(signals, in_bursts)),
    ))
}

/// Bounds the gain by all the waiting: what the edit leaves of it only a measurement tells.
fn gain(model: &StepModel) -> Gain {
    Gain::at_most_per_step(model.wait)
}

/// Evens bursts out by a deeper buffer, or by letting it grow.
fn edit(signals: &Signals, in_bursts: bool) -> Option<Edit> {
    let settings = &signals.settings;
    let key = "data.optimize_cpu_gpu_overlap";
    if settings.key(key) == Some("false") {
        return Some(Edit::new(key, Some("false".to_owned()), true));
    }
    let key = "data.pipeline_buffer_size";
    let old = settings.number(key).filter(|_| in_bursts)?;
    Some(Edit::new(key, Some(old.to_string()), old * 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::rules::testing::{fires, healthy, quiet, set, silent, too_few_workers};
    use crate::signal::Signal;
    use crate::units::Seconds;

    #[test]
    fn moderate_from_a_twentieth_and_high_from_a_fifth() {
        let mut signals = too_few_workers();
        signals.steps.step = Seconds(0.1).into();
        signals.steps.data_wait = Seconds(0.0049).into();
        quiet(look, &signals);
        signals.steps.data_wait = Seconds(0.00501).into();
        assert_eq!(fires(look, &signals).severity, Severity::Warning);
        signals.steps.data_wait = Seconds(0.025).into();
        let finding = fires(look, &signals);
        assert_eq!(finding.severity, Severity::Problem);
        assert_eq!(finding.gain, Gain::AtMost(Seconds(25.0)));
        quiet(look, &healthy());
    }

    #[test]
    fn bursts_want_a_deeper_buffer() {
        let mut signals = healthy();
        signals.steps.data_wait = Seconds(0.03).into();
        let finding = fires(look, &signals);
        assert_eq!(finding.form, "bursts");
        assert_eq!(finding.edits[0].key, "data.pipeline_buffer_size");
        set(&mut signals, "data.optimize_cpu_gpu_overlap", "false");
        let finding = fires(look, &signals);
        assert_eq!(finding.edits[0].key, "data.optimize_cpu_gpu_overlap");
    }

    #[test]
    fn not_where_another_stage_is_slower() {
        quiet(look, &crate::rules::testing::long_dvae());
    }

    #[test]
    fn silent_without_a_ledger() {
        let mut signals = too_few_workers();
        signals.pipeline.host = Signal::unavailable("no ledger.jsonl");
        silent(look, &signals, "no ledger.jsonl");
    }
}
