//! The picture and the trace.

use std::collections::BTreeMap;

use myxtts_profile::{Kind, Profile, svg, write_trace};
use serde_json::{Map, Value};

use crate::entries::machine;

fn profile() -> Profile {
    let entries = machine(24, [4_000, 2_000, 5_000], 3);
    Profile::of(&entries, 8, 1, &[], 0.08)
}

fn trace(profile: &Profile) -> Value {
    let mut text = vec![];
    let about = Map::from_iter([("program".to_owned(), Value::from("myxtts"))]);
    write_trace(profile, &about, &mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn the_picture_is_what_it_was() {
    let picture = svg(&profile());
    assert!(picture.len() < 20_000, "{}", picture.len());
    insta::assert_snapshot!(picture);
}

/// Every tag that is opened is closed, and nothing lies outside the picture.
#[test]
fn the_picture_is_well_formed() {
    for steps in [0, 1, 3, 40] {
        let entries = machine(steps, [4_000, 2_000, 5_000], 3);
        let picture = svg(&Profile::of(&entries, 0, 1, &[], 0.08));
        let opened = picture.matches('<').count() - picture.matches("</").count();
        let closed = picture.matches("</").count() + picture.matches("/>").count();
        assert_eq!(opened, closed, "{picture}");
        assert!(
            !picture.contains("NaN") && !picture.contains("inf"),
            "{picture}"
        );
        for part in picture.split(" x=\"").skip(1) {
            let x: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=960.0).contains(&x), "{x}");
        }
    }
}

/// What Perfetto asks of a file: names for all that is shown, events of one
/// thread that do not cross, and lengths that are those of the ledger.
#[test]
fn the_trace_holds_every_span_of_the_ledger() {
    let profile = profile();
    let trace = trace(&profile);
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |kind: &'static str| events.iter().filter(move |event| event["ph"] == kind);
    let id = |event: &Value| {
        (
            event["pid"].as_u64().unwrap(),
            event["tid"].as_u64().unwrap(),
        )
    };
    let named: Vec<_> = of("M")
        .filter(|event| event["name"] == "thread_name")
        .map(id)
        .collect();
    let mut ends: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut busy = 0;
    for event in of("X").filter(|event| event["cat"] != "profile") {
        assert!(named.contains(&id(event)), "{event}");
        let (begin, length) = (
            event["ts"].as_u64().unwrap(),
            event["dur"].as_u64().unwrap(),
        );
        let end = ends.entry(id(event)).or_default();
        assert!(begin >= *end, "{event} begins before {end}");
        *end = begin + length;
        busy += if event["name"] == Kind::Busy.name() {
            length
        } else {
            0
        };
    }
    let entries = profile.timeline().entries();
    assert_eq!(busy, entries.iter().map(|entry| entry.busy_us).sum::<u64>());
    assert_eq!(ends.len(), 3);
    let counted: Vec<u64> = of("C")
        .filter(|event| event["name"] == "device ring 0")
        .map(|event| event["args"]["batches"].as_u64().unwrap())
        .collect();
    assert!(counted.contains(&0));
    assert!(counted.iter().all(|batches| *batches <= 3), "{counted:?}");
    assert_eq!(trace["otherData"]["program"], "myxtts");
}

#[test]
fn the_trace_of_two_batches_is_what_it_was() {
    let entries = machine(2, [4_000, 2_000, 5_000], 3);
    let mut text = vec![];
    let profile = Profile::of(&entries, 0, 1, &[], 0.01);
    write_trace(&profile, &Map::new(), &mut text).unwrap();
    insta::assert_snapshot!(String::from_utf8(text).unwrap());
}
