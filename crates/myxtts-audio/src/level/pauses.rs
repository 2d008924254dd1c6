//! Where a speaker pauses.
//!
//! How quiet a pause is depends on the room, so the threshold comes from the recording
//! itself: its loud blocks are speech, its quietest ones the room. It lies a quarter of
//! the way up from the room, so that a breath is still a pause, and at least 40 dB below
//! speech, as trimming has it, so that in a silent studio soft consonants are not taken
//! for speech that starts again.

use crate::cast::to_usize;
use crate::units::{SampleRate, Samples, Seconds, Span};
use crate::waveform::Waveform;

/// The shortest silence that counts. Before a plosive the mouth is closed for up to a
/// tenth of a second, which is no pause.
pub const SHORTEST_PAUSE: Seconds = Seconds(0.15);

/// The length of the blocks that are judged.
const BLOCK: Seconds = Seconds(0.01);
/// A sound of at most this many blocks inside a pause is a click.
const CLICK: usize = 4;
/// The share of blocks, from the loudest, that tells the level of speech.
const LOUD: f64 = 0.95;
/// The share of blocks, from the quietest, that tells the level of the room.
const QUIET: f64 = 0.05;
/// Blocks this far below speech, in dB, are digital silence, which says nothing of the room.
const NOTHING: f64 = 80.0;
/// The threshold is at least this far below speech where the room allows it, in dB.
const SPEECH: f64 = 40.0;
/// How far up from the room the threshold lies.
const ABOVE_ROOM: f64 = 0.25;
/// With less than this between room and speech, in dB, pauses cannot be told from speech.
const CONTRAST: f64 = 12.0;

/// Returns the silences of at least [`SHORTEST_PAUSE`] in order, those at both ends
/// included; none where the room is nearly as loud as the speech.
pub fn pauses(waveform: &Waveform) -> Vec<Span> {
    let block = Samples::in_time(BLOCK, waveform.rate).0.max(1);
    let levels: Vec<f64> = waveform.samples.chunks(block).map(level).collect();
    let Some(threshold) = threshold(&levels) else {
        return vec![];
    };
    let mut quiet: Vec<bool> = levels.iter().map(|level| *level < threshold).collect();
    close_clicks(&mut quiet);
    spans(&quiet, block, waveform.len(), waveform.rate)
}

/// Returns the mean power of a block in dB.
fn level(block: &[f32]) -> f64 {
    let power: f64 = block.iter().map(|x| f64::from(*x).powi(2)).sum();
    10.0 * (power / block.len() as f64).max(1e-20).log10()
}

/// Returns the level below which a block is quiet.
fn threshold(levels: &[f64]) -> Option<f64> {
    let speech = quantile(levels.iter().copied(), LOUD)?;
    let heard = levels.iter().copied().filter(|x| *x > speech - NOTHING);
    let room = match levels.iter().all(|x| *x > speech - NOTHING) {
        true => quantile(heard, QUIET)?,
        // Somebody has put silence between sounds that have a room of their own; where
        // they have none, the lowest of their blocks are soft speech.
        false => quantile(heard, QUIET)?.min(speech - SPEECH),
    };
    let contrast = speech - room;
    (contrast >= CONTRAST).then(|| (room + ABOVE_ROOM * contrast).max(speech - SPEECH))
}

fn quantile(values: impl Iterator<Item = f64>, share: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    let at = to_usize(share * values.len().saturating_sub(1) as f64);
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(at, f64::total_cmp).1)
}

/// Makes sounds quiet that are too short for speech and have silence on both sides.
fn close_clicks(quiet: &mut [bool]) {
    let mut last_quiet = None;
    for at in 0..quiet.len() {
        if !quiet[at] {
            continue;
        }
        if let Some(last) = last_quiet
            && at - last - 1 <= CLICK
        {
            quiet[last..at].fill(true);
        }
        last_quiet = Some(at);
    }
}

/// Returns runs of quiet blocks that are long enough.
fn spans(quiet: &[bool], block: usize, length: Samples, rate: SampleRate) -> Vec<Span> {
    let shortest = Samples::in_time(SHORTEST_PAUSE, rate).0.div_ceil(block);
    let mut spans = vec![];
    let mut at = 0;
    for run in quiet.chunk_by(|a, b| a == b) {
        let (first, end) = (at * block, ((at + run.len()) * block).min(length.0));
        if run.first() == Some(&true) && run.len() >= shortest {
            spans.push(Span {
                first: Samples(first),
                length: Samples(end - first),
            });
        }
        at += run.len();
    }
    spans
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "test code")]
mod tests {
    use super::*;

    /// Tone and hiss in turns, in seconds, the tone first, over a room at `room`.
    fn speech(parts: &[f64], room: f32) -> Waveform {
        let mut samples: Vec<f32> = vec![];
        for (number, seconds) in parts.iter().enumerate() {
            let count = Samples::in_time(Seconds(*seconds), SampleRate::XTTS).0;
            samples.extend((0..count).map(|n| {
                let tone = (n as f32 * 0.1).sin() * 0.3;
                let hiss = if n % 2 == 0 { room } else { -room };
                hiss + if number % 2 == 0 { tone } else { 0.0 }
            }));
        }
        Waveform {
            samples,
            rate: SampleRate::XTTS,
        }
    }

    fn found(waveform: &Waveform) -> Vec<(f64, f64)> {
        let seconds = |samples: Samples| (samples.at(waveform.rate).0 * 100.0).round() / 100.0;
        let spans = pauses(waveform).into_iter();
        spans
            .map(|span| (seconds(span.first), seconds(span.length)))
            .collect()
    }

    #[test]
    fn pauses_are_found_in_quiet_and_noisy_rooms() {
        for room in [0.0, 0.001, 0.03] {
            let spoken = speech(&[1.0, 0.3, 0.5, 0.1, 1.0, 0.6], room);
            let found = found(&spoken);
            assert_eq!(found.len(), 2, "room {room}: {found:?}");
            for ((first, length), (at, lasts)) in found.iter().zip([(1.0, 0.3), (2.9, 0.6)]) {
                let off = (first - at).abs().max((length - lasts).abs());
                assert!(off <= 0.03, "room {room}: {found:?}");
            }
        }
    }

    #[test]
    fn a_click_does_not_end_a_pause_and_a_word_does() {
        let click = speech(&[1.0, 0.2, 0.02, 0.2, 1.0], 0.001);
        assert_eq!(found(&click).len(), 1);
        let word = speech(&[1.0, 0.2, 0.15, 0.2, 1.0], 0.001);
        assert_eq!(found(&word).len(), 2);
    }

    #[test]
    fn where_nothing_is_quieter_there_are_no_pauses() {
        assert_eq!(pauses(&speech(&[3.0], 0.001)), []);
        assert_eq!(pauses(&speech(&[1.0, 0.5, 1.0], 0.3)), [], "a loud room");
        assert_eq!(pauses(&Waveform::default()), []);
        let silent = Waveform {
            samples: vec![0.0; 9000],
            rate: SampleRate::XTTS,
        };
        assert_eq!(pauses(&silent), []);
    }
}
