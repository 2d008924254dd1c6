//! Whether a step may count, and whether the run should continue.
//!
//! Pure state machines: numbers in, a decision out. Their state goes into the
//! checkpoint, so that a resumed run decides as an uninterrupted one would.

mod early_stop;
mod non_finite;
mod spike;
#[cfg(test)]
mod tests;

pub use early_stop::{EarlyStop, Patience};
pub use non_finite::{BadStep, NonFinite, NonFiniteVerdict, TooManyBadSteps};
pub use spike::{Spike, SpikeAction, SpikeDetector, SpikeSettings};
