//! Datasets: from a folder of recordings to a schedule of batches.
//!
//! [`layout`] reads a folder as rows, good and bad; [`schedule`] turns clip
//! lengths into batches; [`cache`] keeps what is costly to compute.

pub mod cache;
pub mod layout;
pub mod schedule;
pub mod units;
