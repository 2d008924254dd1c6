//! The verdict as one sentence, for a log, a status line, a report.

use crate::diagnose::Diagnosis;
use crate::lang::Lang;
use crate::reasons;
use crate::signals::Signals;
use crate::units::{Seconds, Share};
use crate::verdict::{CostKind, InputBound, SlowestStage};

/// Writes the verdict, as in "not input-bound: 0.4 % waiting; largest cost: padding
/// 11.0 %, try data.buckets: 12".
pub fn sentence(diagnosis: &Diagnosis, lang: Lang) -> String {
    let verdict = &diagnosis.verdict;
    let (bound, waiting) = match (verdict.input_bound.need(), verdict.waiting.need()) {
        (Ok(bound), Ok(waiting)) => (*bound, *waiting),
        (Err(why), _) | (_, Err(why)) => {
            let why = reasons::in_lang(&why.0, lang);
            return format!("{}: {why}", lang.pick("no verdict yet", "هنوز داوری نیست"));
        }
    };
    let mut text = match bound {
        InputBound::Highly => lang.pick("highly input-bound", "به شدت در بندِ داده"),
        InputBound::Moderately => lang.pick("moderately input-bound", "تا اندازه‌ای در بندِ داده"),
        InputBound::Not => lang.pick("not input-bound", "در بندِ داده نیست"),
    }
    .to_owned();
    let share = lang.percent(waiting.0);
    let stage = verdict
        .slowest_stage
        .known()
        .filter(|_| bound != InputBound::Not);
    text.push_str(": ");
    text.push_str(&match (stage, lang) {
        (Some(stage), Lang::En) => format!("{share} waiting for the {}", stage_name(*stage, lang)),
        (Some(stage), Lang::Fa) => format!("{share} انتظار برای {}", stage_name(*stage, lang)),
        (None, Lang::En) => format!("{share} waiting"),
        (None, Lang::Fa) => format!("{share} انتظار"),
    });
    let cost = verdict.largest_cost.filter(|_| bound == InputBound::Not);
    if let Some(cost) = cost {
        let name = cost_name(cost.kind, lang);
        let share = lang.percent(cost.share.0);
        text.push_str(&lang.pick(
            format!("; largest cost: {name} {share}"),
            format!("؛ بزرگ‌ترین هزینه: {name} {share}"),
        ));
    }
    let first = diagnosis.findings.first();
    if let Some(finding) = first.filter(|_| bound != InputBound::Not) {
        text.push_str(&format!(" ({}: {})", finding.code, finding.title(lang)));
    }
    if let Some(edit) = first.and_then(|finding| finding.edits.first()) {
        let (key, new) = (&edit.key, &edit.new);
        text.push_str(&lang.pick(
            format!(", try {key}: {new}"),
            format!("، بیازمایید {key}: {new}"),
        ));
    }
    text
}

/// Says what loading costs: measured with and without it where a probe did, else
/// by the waiting of the run.
pub(super) fn headroom(signals: &Signals, lang: Lang) -> Option<String> {
    let steps = &signals.steps;
    let (lost, whole) = match steps.headroom.known() {
        Some(found) => (
            Seconds((found.live.0 - found.cached.0).max(0.0)),
            found.live,
        ),
        None => (*steps.data_wait.known()?, *steps.step.known()?),
    };
    let share = lang.percent(Share::of(lost, whole).0);
    Some(match steps.remaining.known() {
        Some(remaining) => {
            let time = lang.duration(lost.0 * *remaining as f64);
            lang.pick(
                format!("loading costs you {share}, at most {time} of the rest of this run"),
                format!(
                    "بارکردنِ داده {share} هزینه دارد، حداکثر {time} از آنچه از این اجرا مانده است"
                ),
            )
        }
        None => lang.pick(
            format!("loading costs you {share}"),
            format!("بارکردنِ داده {share} هزینه دارد"),
        ),
    })
}

/// Names a stage in words.
pub(super) fn stage_name(stage: SlowestStage, lang: Lang) -> &'static str {
    match stage {
        SlowestStage::Host => lang.pick("host stage", "مرحلهٔ میزبان"),
        SlowestStage::Device => lang.pick("device stage", "مرحلهٔ دستگاه"),
        SlowestStage::Hop => lang.pick("move between devices", "جابه‌جایی میان دستگاه‌ها"),
    }
}

/// Names a cost in words.
fn cost_name(kind: CostKind, lang: Lang) -> &'static str {
    match kind {
        CostKind::Padding => lang.pick("padding", "پرکننده"),
        CostKind::Pauses => lang.pick("pauses", "وقفه‌ها"),
        CostKind::Collective => lang.pick("averaging gradients", "میانگین‌گیریِ گرادیان‌ها"),
        CostKind::Transfer => lang.pick("moving batches", "جابه‌جاییِ دسته‌ها"),
        CostKind::KernelLaunch => lang.pick("launching kernels", "روانه‌کردنِ هسته‌های GPU"),
        CostKind::Compiling => lang.pick("compiling kernels", "ساختنِ هسته‌های GPU"),
        CostKind::Unevenness => lang.pick("uneven steps", "ناهمواریِ گام‌ها"),
        CostKind::Synchronising => lang.pick("waiting for the device", "انتظار برای دستگاه"),
        CostKind::Cores => lang.pick("waiting for a core", "انتظار برای هستهٔ پردازنده"),
        CostKind::Straggler => lang.pick(
            "waiting for the slowest replica",
            "انتظار برای کندترین رونوشت",
        ),
    }
}
