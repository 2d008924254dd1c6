//! The timeline in the trace-event format, which Perfetto and Chrome open.
//!
//! A stage is a process, a thread of it a thread, a span a complete event, a
//! ring a counter. Times are microseconds, as on the ledger.

use std::collections::BTreeSet;
use std::io::{self, Write};

use myxtts_pipeline::PipelineStage;
use serde_json::{Map, Value, json};

use crate::profile::Profile;
use crate::timeline::{Kind, Thread};

/// Writes the whole ledger, the warm-up included, as one JSON object with an
/// event per line. `about` goes into it as it is: what was measured, and where.
///
/// # Errors
/// If the writer fails.
pub fn write_trace(
    profile: &Profile,
    about: &Map<String, Value>,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{{\"displayTimeUnit\":\"ms\",")?;
    writeln!(out, "\"otherData\":{},", Value::Object(about.clone()))?;
    writeln!(out, "\"traceEvents\":[")?;
    let events = names(profile)
        .into_iter()
        .chain(spans(profile))
        .chain(counters(profile))
        .chain([measured(profile)]);
    for (index, event) in events.enumerate() {
        let comma = if index == 0 { "" } else { ",\n" };
        write!(out, "{comma}{event}")?;
    }
    writeln!(out, "\n]}}")?;
    out.flush()
}

/// Returns the process that a stage is shown as; rings have one of their own above.
fn process(stage: PipelineStage) -> u64 {
    match stage {
        PipelineStage::Host => 2,
        PipelineStage::Device => 3,
        PipelineStage::Hop => 4,
        PipelineStage::Model => 5,
    }
}

/// The process that counters and the measured stretch are shown in.
const RINGS: u64 = 1;

fn title(stage: PipelineStage) -> &'static str {
    match stage {
        PipelineStage::Host => "host stage (decode, tokens)",
        PipelineStage::Device => "device stage (upload, mel, codes)",
        PipelineStage::Hop => "hop (data device to model device)",
        PipelineStage::Model => "model (train step)",
    }
}

fn meta(name: &str, process: u64, thread: usize, args: Value) -> Value {
    json!({ "ph": "M", "name": name, "pid": process, "tid": thread, "args": args })
}

fn names(profile: &Profile) -> Vec<Value> {
    let threads: Vec<Thread> = profile.timeline().threads().map(|(t, _)| t).collect();
    let stages: BTreeSet<PipelineStage> = threads.iter().map(|thread| thread.stage).collect();
    let mut events = vec![meta("process_name", RINGS, 0, json!({ "name": "rings" }))];
    for stage in stages {
        let id = process(stage);
        events.push(meta("process_name", id, 0, json!({ "name": title(stage) })));
        events.push(meta(
            "process_sort_index",
            id,
            0,
            json!({ "sort_index": id }),
        ));
    }
    events.extend(threads.iter().map(|thread| {
        let name = json!({ "name": thread.to_string() });
        meta("thread_name", process(thread.stage), thread.worker, name)
    }));
    events
}

fn spans(profile: &Profile) -> impl Iterator<Item = Value> {
    let spans = profile.timeline().threads().flat_map(|(_, spans)| spans);
    spans.map(|span| {
        let colour = match span.kind {
            Kind::Busy => "thread_state_running",
            Kind::WaitIn => "thread_state_iowait",
            Kind::WaitOut => "thread_state_sleeping",
        };
        json!({
            "ph": "X",
            "name": span.kind.name(),
            "cat": span.thread.stage.to_string(),
            "pid": process(span.thread.stage),
            "tid": span.thread.worker,
            "ts": span.begin_us,
            "dur": span.length_us(),
            "cname": colour,
            "args": { "batch": span.step, "lane": span.lane, "bytes": span.bytes },
        })
    })
}

fn counters(profile: &Profile) -> impl Iterator<Item = Value> {
    profile.rings.iter().flat_map(|ring| {
        let name = format!("{} ring {}", ring.ring, ring.number);
        ring.samples.iter().map(move |sample| {
            json!({
                "ph": "C",
                "name": name,
                "pid": RINGS,
                "tid": 0,
                "ts": sample.at_us,
                "args": { "batches": sample.batches },
            })
        })
    })
}

/// Returns the event that marks the stretch the report is about.
fn measured(profile: &Profile) -> Value {
    let window = profile.window();
    json!({
        "ph": "X",
        "name": format!("{} steps measured", profile.steps),
        "cat": "profile",
        "pid": RINGS,
        "tid": 1,
        "ts": window.begin_us,
        "dur": window.length_us(),
        "args": {},
    })
}
