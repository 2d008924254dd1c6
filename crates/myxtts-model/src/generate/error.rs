//! The reasons for which a generation stops short.

use crate::gpt::TooLong;

/// The reasons for which a generation stops short.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GenerateError {
    /// The text has more tokens than the model has positions.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The scores could not be read from the device.
    #[error(
        "the scores of code {step} could not be read from the device: {why}\n  \
         fix: a device out of memory does this; generate shorter texts or use another device"
    )]
    Device {
        /// The number of codes made so far.
        step: usize,
        /// What the engine reported.
        why: String,
    },
    /// The scores are not numbers.
    #[error(
        "the scores of code {0} are not numbers: the weights are damaged or training diverged; \
         use an earlier checkpoint"
    )]
    NotANumber(usize),
    /// Sampling was combined with beams, which look for the best row.
    #[error(
        "{0} beams cannot be drawn at random: a search with beams keeps the best\n  \
         fix: choose greedily, or leave it at 1 beam"
    )]
    DrawnBeams(usize),
    /// A beam search was asked to run beside other rows.
    #[error(
        "{0} beams cannot run beside other rows: their rows are all of one text\n  \
         fix: search texts one at a time, or leave it at 1 beam"
    )]
    BeamsInRows(usize),
}
