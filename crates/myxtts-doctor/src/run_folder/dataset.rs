//! What a run folder and the dataset's own report say about the recordings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::lines;
use crate::signal::Signal;
use crate::signals::{BucketChoice, Quality, Signals};
use crate::units::Share;

/// The number of examples kept of each reason.
const EXAMPLES: usize = 3;
/// The most bytes that are read of a file; a report is some kilobytes.
const MOST: u64 = 16 << 20;

/// Fills in what is known about the recordings.
pub(super) fn fill(folder: &Path, signals: &mut Signals) {
    let quarantine = folder.join("quarantine.jsonl");
    let report = report(signals);
    let dataset = &mut signals.dataset;
    match &report {
        Some(report) => {
            dataset.clips = Signal::from_option(
                report.get("total").and_then(Value::as_u64),
                "the report of `prepare` has no total",
            );
            dataset.buckets =
                Signal::from_option(buckets(report), "the report of `prepare` has no padding");
        }
        None => {
            let why = "the report of `prepare` was not found beside the dataset";
            dataset.clips = Signal::unavailable(why);
            dataset.buckets = Signal::unavailable(why);
        }
    }
    dataset.quality = match left_out(&quarantine) {
        Ok(mut quality) => {
            quality.extend(report.iter().flat_map(odd));
            Signal::Known(quality)
        }
        Err(why) => Signal::unavailable(format!("quarantine.jsonl: {why}")),
    };
}

/// Reads `report.json` of the prepared dataset, where the configuration says it is.
fn report(signals: &Signals) -> Option<Value> {
    let settings = &signals.settings;
    let prepared = settings.key("data.prepared").map(PathBuf::from);
    let beside = settings
        .key("data.train_data")
        .map(|data| Path::new(data).join("myxtts"));
    [prepared, beside].into_iter().flatten().find_map(|folder| {
        let bytes = lines::tail(&folder.join("report.json"), MOST).ok()?;
        serde_json::from_slice(&bytes).ok()
    })
}

#[derive(Deserialize)]
struct Line {
    reason: String,
    #[serde(default)]
    source: String,
}

fn left_out(path: &Path) -> std::io::Result<Vec<Quality>> {
    let mut reasons: BTreeMap<String, Quality> = BTreeMap::new();
    lines::each(path, MOST, |line: Line| {
        let reason = line.reason.clone();
        let quality = reasons.entry(line.reason).or_insert_with(|| Quality {
            reason,
            clips: 0,
            left_out: true,
            examples: Vec::new(),
        });
        quality.clips += 1;
        if quality.examples.len() < EXAMPLES {
            quality.examples.push(line.source);
        }
    })?;
    Ok(reasons.into_values().collect())
}

/// Returns the clips that were kept and are odd, with the first of them.
fn odd(report: &Value) -> Vec<Quality> {
    let Some(findings) = report.get("findings").and_then(Value::as_array) else {
        return Vec::new();
    };
    let kept = findings
        .iter()
        .filter(|finding| finding.get("kept").and_then(Value::as_bool) == Some(true));
    let found = kept.filter_map(|finding| {
        let first = finding.get("first").and_then(Value::as_array);
        let examples = first.into_iter().flatten().take(EXAMPLES);
        Some(Quality {
            reason: finding.get("finding")?.as_str()?.to_owned(),
            clips: finding.get("count")?.as_u64()?,
            left_out: false,
            examples: examples
                .filter_map(|example| Some(example.get("source")?.as_str()?.to_owned()))
                .collect(),
        })
    });
    found.collect()
}

/// Returns the padding by number of buckets, without their edges.
fn buckets(report: &Value) -> Option<Vec<BucketChoice>> {
    let padding = report.get("padding")?.as_object()?;
    let choices = padding.iter().filter_map(|(buckets, percent)| {
        Some(BucketChoice {
            buckets: buckets.parse().ok()?,
            padding: Share(percent.as_f64()? / 100.0),
            edges: Vec::new(),
        })
    });
    let mut choices: Vec<BucketChoice> = choices.collect();
    choices.sort_by_key(|choice| choice.buckets);
    (!choices.is_empty()).then_some(choices)
}
