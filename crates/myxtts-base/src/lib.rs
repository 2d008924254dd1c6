//! What every crate may use, and nothing that belongs to one of them: the shape of an error,
//! seconds, a way of mixing bits, and what the system reports about this process.

pub mod process;
mod report;
mod seconds;
mod splitmix;

pub use report::Report;
pub use seconds::Seconds;
pub use splitmix::{GAMMA, finalize, splitmix64};

/// The bytes that budgets, estimates and messages count as a megabyte.
pub const MEGABYTE: u64 = 1 << 20;
