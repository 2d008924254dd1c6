//! DEVICE_PREP: the data-device stage is slower than the train step.

use super::{Look, Rule, of_waiting};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain};
use crate::model::{Feed, FeedStage, StepModel};
use crate::signals::{CacheKind, Signals, TrainStage};
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};
use crate::verdict::MODERATELY;

pub(super) const RULE: Rule = Rule {
    code: Code::DevicePrep,
    look,
    texts: Bilingual {
        en: Texts {
            title: "preparing batches on the device is too slow",
            meaning: "The stage that makes mels and codes on the data device takes longer than the train step, and the \
                      model waits for it.",
            forms: &[
                Form {
                    name: "cache",
                    cause: "the device stage needs {device} a step and the model {own}: the model waits {waiting} of the \
                            step, and no codes are cached",
                    fix: "cache the codes of every clip, so that they are computed only once",
                },
                Form {
                    name: "split",
                    cause: "the device stage needs {device} a step and the model {own}: the model waits {waiting} of the step",
                    fix: "compute the codes before training (`myxtts prepare --encode --checkpoint RUN`), or give the \
                          data work a GPU of its own (`--data-gpu`, `--model-gpu`)",
                },
            ],
        },
        fa: Texts {
            title: "آماده‌سازی روی دستگاه کند است",
            meaning: "مرحله‌ای که روی دستگاهِ داده مِل و کُد می‌سازد بیش از یک گامِ آموزش زمان می‌برد و مدل منتظر آن می‌ماند.",
            forms: &[
                Form {
                    name: "cache",
                    cause: "مرحلهٔ دستگاه هر گام {device} می‌خواهد و مدل {own}: مدل {waiting} از گام را منتظر می‌ماند و کُدها نگه داشته نمی‌شوند",
                    fix: "کُدهای هر قطعه را نگه دارید تا تنها یک بار ساخته شوند",
                },
                Form {
                    name: "split",
                    cause: "مرحلهٔ دستگاه هر گام {device} می‌خواهد و مدل {own}: مدل {waiting} از گام را منتظر می‌ماند",
                    fix: "کُدها را پیش از آموزش بسازید (`myxtts prepare --encode --checkpoint RUN`)، یا به کارِ داده GPU جداگانه بدهید (`--data-gpu`، `--model-gpu`)",
                },
            ],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let model = StepModel::of(signals)?;
    if model.waiting() < MODERATELY {
        return Ok(None);
    }
    let device = *signals.pipeline.device.need()?;
    let is_slowest = model
        .feed
        .slowest()
        .is_some_and(|(stage, _)| stage == FeedStage::Device);
    let upload = signals.pipeline.upload.known().copied();
    // A stage that is mostly upload is left to GPU_TRANSFER.
    let is_upload = upload.is_some_and(|upload| upload.0 > device.busy.0 / 2.0);
    if !is_slowest || device.pace() <= model.own() || is_upload {
        return Ok(None);
    }
    let uses_codes = signals.settings.stage.known() != Some(&TrainStage::Dvae);
    let edit = uses_codes.then(|| cache_edit(signals)).flatten();
    let finding = Finding::new(
        Code::DevicePrep,
        of_waiting(&model),
        if edit.is_some() { "cache" } else { "split" },
        vec![
            Fact::seconds("device", device.pace()),
            Fact::seconds("own", model.own()),
            Fact::share("waiting", Share(model.waiting().0)),
        ],
    );
    let gain = Gain::per_step(saved(&model, upload, device.threads));
    Ok(Some(finding.gaining(gain).editing(edit)))
}

/// Returns the edit of `data.cache` from `none` to `disk`, where it is `none`.
pub(super) fn cache_edit(signals: &Signals) -> Option<Edit> {
    let off = signals.settings.cache.known() == Some(&CacheKind::None);
    off.then(|| Edit::new("data.cache", Some("none".to_owned()), "disk"))
}

/// Returns the seconds saved in a step without making codes: of the device stage only
/// the upload is left.
pub(crate) fn saved(model: &StepModel, upload: Option<Seconds>, threads: u32) -> Seconds {
    let left = upload.map_or(0.0, |upload| upload.0 / f64::from(threads.max(1)));
    let feed = Feed {
        device: Some(Seconds(left)),
        ..model.feed
    };
    model.saved(feed, model.own())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, long_dvae, quiet, silent};
    use crate::signal::Signal;

    #[test]
    fn fires_where_making_codes_takes_longer_than_a_step() {
        let finding = fires(look, &long_dvae());
        // 0.4 s a step; the model takes 0.1 s, the host 0.03 s.
        assert!((finding.gain.seconds().unwrap().0 - 300.0).abs() < 1e-6);
        assert_eq!(finding.form, "split");
        let mut signals = long_dvae();
        signals.settings.cache = CacheKind::None.into();
        let finding = fires(look, &signals);
        assert_eq!(finding.edits[0].new, "disk");
    }

    #[test]
    fn not_where_the_model_is_slower() {
        quiet(look, &healthy());
        let mut signals = long_dvae();
        signals.steps.data_wait = Seconds(0.004).into();
        quiet(look, &signals);
    }

    #[test]
    fn silent_without_the_device_stage() {
        let mut signals = long_dvae();
        signals.pipeline.device = Signal::unavailable("no ledger");
        silent(look, &signals, "no ledger");
    }
}
