//! Whole datasets, prepared.

mod bad_input;
mod converted;
mod corpus_files;
mod full_disk;
mod good;
mod language;
mod many_lines;
mod split_long;
mod support;
mod together;
