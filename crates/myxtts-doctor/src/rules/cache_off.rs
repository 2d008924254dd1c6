//! CACHE_OFF: the codes of every clip are made again in every epoch.

use super::{Look, Rule, device_prep};
use crate::code::Code;
use crate::finding::{Finding, Gain, Severity};
use crate::model::StepModel;
use crate::signals::{CacheKind, Signals, TrainStage};
use crate::texts::{Bilingual, Form, Texts};

pub(super) const RULE: Rule = Rule {
    code: Code::CacheOff,
    look,
    texts: Bilingual {
        en: Texts {
            title: "the feature cache is off",
            meaning: "The frozen DVAE computes the codes of every clip again in every epoch, although they never change.",
            forms: &[Form {
                name: "run",
                cause: "no codes are cached: the DVAE computes them again in every epoch",
                fix: "cache them; 100 hours of speech are about 16 MB of codes",
            }],
        },
        fa: Texts {
            title: "حافظهٔ نهانِ ویژگی‌ها خاموش است",
            meaning: "DVAEِ ثابت کُدهای هر قطعه را در هر دوره از نو می‌سازد، هرچند هرگز تغییر نمی‌کنند.",
            forms: &[Form {
                name: "run",
                cause: "کُدها نگه داشته نمی‌شوند: DVAE آن‌ها را در هر دوره از نو می‌سازد",
                fix: "نگهشان دارید؛ ۱۰۰ ساعت گفتار نزدیک به ۱۶ مگابایت کُد است",
            }],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let cache = *signals.settings.cache.need()?;
    // While the DVAE itself learns there are no codes to keep.
    let uses_codes = *signals.settings.stage.need()? != TrainStage::Dvae;
    if cache != CacheKind::None || !uses_codes {
        return Ok(None);
    }
    let finding = Finding::new(Code::CacheOff, Severity::Tip, "run", Vec::new());
    let gain = match (StepModel::of(signals), signals.pipeline.device.known()) {
        (Ok(model), Some(device)) => {
            let upload = signals.pipeline.upload.known().copied();
            Gain::per_step(device_prep::saved(&model, upload, device.threads))
        }
        _ => Gain::Unknown,
    };
    Ok(Some(
        finding
            .gaining(gain)
            .editing(device_prep::cache_edit(signals)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, quiet, silent};
    use crate::signal::Signal;

    #[test]
    fn fires_without_a_cache_where_codes_are_used() {
        let mut signals = healthy();
        signals.settings.cache = CacheKind::None.into();
        assert_eq!(fires(look, &signals).edits[0].key, "data.cache");
        signals.settings.stage = TrainStage::Dvae.into();
        quiet(look, &signals);
        quiet(look, &healthy());
    }

    #[test]
    fn silent_without_a_configuration() {
        let mut signals = healthy();
        signals.settings.cache = Signal::unavailable("no config.yaml");
        silent(look, &signals, "no config.yaml");
    }
}
