//! Tensors by name.

use std::collections::{BTreeMap, btree_map};

use crate::tensor::Tensor;

/// Tensors by name, in the order of their names, so that everything made from
/// a map (files, hashes, listings) is the same on every run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorMap(BTreeMap<String, Tensor>);

impl TensorMap {
    /// Makes an empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the tensor under `name`, if there is one.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.0.get(name)
    }

    /// Puts a tensor under a name, and returns what was there before.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) -> Option<Tensor> {
        self.0.insert(name.into(), tensor)
    }

    /// Takes a tensor out of the map.
    pub fn remove(&mut self, name: &str) -> Option<Tensor> {
        self.0.remove(name)
    }

    /// Yields names and tensors, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.0.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Yields the names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the number of tensors.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the map has no tensors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the same tensors, each with its own copy of the numbers. This is for
    /// what is kept for hours: a mapped file that somebody shortens ends the
    /// process.
    #[must_use]
    pub fn in_memory(&self) -> Self {
        self.iter()
            .map(|(name, tensor)| (name, tensor.in_memory()))
            .collect()
    }

    /// Returns the number of elements of all tensors together.
    pub fn elements(&self) -> usize {
        self.0.values().map(Tensor::elements).sum()
    }
}

impl<N: Into<String>> FromIterator<(N, Tensor)> for TensorMap {
    fn from_iter<I: IntoIterator<Item = (N, Tensor)>>(tensors: I) -> Self {
        Self(
            tensors
                .into_iter()
                .map(|(name, tensor)| (name.into(), tensor))
                .collect(),
        )
    }
}

impl IntoIterator for TensorMap {
    type Item = (String, Tensor);
    type IntoIter = btree_map::IntoIter<String, Tensor>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
