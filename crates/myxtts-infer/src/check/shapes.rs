//! The shapes of tensors, by name.

use std::collections::BTreeSet;

use myxtts_model::params::LoadError;
use myxtts_weights::TensorMap;

use crate::error::InferError;

/// The shapes of the tensors of one part.
pub(crate) struct Shapes<'a> {
    pub(crate) part: &'static str,
    pub(crate) tensors: &'a TensorMap,
}

impl Shapes<'_> {
    pub(crate) fn of<const D: usize>(&self, name: &str) -> Result<[usize; D], InferError> {
        let wrong = |why| InferError::Load {
            part: self.part,
            why,
        };
        let missing = || wrong(LoadError::Missing(name.to_owned()));
        let tensor = self.tensors.get(name).ok_or_else(missing)?;
        <[usize; D]>::try_from(tensor.shape()).map_err(|_| {
            wrong(LoadError::Dimensions {
                name: name.to_owned(),
                found: tensor.shape().to_vec(),
                needed: D,
            })
        })
    }

    /// Returns how many different numbers follow a prefix in the tensors' names.
    pub(crate) fn count(&self, prefix: &str) -> usize {
        let numbers: BTreeSet<&str> = self
            .tensors
            .names()
            .filter_map(|name| name.strip_prefix(prefix)?.split('.').next())
            .collect();
        numbers.len()
    }
}
