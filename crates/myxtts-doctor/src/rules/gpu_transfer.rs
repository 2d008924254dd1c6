//! GPU_TRANSFER: moving batches takes more than 15 % of a step.

use super::{Look, Rule};
use crate::code::Code;
use crate::finding::{Edit, Fact, Finding, Gain, Severity};
use crate::model::{Feed, StepModel};
use crate::signals::Signals;
use crate::texts::{Bilingual, Form, Texts};
use crate::units::{Seconds, Share};
use crate::verdict::{HIGH_COST, HIGHLY, MODERATELY};

pub(super) const RULE: Rule = Rule {
    code: Code::GpuTransfer,
    look,
    texts: Bilingual {
        en: Texts {
            title: "moving batches to the GPU is slow",
            meaning: "Uploading a step's batches, or moving them from the data GPU to the model GPU, takes more than \
                      15 % of the step.",
            forms: &[
                Form {
                    name: "waits",
                    cause: "moving a step's batches takes {transfer}, {share} of the step (upload {upload}, between \
                            devices {hop}), and the model waits {waiting} of it",
                    fix: "check the PCIe link (`myxtts devices`), keep codes cached so that waveforms need not be moved, and \
                          keep batches ready on the device",
                },
                Form {
                    name: "hidden",
                    cause: "moving a step's batches takes {transfer}, {share} of the step (upload {upload}, between \
                            devices {hop}); the model waits only {waiting} of it",
                    fix: "nothing is lost yet; a faster model would wait for it",
                },
            ],
        },
        fa: Texts {
            title: "جابه‌جاییِ دسته‌ها به GPU کند است",
            meaning: "بارگذاریِ دسته‌های یک گام، یا جابه‌جاییِ آن‌ها از GPU داده به GPU مدل، بیش از ۱۵٪ گام را می‌گیرد.",
            forms: &[
                Form {
                    name: "waits",
                    cause: "جابه‌جاییِ دسته‌های یک گام {transfer} زمان می‌برد، {share} از گام (بارگذاری {upload}، میان دستگاه‌ها {hop})، و مدل {waiting} از گام را منتظر می‌ماند",
                    fix: "پیوندِ PCIe را ببینید (`myxtts devices`)، کُدها را نگه دارید تا موج‌ها جابه‌جا نشوند، و بگذارید دسته‌ها روی دستگاه آماده بمانند",
                },
                Form {
                    name: "hidden",
                    cause: "جابه‌جاییِ دسته‌های یک گام {transfer} زمان می‌برد، {share} از گام (بارگذاری {upload}، میان دستگاه‌ها {hop})؛ مدل تنها {waiting} از گام را منتظر می‌ماند",
                    fix: "هنوز چیزی از دست نمی‌رود؛ مدلی تندتر منتظر آن می‌ماند",
                },
            ],
        },
    },
};

fn look(signals: &Signals) -> Look {
    let model = StepModel::of(signals)?;
    let stages = &signals.pipeline;
    let hop = stages.hop.known().map_or(Seconds(0.0), |hop| hop.pace());
    let upload = match (stages.upload.known(), stages.device.known()) {
        (Some(upload), Some(device)) => Seconds(upload.0 / f64::from(device.threads.max(1))),
        // Where there is a hop, the rule can still look at that.
        _ if stages.hop.known().is_some() => Seconds(0.0),
        _ => *stages.upload.need()?,
    };
    let transfer = Seconds(upload.0.max(hop.0));
    let share = Share::of(transfer, model.step);
    if share <= HIGH_COST {
        return Ok(None);
    }
    // Where another part of the device stage is slower, it is left to DEVICE_PREP.
    let device = model.feed.device.unwrap_or(Seconds(0.0));
    if hop.0 < upload.0 && upload.0 <= device.0 / 2.0 {
        return Ok(None);
    }
    let waits = model.waiting() >= MODERATELY;
    let severity = match waits {
        true if model.waiting() >= HIGHLY => Severity::Problem,
        true => Severity::Warning,
        false => Severity::Tip,
    };
    let finding = Finding::new(
        Code::GpuTransfer,
        severity,
        if waits { "waits" } else { "hidden" },
        vec![
            Fact::seconds("transfer", transfer),
            Fact::share("share", share),
            Fact::seconds("upload", upload),
            Fact::seconds("hop", hop),
            Fact::share("waiting", model.waiting()),
        ],
    );
    let gain = Gain::per_step(saved(&model, upload));
    Ok(Some(finding.gaining(gain).editing(edit(signals, &model))))
}

/// Switches the ring on the device on, or caches codes in place of moving waves, or,
/// where moving keeps up on average and comes in bursts, makes the ring deeper. A ring
/// of any depth runs empty where moving is slower than the model.
fn edit(signals: &Signals, model: &StepModel) -> Option<Edit> {
    let key = "data.prefetch_to_gpu";
    if signals.settings.key(key) == Some("false") {
        return Some(Edit::new(key, Some("false".to_owned()), true));
    }
    let is_slower = model
        .feed
        .slowest()
        .is_some_and(|(_, pace)| pace > model.own());
    if is_slower {
        return super::device_prep::cache_edit(signals);
    }
    let old = *signals.settings.device_ring.known()?;
    let buffer = signals.settings.number("data.pipeline_buffer_size");
    let new = u64::from(old * 2).min(buffer.unwrap_or(50).saturating_sub(1));
    let key = "data.prefetch_buffer_size";
    (new > u64::from(old)).then(|| Edit::new(key, Some(old.to_string()), new))
}

/// Returns the seconds saved in a step if nothing had to be moved.
pub(super) fn saved(model: &StepModel, upload: Seconds) -> Seconds {
    let device = model
        .feed
        .device
        .map(|pace| Seconds((pace.0 - upload.0).max(0.0)));
    let feed = Feed {
        device,
        hop: None,
        ..model.feed
    };
    model.saved(feed, model.own())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{fires, healthy, long_dvae, quiet, silent, slow_upload};
    use crate::signal::Signal;

    #[test]
    fn fires_where_the_upload_is_waited_for() {
        let finding = fires(look, &slow_upload());
        assert!((finding.gain.seconds().unwrap().0 - 200.0).abs() < 1e-6);
        assert_eq!(finding.severity, Severity::Problem);
        assert_eq!(finding.edits, [], "a deeper ring would run empty, too");
        let mut signals = slow_upload();
        signals.settings.cache = crate::signals::CacheKind::None.into();
        assert_eq!(fires(look, &signals).edits[0].key, "data.cache");
        crate::rules::testing::set(&mut signals, "data.prefetch_to_gpu", "false");
        assert_eq!(fires(look, &signals).edits[0].key, "data.prefetch_to_gpu");
    }

    #[test]
    fn bursts_want_a_deeper_ring() {
        let mut signals = healthy();
        signals.pipeline.upload = Seconds(0.019).into();
        signals.steps.data_wait = Seconds(0.01).into();
        let finding = fires(look, &signals);
        assert_eq!(finding.edits[0].key, "data.prefetch_buffer_size");
    }

    #[test]
    fn fifteen_percent_are_allowed() {
        let mut signals = healthy();
        signals.pipeline.upload = Seconds(0.015).into();
        quiet(look, &signals);
        signals.pipeline.upload = Seconds(0.0151).into();
        assert_eq!(fires(look, &signals).severity, Severity::Tip);
    }

    #[test]
    fn a_long_dvae_is_not_a_slow_upload() {
        quiet(look, &long_dvae());
    }

    #[test]
    fn silent_without_the_time_of_the_upload() {
        let mut signals = slow_upload();
        signals.pipeline.upload = Signal::unavailable("an older ledger");
        silent(look, &signals, "an older ledger");
    }
}
