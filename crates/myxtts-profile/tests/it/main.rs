//! The report on ledgers that are known, and on one of a real pipeline.

mod entries;
mod pictures;
mod real;
mod report;
