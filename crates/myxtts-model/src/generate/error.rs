//! Why a generation stopped short.

use crate::gpt::TooLong;

/// Why a generation stopped short.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GenerateError {
    /// The text has more tokens than the model has positions.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The device failed.
    #[error(
        "the scores of code {step} could not be read from the device: {why}\n  \
         fix: a device out of memory does this; generate shorter texts or use another device"
    )]
    Device {
        /// How many codes there were.
        step: usize,
        /// The engine's words.
        why: String,
    },
    /// The model does not work.
    #[error(
        "the scores of code {0} are not numbers: the weights are damaged or training diverged; \
         use an earlier checkpoint"
    )]
    NotANumber(usize),
    /// Beams look for the best; draws are not that.
    #[error(
        "{0} beams cannot be drawn at random: a search with beams keeps the best\n  \
         fix: choose greedily, or leave it at 1 beam"
    )]
    DrawnBeams(usize),
    /// A search has its rows to itself.
    #[error(
        "{0} beams cannot run beside other rows: their rows are all of one text\n  \
         fix: search texts one at a time, or leave it at 1 beam"
    )]
    BeamsInRows(usize),
}
