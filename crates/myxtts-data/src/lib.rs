//! Datasets: from a folder of recordings to a schedule of batches.
//!
//! [`layout`] reads a folder as rows, good and bad; [`prepare`] reads every clip
//! once and writes the manifest, the quarantine and the report; [`split`] holds
//! some clips out for validation; [`schedule`] turns clip lengths into batches;
//! [`cache`] keeps what is costly to compute. [`corpus`] is the sample corpus.

mod atomic;
pub mod cache;
pub mod corpus;
pub mod layout;
pub mod prepare;
pub mod schedule;
pub mod split;
pub mod units;
