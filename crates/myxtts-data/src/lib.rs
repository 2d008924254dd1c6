//! Datasets: from a folder of recordings to a schedule of batches.
//!
//! [`layout`] reads a folder as rows, good and bad; [`prepare`] reads every clip
//! once and writes the manifest, the quarantine and the report; [`split`] holds
//! some clips out for validation; [`schedule`] turns clip lengths into batches;
//! [`dataset`] reads what was prepared; [`stage`] fills a batch from its
//! recordings; [`cache`] keeps what is costly to compute, [`codes`] the codes of
//! clips. [`sample_corpus`] comes with the program and [`generated_corpus`] is made
//! from nothing; [`config`] holds the keys that steer all this.

mod atomic;
pub mod cache;
pub mod codes;
pub mod config;
pub mod dataset;
pub mod generated_corpus;
pub mod host_stage;
pub mod layout;
pub mod prepare;
pub mod sample_corpus;
pub mod schedule;
pub mod split;
pub mod storage;
pub mod units;
