//! The part of pickle that torch writes.
//!
//! A pickle is a program for a stack machine that may name any Python function
//! and call it. This machine has no functions: a call builds a value that says
//! what was called ([`Node::Opaque`]), except for the few that describe
//! tensors and dictionaries, which are built here.

mod globals;
mod machine;
mod operands;
mod value;
mod write;

pub(super) use machine::run;
pub(super) use value::{Heap, Id, Node, TensorSpec};
pub(super) use write::PickleWriter;

/// The most instructions of one pickle; a trainer's checkpoint of XTTS-v2 has 100 000.
pub(super) const MAX_INSTRUCTIONS: usize = 4_000_000;
