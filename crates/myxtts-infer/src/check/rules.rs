//! The rules that fields are held to, and the bounds of what follows from no tensor.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::CardFault;
use crate::error::InferError;

/// A bound on widths and numbers of layers that no XTTS comes near.
pub(super) const LARGEST: usize = 1 << 16;
/// The sample rates that are accepted, in Hz.
pub(super) const RATES: RangeInclusive<u32> = 8_000..=192_000;

/// Compares a field with what a tensor, or another field, says of it.
pub(super) fn same(field: &str, found: usize, told: usize, by: &str) -> Result<(), InferError> {
    match found == told {
        true => Ok(()),
        false => fault(field, found, format!("`{by}` has {told}")),
    }
}

/// Checks that a size is not larger than is possible.
pub(super) fn at_most(field: &str, size: usize, most: usize) -> Result<(), InferError> {
    match size <= most {
        true => Ok(()),
        false => fault(field, size, format!("at most {most} is possible")),
    }
}

/// Returns the error of a field that cannot be true.
pub(super) fn fault(
    field: &str,
    found: impl Display,
    needed: impl Into<String>,
) -> Result<(), InferError> {
    Err(CardFault::new(field, found, needed).into())
}
