//! How far one recording is from another of the same words.
//!
//! ```text
//! Waveform -> Analyser -> Analysis (mel, cepstra, pitch) ─┐
//! Waveform -> Analyser -> Analysis ───────────────────────┴─> compare -> Comparison
//! transcript, text -> words, characters -> Edits
//! ```
//!
//! Every measure follows its published definition, and says where it does not;
//! each has a slow and plain form in its tests, and `benchmarks/scores.md`
//! compares it with a public package. No measure here was trained on speech: what
//! a model thinks of a voice is not in this crate.
//!
//! Invariants:
//! - a clip compared with itself scores zero;
//! - the level of a clip and the silence around it change no score;
//! - time and memory are bounded: what is too long is an error, never a guess.

mod align;
mod analysis;
mod cepstra;
mod compare;
mod edit;
mod pitch;
pub mod units;

pub use align::Alignment;
pub use analysis::{Analyser, Analysis, HOP, RATE, ScoreError};
pub use cepstra::Cepstra;
pub use compare::{Comparison, compare};
pub use edit::{Edits, characters, edits, words};
pub use pitch::PitchTrack;
