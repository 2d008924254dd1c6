//! The reasons for which a generation stops short.

use myxtts_base::report;

use crate::gpt::TooLong;

/// The reasons for which a generation stops short.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GenerateError {
    /// The text has more tokens than the model has positions.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The scores could not be read from the device.
    #[error(
        "{}",
        report!(
            "the scores of code {step} could not be read from the device: {why}";
            why: "a device out of memory does this";
            fix: "generate shorter texts or use another device"
        )
    )]
    Device {
        /// The number of codes made so far.
        step: usize,
        /// What the engine reported.
        why: String,
    },
    /// The scores are not numbers.
    #[error(
        "{}",
        report!(
            "the scores of code {} are not numbers", .0;
            why: "the weights are damaged, or training diverged";
            fix: "use an earlier checkpoint"
        )
    )]
    NotANumber(usize),
    /// Sampling was combined with beams, which look for the best row.
    #[error(
        "{}",
        report!(
            "{} beams cannot be drawn at random: a search with beams keeps the best", .0;
            fix: "choose greedily, or leave it at 1 beam"
        )
    )]
    DrawnBeams(usize),
    /// A beam search was asked to run beside other rows.
    #[error(
        "{}",
        report!(
            "{} beams cannot run beside other rows: their rows are all of one text", .0;
            fix: "search texts one at a time, or leave it at 1 beam"
        )
    )]
    BeamsInRows(usize),
}
