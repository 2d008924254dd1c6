//! A few steps as a picture: a row per thread, a curve per ring.
//!
//! The steps are from the middle, because the stages ahead of the model have
//! nothing left to do at the end. Widths are rounded to a tenth of a point, so
//! that the same ledger gives the same picture.

use std::fmt::Write as _;

use myxtts_pipeline::PipelineStage;

use crate::occupancy::RingUse;
use crate::profile::Profile;
use crate::timeline::{Kind, Span, Window};

/// The number of the model's batches that are shown.
const BATCHES: usize = 8;
/// The most threads of a stage that are shown.
const THREADS: usize = 8;

const WIDTH: f64 = 960.0;
/// Names stand to the left of this.
const LEFT: f64 = 96.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 54.0;
const ROW: f64 = 16.0;
const GAP: f64 = 4.0;
const RING: f64 = 36.0;
const AXIS: f64 = 26.0;
/// The least distance between two marks on the axis.
const MARK: f64 = 90.0;

fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Busy => "#2f6f9f",
        Kind::WaitIn => "#e9b44c",
        Kind::WaitOut => "#d4d4d4",
    }
}

/// Draws the profile, as the text of an SVG file.
pub fn svg(profile: &Profile) -> String {
    let window = shown(profile);
    let mut body = String::new();
    let mut y = TOP;
    for stage in [
        PipelineStage::Host,
        PipelineStage::Device,
        PipelineStage::Hop,
        PipelineStage::Model,
    ] {
        let threads = profile.timeline().threads();
        let threads: Vec<_> = threads.filter(|(of, _)| of.stage == stage).collect();
        for (thread, spans) in threads.iter().take(THREADS) {
            row(&mut body, window, y, &thread.to_string(), spans);
            y += ROW + GAP;
        }
        if threads.len() > THREADS {
            let more = format!("{} more {stage} threads", threads.len() - THREADS);
            text(&mut body, LEFT, y + ROW - 4.0, "start", &more);
            y += ROW + GAP;
        }
        y += if threads.is_empty() { 0.0 } else { GAP };
    }
    for ring in &profile.rings {
        curve(&mut body, window, y, ring);
        y += RING + 2.0 * GAP;
    }
    axis(&mut body, window, y);
    let height = y + AXIS;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#222\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    head(&mut picture, profile, window);
    picture.push_str(&body);
    picture.push_str("</svg>\n");
    picture
}

/// Returns the window of the batches in the middle of what was measured, on the first
/// lane.
fn shown(profile: &Profile) -> Window {
    let whole = profile.window();
    let entries = profile.timeline().entries().iter();
    let model: Vec<_> = entries
        .filter(|entry| {
            entry.stage == PipelineStage::Model
                && entry.worker == 0
                && entry.at_us > whole.begin_us
                && entry.at_us <= whole.end_us
        })
        .collect();
    let first = model.len().saturating_sub(BATCHES) / 2;
    let last = (first + BATCHES).min(model.len());
    match (
        model.get(first),
        last.checked_sub(1).and_then(|last| model.get(last)),
    ) {
        (Some(first), Some(last)) => Window {
            begin_us: first.at_us.saturating_sub(first.busy_us + first.wait_in_us),
            end_us: last.at_us,
        },
        _ => whole,
    }
}

/// Returns the horizontal place of a moment.
fn x(window: Window, at_us: u64) -> f64 {
    let inside = at_us.clamp(window.begin_us, window.end_us) - window.begin_us;
    LEFT + (WIDTH - LEFT - RIGHT) * inside as f64 / window.length_us().max(1) as f64
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

fn head(out: &mut String, profile: &Profile, window: Window) {
    let model = profile.stages.iter();
    let batches: usize = model
        .filter(|stage| stage.stage == PipelineStage::Model)
        .map(|stage| stage.busy.count / stage.threads.max(1))
        .sum();
    let title = format!(
        "{} of {batches} batches of the model, {:.1} ms: one row per thread, one curve per ring",
        batches.min(BATCHES),
        window.length_us() as f64 / 1e3
    );
    text(out, LEFT, 20.0, "start", &title);
    let mut at = LEFT;
    for kind in [Kind::Busy, Kind::WaitIn, Kind::WaitOut] {
        let _ = writeln!(
            out,
            "<rect x=\"{at:.1}\" y=\"30\" width=\"12\" height=\"12\" fill=\"{}\"/>",
            colour(kind)
        );
        text(out, at + 18.0, 40.0, "start", kind.name());
        at += 120.0;
    }
}

fn row(out: &mut String, window: Window, y: f64, name: &str, spans: &[Span]) {
    text(out, LEFT - 8.0, y + ROW - 4.0, "end", name);
    for span in spans {
        let (begin, end) = (x(window, span.begin_us), x(window, span.end_us));
        // What is too thin to see is left out.
        if window.share_of(span.begin_us, span.end_us) == 0 || end - begin < 0.05 {
            continue;
        }
        let _ = writeln!(
            out,
            "<rect x=\"{begin:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{ROW}\" fill=\"{}\" \
             stroke=\"#fff\" stroke-width=\"0.6\">\
             <title>batch {}: {}, {:.2} ms</title></rect>",
            end - begin,
            colour(span.kind),
            span.step,
            span.kind.name(),
            span.length_us() as f64 / 1e3,
        );
    }
}

fn curve(out: &mut String, window: Window, y: f64, ring: &RingUse) {
    let name = format!("{} ring {}", ring.ring, ring.number);
    text(out, LEFT - 8.0, y + 12.0, "end", &name);
    let inside = ring.samples.iter();
    let inside: Vec<_> = inside
        .filter(|sample| sample.at_us > window.begin_us && sample.at_us < window.end_us)
        .collect();
    let mut before = ring.samples.iter();
    let before = before.rfind(|sample| sample.at_us <= window.begin_us);
    let start = before.map_or(0, |sample| sample.batches);
    let most = inside.iter().map(|sample| sample.batches).max();
    let most = most.unwrap_or(0).max(start).max(1);
    text(out, LEFT - 8.0, y + 26.0, "end", &format!("0 to {most}"));
    let at = |batches: usize| y + RING - RING * batches as f64 / most as f64;
    let mut path = format!("M{LEFT:.1} {:.1}", at(start));
    for sample in &inside {
        let _ = write!(
            path,
            "H{:.1}V{:.1}",
            x(window, sample.at_us),
            at(sample.batches)
        );
    }
    let _ = write!(path, "H{:.1}", WIDTH - RIGHT);
    let _ = writeln!(
        out,
        "<path d=\"{path}V{:.1}H{LEFT:.1}Z\" fill=\"#cfe0d4\" stroke=\"#5a8f69\"/>",
        y + RING
    );
}

fn axis(out: &mut String, window: Window, y: f64) {
    let span_ms = window.length_us() as f64 / 1e3;
    let marks = ((WIDTH - LEFT - RIGHT) / MARK).floor();
    let distance = round_distance(span_ms / marks);
    let mut at_ms = 0.0;
    while at_ms <= span_ms && distance > 0.0 {
        let x = LEFT + (WIDTH - LEFT - RIGHT) * at_ms / span_ms;
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {TOP}V{y:.1}\" stroke=\"#000\" stroke-opacity=\"0.12\"/>"
        );
        let label = match distance < 1.0 {
            true => format!("{at_ms:.2} ms"),
            false => format!("{at_ms:.0} ms"),
        };
        text(out, x, y + 14.0, "middle", &label);
        at_ms += distance;
    }
}

/// Returns 1, 2 or 5 times a power of ten: the first that is not below `least`.
fn round_distance(least: f64) -> f64 {
    if least <= 0.0 {
        return 0.0;
    }
    let power = 10.0_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps
        .into_iter()
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_at_round_numbers() {
        let of = [0.03, 1.0, 1.1, 7.0, 42.0, 0.0].map(round_distance);
        let want = [0.05, 1.0, 2.0, 10.0, 50.0, 0.0];
        for (of, want) in of.into_iter().zip(want) {
            assert!((of - want).abs() < 1e-9, "{of} {want}");
        }
    }
}
