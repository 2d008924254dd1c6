//! Recordings that were there when the dataset was prepared and are not any
//! more, or not as they were: skipped and named while they are few.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use myxtts_audio::LoadError;
use myxtts_audio::units::Span;

use super::{ClipView, HostStageError};
use crate::prepare::Quarantined;

/// The recordings that a training has lost, and how many it may lose.
pub struct LostClips {
    total: usize,
    /// The share that may be lost, `data.max_bad_fraction`.
    fraction: f64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Clips by their recording and, where one holds several, by their part of it: shares
    /// are of clips.
    lost: BTreeSet<(PathBuf, Option<Span>)>,
    tell: Option<Tell>,
    /// Clips lost before anybody listened.
    untold: Vec<Quarantined>,
}

/// A callback that is told of each lost clip, once.
pub type Tell = Box<dyn FnMut(&Quarantined) + Send>;

impl std::fmt::Debug for LostClips {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "LostClips({} of {})",
            self.state().lost.len(),
            self.total
        )
    }
}

impl LostClips {
    /// Starts with nothing lost; at most `fraction` of `total` may be.
    pub fn new(total: usize, fraction: f64) -> Self {
        Self {
            total,
            fraction,
            state: Mutex::default(),
        }
    }

    /// Sets the callback, and tells it of the clips lost so far.
    pub fn tell(&self, mut tell: Tell) {
        let mut state = self.state();
        for clip in std::mem::take(&mut state.untold) {
            tell(&clip);
        }
        state.tell = Some(tell);
    }

    /// Returns the number of clips lost.
    pub fn count(&self) -> usize {
        self.state().lost.len()
    }

    /// Returns whether a clip is known to be lost.
    pub(super) fn contains(&self, clip: &ClipView<'_>) -> bool {
        let state = self.state();
        !state.lost.is_empty() && state.lost.contains(&(clip.audio.to_owned(), clip.span))
    }

    /// Counts a clip whose recording cannot be used.
    ///
    /// # Errors
    /// Fails if it is one too many.
    pub fn note(&self, clip: &ClipView<'_>, why: HostStageError) -> Result<(), HostStageError> {
        let ClipView {
            audio, span, text, ..
        } = *clip;
        let mut state = self.state();
        if !state.lost.insert((audio.to_owned(), span)) {
            return Ok(());
        }
        let clip = Quarantined {
            reason: reason(&why).to_owned(),
            why: format!("while training: {}", first_line(&why)),
            source: audio.display().to_string(),
            audio: Some(audio.display().to_string()),
            text: Some(text.to_owned()),
        };
        let State { lost, tell, untold } = &mut *state;
        match tell {
            Some(tell) => tell(&clip),
            None => untold.push(clip),
        }
        let share = lost.len() as f64 / self.total.max(1) as f64;
        match share <= self.fraction {
            true => Ok(()),
            false => Err(HostStageError::TooManyLost {
                lost: lost.len(),
                total: self.total,
                allowed: 100.0 * self.fraction,
                enough: (share * 1000.0).ceil() / 1000.0,
                last: Box::new(why),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reason(why: &HostStageError) -> &'static str {
    match why {
        HostStageError::Load {
            source: LoadError::Decode(error),
            ..
        }
        | HostStageError::Gone {
            source: LoadError::Decode(error),
        } => error.fault.reason(),
        _ => "changed",
    }
}

fn first_line(why: &HostStageError) -> String {
    let words = why.to_string();
    words.lines().next().unwrap_or_default().to_owned()
}
