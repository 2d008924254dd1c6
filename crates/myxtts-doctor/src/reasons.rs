//! Why something is unavailable, in other words. Reasons are kept in English, as
//! they stand in files; what this program itself says is translated here, and
//! a driver's own words are left as they are.

use crate::lang::Lang;

/// A reason as it is kept, and in Persian. `{}` stands for what differs.
const PERSIAN: &[(&str, &str)] = &[
    ("it was not measured", "سنجیده نشده است"),
    ("it was never read", "هرگز خوانده نشده است"),
    (
        "this run does not measure it; a newer version writes it to metrics.jsonl",
        "این اجرا آن را نمی‌سنجد؛ نسخه‌ای تازه‌تر آن را در metrics.jsonl می‌نویسد",
    ),
    (
        "this run does not measure it; a newer version writes it to ledger.jsonl",
        "این اجرا آن را نمی‌سنجد؛ نسخه‌ای تازه‌تر آن را در ledger.jsonl می‌نویسد",
    ),
    (
        "no step after the warm-up has been written yet",
        "هنوز گامی پس از گرم‌شدن نوشته نشده است",
    ),
    ("no step has been written yet", "هنوز گامی نوشته نشده است"),
    (
        "the lines of metrics.jsonl have no times",
        "سطرهای metrics.jsonl زمان ندارند",
    ),
    (
        "this system does not report how long a thread waits for a core",
        "این سیستم نمی‌گوید که رشته چقدر منتظر هستهٔ پردازنده می‌ماند",
    ),
    (
        "the operations of this stage are not counted",
        "عمل‌های این مرحله شمرده نمی‌شوند",
    ),
    (
        "the kernels of this backend are not counted",
        "هسته‌های GPU در این backend شمرده نمی‌شوند",
    ),
    (
        "{} steps are too few to see a rhythm; 64 are enough",
        "{} گام برای دیدنِ ریتم کم است؛ ۶۴ گام بس است",
    ),
    (
        "replicas read their gradients to average them, which COLLECTIVE measures",
        "رونوشت‌ها گرادیان‌ها را برای میانگین‌گیری می‌خوانند، که COLLECTIVE آن را می‌سنجد",
    ),
    ("the steps took no time", "گام‌ها زمانی نبردند"),
    (
        "ledger.jsonl has no batch of this stage",
        "ledger.jsonl دسته‌ای از این مرحله ندارد",
    ),
    (
        "the stall ledger has no stages yet",
        "دفترِ انتظارها هنوز مرحله‌ای ندارد",
    ),
    (
        "devices.jsonl has no reading of this stage",
        "devices.jsonl خوانشی از این مرحله ندارد",
    ),
    (
        "the processor is read as the host, not as a device",
        "پردازنده به عنوان میزبان خوانده می‌شود، نه دستگاه",
    ),
    (
        "the device's memory is not known",
        "حافظهٔ دستگاه شناخته نیست",
    ),
    (
        "a run folder does not hold what device discovery found",
        "پوشهٔ اجرا آنچه را در شناساییِ دستگاه‌ها گفته شد نگه نمی‌دارد",
    ),
    (
        "a run folder does not hold a probe of the disk",
        "پوشهٔ اجرا آزمایشی از دیسک نگه نمی‌دارد",
    ),
    (
        "a run folder does not hold a headroom test",
        "پوشهٔ اجرا آزمونِ هزینهٔ بارکردن را نگه نمی‌دارد",
    ),
    (
        "too few steps were measured to compare them",
        "گام‌های سنجیده‌شده برای مقایسه کم‌اند",
    ),
    (
        "a run folder does not hold a comparison of modes; `myxtts profile` makes one",
        "پوشهٔ اجرا سنجشی از حالت‌ها نگه نمی‌دارد؛ `myxtts profile` آن را می‌سازد",
    ),
    (
        "a run folder does not hold which precisions the device supports",
        "پوشهٔ اجرا نگه نمی‌دارد که دستگاه با چه دقت‌هایی حساب می‌کند",
    ),
    ("config.yaml has no {}", "config.yaml {} ندارد"),
    ("config.yaml: {}", "config.yaml: {}"),
    ("quarantine.jsonl: {}", "quarantine.jsonl: {}"),
    ("there is no readable plan.json", "plan.json خواندنی نیست"),
    (
        "plan.json has no {} that this version knows",
        "plan.json چیزی به نام {} که این نسخه بشناسد ندارد",
    ),
    (
        "plan.json has no estimate of its memory",
        "plan.json برآوردی از حافظهٔ آن ندارد",
    ),
    (
        "the plan does not know the device's memory",
        "برنامه حافظهٔ دستگاه را نمی‌شناسد",
    ),
    (
        "its peak is not in the table of known cards",
        "اوجِ آن در جدولِ کارت‌های شناخته‌شده نیست",
    ),
    (
        "the report of `prepare` was not found beside the dataset",
        "گزارشِ `prepare` کنارِ داده یافت نشد",
    ),
    (
        "the report of `prepare` has no total",
        "گزارشِ `prepare` شمارِ کل ندارد",
    ),
    (
        "the report of `prepare` has no padding",
        "گزارشِ `prepare` پرکننده را نمی‌گوید",
    ),
    (
        "train.log has no progress line",
        "train.log سطری از پیشرفت ندارد",
    ),
    (
        "a probe does not read the device",
        "آزمایش، خودِ دستگاه را نمی‌خواند",
    ),
    (
        "a probe does not read the driver",
        "آزمایش، راه‌اندازِ دستگاه را نمی‌خواند",
    ),
    (
        "a probe does not look at the plan's estimate of memory",
        "آزمایش، برآوردِ برنامه از حافظه را نمی‌بیند",
    ),
    (
        "{} steps were measured, and a rhythm shows in 40",
        "{} گام سنجیده شد و آهنگِ گام‌ها در ۴۰ گام پیدا می‌شود",
    ),
    ("there is one replica", "یک رونوشت هست"),
    ("there is no such stage", "چنین مرحله‌ای نیست"),
    ("the stage does not say", "این مرحله آن را نمی‌گوید"),
    ("no step was measured", "گامی سنجیده نشد"),
    ("the system does not say", "سیستم آن را نمی‌گوید"),
    (
        "the system does not report whether files come from the disk",
        "سیستم نمی‌گوید که فایل‌ها از دیسک می‌آیند یا نه",
    ),
    (
        "the system does not drop files from memory when asked to: {}",
        "سیستم فایل‌ها را با درخواست فراموش نمی‌کند: {}",
    ),
    (
        "the files stay in memory: {}",
        "فایل‌ها در حافظه می‌مانند: {}",
    ),
];

/// Returns the reason in a language; a driver's own words stay as they are.
pub(crate) fn in_lang(reason: &str, lang: Lang) -> String {
    if lang == Lang::En {
        return reason.to_owned();
    }
    persian(reason).unwrap_or_else(|| reason.to_owned())
}

fn persian(reason: &str) -> Option<String> {
    PERSIAN.iter().find_map(|(en, fa)| {
        let Some((before, after)) = en.split_once("{}") else {
            return (*en == reason).then(|| (*fa).to_owned());
        };
        let middle = reason.strip_prefix(before)?.strip_suffix(after)?;
        let is_number = middle.chars().all(|c| c.is_ascii_digit());
        let middle = match is_number {
            true => Lang::Fa.digits(middle),
            false => middle.to_owned(),
        };
        Some(fa.replace("{}", &middle))
    })
}

/// Whether a reason is one of this program's own.
#[cfg(test)]
pub(crate) fn is_known(reason: &str) -> bool {
    persian(reason).is_some()
}
