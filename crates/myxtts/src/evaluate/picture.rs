//! Pictures for the page: mels as PNG, curves as SVG, all embedded in the page.

use std::fmt::Write;

use myxtts_audio::Mel;
use myxtts_run::base64;
use myxtts_run::tensorboard::mel_image;
use myxtts_score::{HOP, PitchTrack, RATE};

/// The width and height of a picture, in pixels.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 160.0;
/// The side of the square that shows the alignment, in pixels.
const SIDE: f64 = 240.0;
/// The margin for labels, in pixels.
const MARGIN: f64 = 40.0;
/// The pitches that are shown, in Hz.
const PITCHES: [f64; 4] = [75.0, 150.0, 300.0, 500.0];

/// Returns a mel as a data URL with the picture in it; `None` for an empty mel.
pub(super) fn mel(mel: &Mel) -> Option<String> {
    let [bands, frames] = [mel.bands, mel.frames.0].map(|size| u32::try_from(size).ok());
    let image = mel_image(&mel.values, bands?, frames?)?;
    Some(format!("data:image/png;base64,{}", base64(&image.png())))
}

/// Draws the pitch of two clips over the time of the first; the second is aligned to it.
pub(super) fn pitch(recording: &PitchTrack, clip: &PitchTrack, path: &[(usize, usize)]) -> String {
    let frames = recording.frames.len().max(1) as f64;
    let (low, high) = (50.0_f64.log2(), 520.0_f64.log2());
    let x = |frame: usize| MARGIN + frame as f64 / frames * WIDTH;
    let y = |hertz: f64| HEIGHT - (hertz.log2() - low) / (high - low) * HEIGHT;
    let mut svg = open(WIDTH + MARGIN, HEIGHT + 20.0);
    for hertz in PITCHES {
        let at = y(hertz);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{MARGIN}\" x2=\"{:.0}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"0\" y=\"{:.1}\">{hertz} Hz</text>",
            WIDTH + MARGIN,
            // The highest label would extend over the edge.
            at.max(10.0)
        );
    }
    let of_recording = recording.frames.iter().enumerate();
    let of_recording: Vec<_> = of_recording
        .map(|(frame, pitch)| pitch.map(|pitch| (x(frame), y(pitch.0))))
        .collect();
    let of_clip: Vec<_> = path
        .iter()
        .map(|(frame, other)| {
            let pitch = clip.frames.get(*other).copied().flatten();
            pitch.map(|pitch| (x(*frame), y(pitch.0)))
        })
        .collect();
    curve(&mut svg, "recording", &of_recording);
    curve(&mut svg, "clip", &of_clip);
    let _ = write!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{:.0}\">0 s</text><text x=\"{:.0}\" y=\"{0:.0}\">{:.1} s</text></svg>",
        HEIGHT + 16.0,
        WIDTH,
        seconds(recording.frames.len())
    );
    svg
}

/// Draws which frames of two clips belong together.
pub(super) fn alignment(path: &[(usize, usize)]) -> String {
    let (rows, columns) = path
        .last()
        .map_or((1, 1), |(row, column)| (row + 1, column + 1));
    let point = |(row, column): &(usize, usize)| {
        let x = MARGIN + *row as f64 / rows as f64 * SIDE;
        let y = SIDE - *column as f64 / columns as f64 * SIDE;
        Some((x, y))
    };
    let mut svg = open(SIDE + MARGIN, SIDE + 20.0);
    let _ = write!(
        svg,
        "<line class=\"grid\" x1=\"{MARGIN}\" y1=\"{SIDE}\" x2=\"{:.0}\" y2=\"0\"/>",
        SIDE + MARGIN
    );
    curve(
        &mut svg,
        "path",
        &path.iter().map(point).collect::<Vec<_>>(),
    );
    let _ = write!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{:.0}\">recording, {:.1} s</text>\
         <text x=\"0\" y=\"12\">{:.1} s</text></svg>",
        SIDE + 16.0,
        seconds(rows),
        seconds(columns)
    );
    svg
}

fn seconds(frames: usize) -> f64 {
    frames as f64 * HOP.0 as f64 / f64::from(RATE.hz())
}

fn open(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-size=\"11\" font-family=\"sans-serif\" fill=\"none\" \
         stroke-width=\"1.5\">"
    )
}

/// Draws a line through the points, broken where a point is missing.
fn curve(svg: &mut String, class: &str, points: &[Option<(f64, f64)>]) {
    let mut moves = String::new();
    let mut is_down = false;
    for point in points {
        if let Some((x, y)) = point {
            let step = if is_down { 'L' } else { 'M' };
            let _ = write!(moves, "{step}{x:.1} {y:.1}");
            if !is_down {
                // A single frame is a dot.
                moves.push_str("h0.5");
            }
        }
        is_down = point.is_some();
    }
    let _ = write!(
        svg,
        "<path class=\"{class}\" stroke-linecap=\"round\" d=\"{moves}\"/>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use myxtts_score::units::Hertz;

    #[test]
    fn curves_break_where_nothing_is_voiced() {
        let track = |pitches: &[Option<f64>]| PitchTrack {
            frames: pitches.iter().map(|pitch| pitch.map(Hertz)).collect(),
        };
        let one = track(&[Some(100.0), Some(110.0), None, Some(120.0)]);
        let two = track(&[None, Some(200.0), None, None]);
        let path = [(0, 0), (1, 1), (2, 2), (3, 3)];
        insta::assert_snapshot!(pitch(&one, &two, &path).replace('>', ">\n"));
        insta::assert_snapshot!(alignment(&path).replace('>', ">\n"));
    }
}
