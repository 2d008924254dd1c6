//! The messages of an event file. The numbers are field numbers of TensorFlow's
//! `event.proto`, `summary.proto` and `tensor.proto`.

use super::proto::Message;
use super::{Histogram, Image, Wav};
use crate::units::Step;

/// The value `DT_STRING` in `types.proto`.
const STRING: u64 = 7;
/// The value `START` of `SessionLog`.
const START: u64 = 1;
/// Three channels without alpha, in `Summary.Image`.
const RGB: u64 = 3;

/// Makes the event that every file begins with.
pub(super) fn version(wall_time: f64) -> Message {
    Message::default()
        .double(1, wall_time)
        .blob(3, b"brain.Event:2")
}

/// Makes the event that tells readers to forget what earlier files say of `step`
/// and those after it.
pub(super) fn restart(wall_time: f64, step: Step) -> Message {
    let session = Message::default().whole(1, START);
    Message::default()
        .double(1, wall_time)
        .whole(2, step.0)
        .message(7, &session)
}

/// Makes an event of one value.
pub(super) fn summary(wall_time: f64, step: Step, value: &Message) -> Message {
    let summary = Message::default().message(1, value);
    Message::default()
        .double(1, wall_time)
        .whole(2, step.0)
        .message(5, &summary)
}

pub(super) fn scalar(tag: &str, value: f32) -> Message {
    Message::default().blob(1, tag.as_bytes()).float(2, value)
}

pub(super) fn text(tag: &str, markdown: &str) -> Message {
    let tensor = Message::default()
        .whole(1, STRING)
        // One dimension of size one.
        .message(
            2,
            &Message::default().message(2, &Message::default().whole(1, 1)),
        )
        .blob(8, markdown.as_bytes());
    Message::default()
        .blob(1, tag.as_bytes())
        .message(8, &tensor)
        .message(9, &plugin("text"))
}

pub(super) fn audio(tag: &str, wav: Wav<'_>) -> Message {
    #[expect(
        clippy::cast_precision_loss,
        reason = "the format holds the rate as a float"
    )]
    let rate = wav.sample_rate as f32;
    let audio = Message::default()
        .float(1, rate)
        .whole(2, u64::from(wav.channels))
        .whole(3, wav.samples)
        .blob(4, wav.bytes)
        .blob(5, b"audio/wav");
    Message::default()
        .blob(1, tag.as_bytes())
        .message(6, &audio)
        .message(9, &plugin("audio"))
}

pub(super) fn image(tag: &str, image: &Image) -> Message {
    let message = Message::default()
        .whole(1, u64::from(image.height()))
        .whole(2, u64::from(image.width()))
        .whole(3, RGB)
        .blob(4, &image.png());
    Message::default()
        .blob(1, tag.as_bytes())
        .message(4, &message)
        .message(9, &plugin("images"))
}

pub(super) fn histogram(tag: &str, histogram: &Histogram) -> Message {
    let message = Message::default()
        .double(1, histogram.min)
        .double(2, histogram.max)
        .double(3, histogram.count())
        .double(4, histogram.sum)
        .double(5, histogram.sum_of_squares)
        .doubles(6, &histogram.limits)
        .doubles(7, &histogram.counts);
    Message::default()
        .blob(1, tag.as_bytes())
        .message(5, &message)
        .message(9, &plugin("histograms"))
}

/// Makes the `SummaryMetadata` that names the part of TensorBoard which shows a value.
fn plugin(name: &str) -> Message {
    Message::default().message(1, &Message::default().blob(1, name.as_bytes()))
}
