//! A long clip in pieces: its recording cut at pauses, its text at marks.
//!
//! Nothing here understands speech. What is known is where the speaker pauses, where the
//! text has marks, and that as many letters take about as long everywhere in one
//! recording. [`align`] finds the pauses that belong to marks by that, [`pieces`] chooses
//! among them. A wrong cut teaches the model to read words that are not there, while a
//! clip that is left out costs a few seconds of speech: where another reading of the
//! pauses is nearly as likely, nothing is cut there.
//!
//! Invariants: the pieces hold every character of the text but white space, once and in
//! order; they lie in the recording in the same order without overlap; each is within
//! the limits.

mod align;
mod pieces;

use std::fmt;

use myxtts_audio::units::{Samples, Seconds, Span};
use myxtts_audio::{SHORTEST_PAUSE, Waveform, pauses};
use myxtts_text::{Break, Language, clean, marks};

use align::{Mark, Pause, align};

/// A piece of a clip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) span: Span,
    pub(super) text: String,
}

/// What a piece may be.
pub(super) struct Limits<'a> {
    /// The longest piece.
    pub(super) longest: Samples,
    /// Returns whether a text is short enough.
    pub(super) fits: &'a dyn Fn(&str) -> bool,
}

/// Why a clip was not split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unsplit {
    /// The text has one sentence of one clause.
    NoMark,
    /// The recording has no silence inside.
    NoPause,
    /// Somewhere there is no pause at a mark for longer than a piece may be.
    TooFar { longest: Seconds },
    /// There are pauses and marks, and it is not sure enough which belong together.
    Doubtful,
}

impl fmt::Display for Unsplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMark => f.write_str("the text has no mark between sentences or clauses"),
            Self::NoPause => write!(f, "the recording has no pause of {SHORTEST_PAUSE} or more"),
            Self::TooFar { longest } => write!(
                f,
                "somewhere no mark of the text has a pause for more than {longest}"
            ),
            Self::Doubtful => f.write_str(
                "the lengths between pauses do not tell clearly enough which pause belongs to which \
                 mark of the text",
            ),
        }
    }
}

/// Silence that is left before and after the sound of a piece, where the pause has it.
const KEEP: Seconds = Seconds(0.2);

/// Cuts a recording, neither trimmed nor levelled, and its text.
pub(super) fn cut(
    recording: &Waveform,
    text: &str,
    language: &Language,
    limits: &Limits<'_>,
) -> Result<Vec<Piece>, Unsplit> {
    let heard = Heard::of(recording);
    let (marks, ends) = timed_marks(text, language, heard.voiced);
    if marks.is_empty() {
        return Err(Unsplit::NoMark);
    }
    if heard.pauses.is_empty() {
        return Err(Unsplit::NoPause);
    }
    let longest = limits.longest.at(recording.rate);
    let Some(places) = align(&marks, &heard.pauses, heard.voiced, longest) else {
        return Err(Unsplit::TooFar { longest });
    };
    let piece = |from: Option<usize>, to: Option<usize>| {
        let place = |at: Option<usize>| at.and_then(|at| places.get(at));
        let (from, to) = (place(from), place(to));
        let begin = from.map_or(0, |place| ends[place.mark]);
        let end = to.map_or(text.len(), |place| ends[place.mark]);
        Piece {
            span: heard.between(from.map(|place| place.pause), to.map(|place| place.pause)),
            text: text[begin..end].trim().to_owned(),
        }
    };
    let fits = |from, to| {
        let Piece { span, text } = piece(from, to);
        span.length <= limits.longest && (limits.fits)(&text)
    };
    let cuts = pieces::choose(&places, &marks, &heard.pauses, heard.voiced, &fits);
    let cuts = cuts.map_err(|why| match why {
        pieces::NoChoice::TooFar => Unsplit::TooFar { longest },
        pieces::NoChoice::Doubtful => Unsplit::Doubtful,
    })?;
    let begins = [None].into_iter().chain(cuts.iter().copied().map(Some));
    let ends = cuts.iter().copied().map(Some).chain([None]);
    Ok(begins.zip(ends).map(|(from, to)| piece(from, to)).collect())
}

/// Returns the marks of a text with the time at which each would be reached if every
/// letter took as long, and the bytes at which they end.
fn timed_marks(text: &str, language: &Language, voiced: f64) -> (Vec<Mark>, Vec<usize>) {
    let found = marks(text, language);
    let ends: Vec<usize> = found.iter().map(|mark| mark.end).collect();
    let mut letters = vec![];
    let (mut begin, mut before) = (0, 0);
    for end in ends.iter().copied().chain([text.len()]) {
        // As it is spoken: a number is a few digits and many letters.
        let spoken = clean(&text[begin..end], language).text;
        before += spoken.chars().filter(|c| c.is_alphanumeric()).count();
        letters.push(before);
        begin = end;
    }
    let second = voiced / before.max(1) as f64;
    let timed = found.iter().zip(letters).map(|(mark, before)| Mark {
        at: before as f64 * second,
        is_sentence: mark.kind != Break::Clause,
    });
    (timed.collect(), ends)
}

/// The sound of a recording and the pauses in it.
struct Heard {
    /// From the first sound to the last.
    sound: (Samples, Samples),
    spans: Vec<Span>,
    pauses: Vec<Pause>,
    /// How long the speaker speaks, without the pauses, in seconds.
    voiced: f64,
    keep: Samples,
    length: Samples,
}

impl Heard {
    fn of(recording: &Waveform) -> Self {
        let length = recording.len();
        let mut sound = (Samples(0), length);
        let mut spans = pauses(recording);
        if let Some(first) = spans.first().copied()
            && first.first == Samples(0)
        {
            sound.0 = first.end();
            spans.remove(0);
        }
        if let Some(last) = spans.last().copied()
            && last.end() == length
        {
            sound.1 = last.first;
            spans.pop();
        }
        let seconds = |samples: usize| Samples(samples).at(recording.rate).0;
        let mut quiet = 0;
        let mut pauses = vec![];
        for span in &spans {
            pauses.push(Pause {
                at: seconds(span.first.0.saturating_sub(sound.0.0 + quiet)),
                lasts: seconds(span.length.0),
            });
            quiet += span.length.0;
        }
        Self {
            voiced: seconds(sound.1.0.saturating_sub(sound.0.0 + quiet)),
            keep: Samples::in_time(KEEP, recording.rate),
            sound,
            spans,
            pauses,
            length,
        }
    }

    /// Returns the part between two pauses, or from the beginning or to the end. Half of
    /// a pause belongs to either side, and no more of it than is worth keeping.
    fn between(&self, from: Option<usize>, to: Option<usize>) -> Span {
        let pause = |at: Option<usize>| at.and_then(|at| self.spans.get(at));
        let keep = |silence: usize| silence.min(self.keep.0);
        let begin = match pause(from) {
            Some(pause) => pause.end().0 - keep(pause.length.0 / 2),
            None => self.sound.0.0 - keep(self.sound.0.0),
        };
        let end = match pause(to) {
            Some(pause) => pause.first.0 + keep(pause.length.0 / 2),
            None => self.sound.1.0 + keep(self.length.0 - self.sound.1.0),
        };
        Span {
            first: Samples(begin),
            length: Samples(end.saturating_sub(begin)),
        }
    }
}

#[cfg(test)]
mod tests;
