//! `myxtts bench telemetry`: what recording costs a training.
//!
//! The epochs are timed by [`measure_telemetry`], beside the recorder whose cost it is: nobody
//! else needs to see its parts.

use std::fmt;

use myxtts_train::probe::TelemetryFigures;
pub use myxtts_train::probe::measure_telemetry;
use serde::Serialize;

/// What recording cost a training of one size.
#[derive(Clone, Debug, Serialize)]
pub struct TelemetryReport {
    /// The preset that was trained.
    pub size: String,
    /// Rows of the longest bucket.
    pub batch_size: u32,
    /// What was measured.
    #[serde(flatten)]
    pub figures: TelemetryFigures,
}

impl fmt::Display for TelemetryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            size,
            batch_size,
            figures,
        } = self;
        writeln!(
            f,
            "{size}, batch size {batch_size}, {} pairs of epochs of {} steps\n",
            figures.pairs, figures.steps
        )?;
        writeln!(f, "recorded epoch      {:>8.3} s", figures.with_s)?;
        writeln!(f, "unrecorded epoch    {:>8.3} s", figures.without_s)?;
        let [low, high] = figures.quartiles_pct;
        writeln!(
            f,
            "cost by pairs       {:>8.2} %  (half of the pairs between {low:.2} and {high:.2} %)",
            figures.cost_pct
        )?;
        writeln!(
            f,
            "on the thread       {:>8.3} %  of the recorded epochs",
            figures.thread_pct
        )
    }
}
