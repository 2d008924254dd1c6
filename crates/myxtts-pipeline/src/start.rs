//! When the first step may begin.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// Why the model started when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StartReason {
    /// The ring reached its fill target.
    Filled,
    /// The run has fewer batches than the target, and all were ready.
    Complete,
    /// The longest wait allowed had passed.
    Delay,
}

/// How the start of the model came about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Start {
    /// Why the model started at that moment.
    pub reason: StartReason,
    /// Batches in the ring at that moment.
    pub held: usize,
    /// The number of batches waited for.
    pub target: usize,
    /// Time waited, from the moment data could arrive.
    #[serde(rename = "waited_s", serialize_with = "seconds")]
    pub waited: Duration,
    /// The longest wait that was allowed.
    #[serde(rename = "longest_s", serialize_with = "seconds")]
    pub longest: Duration,
}

fn seconds<S: serde::Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(value.as_secs_f64())
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { held, target, .. } = self;
        let waited = self.waited.as_secs_f64();
        match self.reason {
            StartReason::Filled if *target == 0 => f.write_str(
                "nothing is prefetched: a batch goes to the device when a step asks for it",
            ),
            StartReason::Filled => write!(
                f,
                "the buffer reached its fill target after {waited:.2} s ({held} of {target} batches ready)"
            ),
            StartReason::Complete => write!(
                f,
                "all {held} batches of the run were ready after {waited:.2} s (fill target {target})"
            ),
            StartReason::Delay => write!(
                f,
                "model_start_delay of {:.2} s passed with {held} of {target} batches ready",
                self.longest.as_secs_f64()
            ),
        }
    }
}
