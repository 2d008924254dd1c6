//! Datasets: from a folder of recordings to a schedule of batches.
//!
//! [`layout`] reads a folder as rows, good and bad; [`split`] holds some clips
//! out for validation; [`schedule`] turns clip lengths into batches; [`cache`]
//! keeps what is costly to compute. `corpus/` is the sample corpus.

pub mod cache;
pub mod layout;
pub mod schedule;
pub mod split;
pub mod units;
