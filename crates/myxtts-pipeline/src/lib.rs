//! The pipeline: batches prepared ahead of use, every wait on a ledger.
//!
//! ```text
//! dispenser -> host workers -> host ring -> device stage -> device ring -> hop -> model ring -> model
//! ```
//!
//! The crate moves batches and knows nothing of what is in them: [`HostWork`]
//! fills host buffers, [`DeviceStage`] turns them into device batches, and [`Hop`]
//! carries those to another device. Modes are numbers of device stages and lanes
//! ([`Wiring`]), not different code.

mod adapt;
mod dispenser;
mod failure;
mod ledger;
mod ring;
mod run;
mod start;
mod sync;
mod work;

pub use adapt::{Bounds, KnobChange, Knobs, WaitShares, decide};
pub use dispenser::Ticket;
pub use failure::{Failure, PipelineStage, Stop};
pub use ledger::{Entry, Ledger, RingReport, StageReport, Summary};
pub use ring::{Closed, Ring, RingBounds, RingState};
pub use run::{Delivered, Lane, Make, Outcome, Pipeline, Setup, SetupError, Started, Wiring};
pub use start::{Start, StartReason};
pub use work::{DeviceStage, Hop, HostParts, HostWork, NoHop};
