//! What the ledger of a training says about its time.
//!
//! ```text
//! entries of the ledger -> timeline -> stages, overlap, rings -> report, trace, picture
//! ```
//!
//! Everything here is a pure function of the entries and of the steps' own
//! clock: nothing is measured, and nothing of the engine is needed. Whoever
//! has a ledger, from a probe or from elsewhere, gets the same report.

mod display;
mod occupancy;
mod oscillation;
mod overlap;
mod profile;
mod spread;
mod stages;
mod svg;
mod timeline;
mod trace;

pub use occupancy::{RingUse, Sample};
pub use oscillation::Oscillation;
pub use overlap::Overlap;
pub use profile::{Part, Profile, StepTime};
pub use spread::Spread;
pub use stages::StageTimes;
pub use svg::svg;
pub use timeline::{Kind, Timeline, Window};
pub use trace::write_trace;
