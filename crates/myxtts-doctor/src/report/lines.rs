//! One line per section: the numbers it looked at.

use super::{Report, SectionName, sentence};
use crate::finding::Value;
use crate::lang::Lang;
use crate::peak_flops;
use crate::reasons;
use crate::signal::Signal;
use crate::signals::{CacheKind, DeviceSignals, Precision, Signals, Strategy};
use crate::units::{Seconds, Share};

/// Returns whether the section has anything to show.
pub(super) fn is_known(report: &Report, section: SectionName) -> bool {
    if section == SectionName::Verdict {
        return report.diagnosis.verdict.waiting.known().is_some();
    }
    parts(report, section, Lang::En).is_ok()
}

/// Returns the line of a section, or why there is none.
pub(super) fn line(report: &Report, section: SectionName, lang: Lang) -> String {
    match parts(report, section, lang) {
        Ok(parts) => parts.join(lang.pick(", ", "، ")),
        Err(why) => format!(
            "{}: {}",
            lang.pick("unavailable", "در دسترس نیست"),
            reasons::in_lang(&why, lang)
        ),
    }
}

/// Returns what is known, or why nothing is.
fn parts(report: &Report, section: SectionName, lang: Lang) -> Result<Vec<String>, String> {
    let signals = &report.signals;
    let parts = match section {
        SectionName::Environment => environment(report, lang),
        SectionName::Devices => {
            let devices = signals.devices.iter().map(|found| device(found, lang));
            devices.collect()
        }
        SectionName::Configuration => configuration(signals, lang),
        SectionName::Dataset => dataset(signals, lang),
        SectionName::Storage => storage(signals, lang),
        SectionName::PipelineSpeed => pipeline(signals, lang),
        SectionName::ModelStep => step(signals, lang),
        SectionName::Verdict => vec![sentence(&report.diagnosis, lang)],
    };
    if !parts.is_empty() {
        return Ok(parts);
    }
    Err(match section {
        SectionName::Devices => "there is no readable plan.json".to_owned(),
        SectionName::Dataset => why(&signals.dataset.clips),
        SectionName::Storage => why(&signals.storage.cold),
        SectionName::PipelineSpeed => why(&signals.pipeline.host),
        SectionName::ModelStep => why(&signals.steps.step),
        SectionName::Environment | SectionName::Configuration | SectionName::Verdict => {
            why(&signals.settings.strategy)
        }
    })
}

fn why<T>(signal: &Signal<T>) -> String {
    signal
        .need()
        .err()
        .map_or_else(String::new, |silent| silent.0)
}

fn environment(report: &Report, lang: Lang) -> Vec<String> {
    let machine = &report.signals.machine;
    let mut parts = vec![format!("myxtts {}", report.extra.version)];
    if let Some(cores) = machine.cores.known() {
        let cores = lang.value(&Value::Count(u64::from(*cores)));
        parts.push(lang.pick(format!("{cores} cores"), format!("{cores} هستهٔ پردازنده")));
    }
    if let Some(busy) = machine.cpu_busy.known() {
        let busy = lang.percent(busy.0);
        parts.push(lang.pick(format!("{busy} busy"), format!("{busy} مشغول")));
    }
    parts
}

fn device(device: &DeviceSignals, lang: Lang) -> String {
    let mut text = format!("{} ({})", device.name, device.backend);
    if let Some(busy) = device.busy.known() {
        let busy = lang.percent(busy.0);
        text.push_str(&lang.pick(format!(": busy {busy}"), format!(": {busy} مشغول")));
    }
    if let Some(memory) = device.memory.known() {
        let peak = lang.value(&Value::Megabytes(memory.peak.0));
        let budget = lang.value(&Value::Megabytes(memory.budget.0));
        text.push_str(&lang.pick(
            format!(", memory at most {peak} of {budget}"),
            format!("، حافظه حداکثر {peak} از {budget}"),
        ));
    }
    text
}

fn configuration(signals: &Signals, lang: Lang) -> Vec<String> {
    let settings = &signals.settings;
    let mut parts = Vec::new();
    if let Some(strategy) = settings.strategy.known() {
        parts.push(strategy_name(*strategy, lang).to_owned());
    }
    let count = |number: u32| lang.value(&Value::Count(u64::from(number)));
    if let (Some(batch), Some(accumulation)) =
        (settings.batch_size.known(), settings.accumulation.known())
    {
        let (batch, accumulation) = (count(*batch), count(*accumulation));
        parts.push(lang.pick(
            format!("batch {batch} x {accumulation}"),
            format!("دستهٔ {batch} × {accumulation}"),
        ));
    }
    if let Some(precision) = settings.precision.known() {
        let name = match precision {
            Precision::F32 => "f32",
            Precision::Bf16 => "bf16",
            Precision::F16 => "f16",
        };
        parts.push(name.to_owned());
    }
    if let Some(workers) = settings.workers.known() {
        let number = count(*workers);
        let word = if *workers == 1 { "worker" } else { "workers" };
        parts.push(lang.pick(
            format!("{number} {word}"),
            format!("{number} رشتهٔ آماده‌سازی"),
        ));
    }
    if let Some(buckets) = settings.buckets.known() {
        let number = count(*buckets);
        parts.push(lang.pick(format!("{number} buckets"), format!("{number} سطل")));
    }
    if let Some(cache) = settings.cache.known() {
        parts.push(
            match cache {
                CacheKind::None => lang.pick("no cache", "بدون حافظهٔ نهان"),
                CacheKind::Memory => lang.pick("cache in memory", "حافظهٔ نهان در حافظه"),
                CacheKind::Disk => lang.pick("cache on disk", "حافظهٔ نهان روی دیسک"),
            }
            .to_owned(),
        );
    }
    parts
}

fn strategy_name(strategy: Strategy, lang: Lang) -> &'static str {
    match strategy {
        Strategy::Cpu => lang.pick("on the processor", "روی پردازنده"),
        Strategy::OneDevice => lang.pick("one GPU", "یک GPU"),
        Strategy::Mirrored => lang.pick("mirrored over GPUs", "رونوشت روی چند GPU"),
        Strategy::Split => lang.pick(
            "a GPU for data, one for the model",
            "یک GPU برای داده، یکی برای مدل",
        ),
        Strategy::SplitMirrored => lang.pick(
            "a GPU for data, mirrored over the others",
            "یک GPU برای داده، رونوشت روی دیگران",
        ),
    }
}

fn dataset(signals: &Signals, lang: Lang) -> Vec<String> {
    let dataset = &signals.dataset;
    let mut parts = Vec::new();
    if let Some(clips) = dataset.clips.known() {
        let clips = lang.value(&Value::Count(*clips));
        parts.push(lang.pick(format!("{clips} clips"), format!("{clips} قطعه")));
    }
    if let Some(quality) = dataset.quality.known() {
        let left_out = quality.iter().filter(|fault| fault.left_out);
        let left_out = lang.value(&Value::Count(left_out.map(|fault| fault.clips).sum()));
        parts.push(lang.pick(
            format!("{left_out} left out"),
            format!("{left_out} کنار گذاشته‌شده"),
        ));
    }
    parts
}

fn storage(signals: &Signals, lang: Lang) -> Vec<String> {
    let storage = &signals.storage;
    let kinds = [
        (&storage.cold, lang.pick("cold", "بدون حافظهٔ نهان")),
        (&storage.warm, lang.pick("warm", "با حافظهٔ نهان")),
        (&storage.needed, lang.pick("needed", "نیاز")),
    ];
    kinds
        .into_iter()
        .filter_map(|(rate, name)| {
            let rate = lang.value(&Value::MegabytesPerSecond(rate.known()?.0));
            Some(format!("{name} {rate}"))
        })
        .collect()
}

fn pipeline(signals: &Signals, lang: Lang) -> Vec<String> {
    let stages = &signals.pipeline;
    let mut parts = Vec::new();
    if let Some(host) = stages.host.known() {
        let pace = lang.seconds(host.pace().0);
        let threads = lang.value(&Value::Count(u64::from(host.threads)));
        let word = if host.threads == 1 {
            "thread"
        } else {
            "threads"
        };
        let mut text = lang.pick(
            format!("host {pace} a step on {threads} {word}"),
            format!("میزبان هر گام {pace} با {threads} رشته"),
        );
        if let (Some(read), Some(decode)) = (stages.read.known(), stages.decode.known()) {
            let read = lang.percent(Share::of(*read, host.busy).0);
            let decode = lang.percent(Share::of(*decode, host.busy).0);
            text.push_str(&lang.pick(
                format!(" (reading {read}, decoding {decode})"),
                format!(" (خواندن {read}، رمزگشایی {decode})"),
            ));
        }
        parts.push(text);
    }
    let rest = [
        (&stages.device, lang.pick("device", "دستگاه")),
        (&stages.hop, lang.pick("between devices", "میان دستگاه‌ها")),
    ];
    for (stage, name) in rest {
        if let Some(stage) = stage.known() {
            parts.push(format!("{name} {}", lang.seconds(stage.pace().0)));
        }
    }
    if let Some(ready) = stages.ready.known() {
        let ready = lang.percent(ready.0);
        parts.push(lang.pick(
            format!("{ready} of batches ready when asked for"),
            format!("{ready} از دسته‌ها هنگام نیاز آماده"),
        ));
    }
    parts
}

fn step(signals: &Signals, lang: Lang) -> Vec<String> {
    let steps = &signals.steps;
    let Some(step) = steps.step.known() else {
        return Vec::new();
    };
    let time = lang.seconds(step.0);
    let measured = lang.value(&Value::Count(steps.measured));
    let mut parts = vec![lang.pick(
        format!("{time} a step over {measured} steps"),
        format!("هر گام {time} در {measured} گام"),
    )];
    if let Some(wait) = steps.data_wait.known() {
        let own = lang.seconds(Seconds((step.0 - wait.0).max(0.0)).0);
        parts.push(lang.pick(
            format!("{own} of it the model's own"),
            format!("{own} آن از خودِ مدل"),
        ));
    }
    if let Some(padding) = steps.padding.known() {
        let padding = lang.percent(padding.0);
        parts.push(lang.pick(format!("padding {padding}"), format!("پرکننده {padding}")));
    }
    if let Some(flops) = peak_flops::achieved(signals) {
        let (number, unit) = match flops.0 >= 1e12 {
            true => (flops.0 / 1e12, "TFLOP/s"),
            false => (flops.0 / 1e9, "GFLOP/s"),
        };
        let mut text = format!("{} {unit}", lang.value(&Value::Number(number)));
        if let Some(share) = peak_flops::share(signals) {
            let share = lang.percent(share.0);
            text.push_str(&lang.pick(
                format!(", {share} of the card's peak (an estimate)"),
                format!("، {share} از اوجِ کارت (برآورد)"),
            ));
        }
        parts.push(text);
    }
    parts
}
