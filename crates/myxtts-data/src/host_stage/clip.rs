//! What the host stage asks of a dataset.

use std::path::{Path, PathBuf};

use myxtts_audio::units::Span;
use myxtts_text::Language;

use crate::schedule::ClipIndex;

/// A recording and what is said in it.
#[derive(Clone, Copy, Debug)]
pub struct ClipView<'a> {
    /// The path of the recording.
    pub audio: &'a Path,
    /// The part of it that is the clip; `None` where all of it is.
    pub span: Option<Span>,
    /// The transcript, as the dataset has it.
    pub text: &'a str,
    /// The language of the transcript.
    pub language: &'a Language,
}

/// Clips by their place in the manifest.
pub trait ClipSource {
    /// Returns the clip at `index`, if there are that many.
    fn clip(&self, index: ClipIndex) -> Option<ClipView<'_>>;
}

/// A clip that owns its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clip {
    /// The path of the recording.
    pub audio: PathBuf,
    /// The part of it that is the clip; `None` where all of it is.
    pub span: Option<Span>,
    /// The transcript, as the dataset has it.
    pub text: String,
    /// The language of the transcript.
    pub language: Language,
}

impl Clip {
    /// Returns the clip by reference.
    pub fn view(&self) -> ClipView<'_> {
        ClipView {
            audio: &self.audio,
            span: self.span,
            text: &self.text,
            language: &self.language,
        }
    }
}

impl ClipSource for [Clip] {
    fn clip(&self, index: ClipIndex) -> Option<ClipView<'_>> {
        self.get(index.0 as usize).map(Clip::view)
    }
}

impl ClipSource for Vec<Clip> {
    fn clip(&self, index: ClipIndex) -> Option<ClipView<'_>> {
        self.as_slice().clip(index)
    }
}

impl<C: ClipSource + ?Sized> ClipSource for &C {
    fn clip(&self, index: ClipIndex) -> Option<ClipView<'_>> {
        (**self).clip(index)
    }
}

impl<C: ClipSource + ?Sized> ClipSource for std::sync::Arc<C> {
    fn clip(&self, index: ClipIndex) -> Option<ClipView<'_>> {
        (**self).clip(index)
    }
}
