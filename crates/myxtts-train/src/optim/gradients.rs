//! Gradients by parameter name.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};
use myxtts_model::params::Path;
use myxtts_ops::sum_of_squares;

/// Added to the norm before dividing by it, as PyTorch does.
const NORM_EPSILON: f64 = 1e-6;

/// A flat gradient for every parameter that has one.
#[derive(Clone, Debug, Default)]
pub struct NamedGradients {
    by_name: BTreeMap<String, Tensor<1>>,
}

impl NamedGradients {
    /// Takes the module's gradients out of those of a backward pass.
    pub fn collect<M: Module>(module: &M, gradients: Gradients) -> Self {
        let mut visitor = Collecting {
            path: Path::default(),
            gradients,
            found: Self::default(),
        };
        module.visit(&mut visitor);
        visitor.found
    }

    /// Returns the gradient of one parameter, flat.
    pub fn get(&self, name: &str) -> Option<&Tensor<1>> {
        self.by_name.get(name)
    }

    /// Iterates over all gradients, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor<1>)> {
        self.by_name
            .iter()
            .map(|(name, gradient_n)| (name.as_str(), gradient_n))
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Tensor<1>> {
        self.by_name.remove(name)
    }

    /// Drops the gradients of parameters whose names begin with any of `prefixes`.
    #[must_use]
    pub fn without(mut self, prefixes: &[String]) -> Self {
        let is_kept = |name: &String| {
            !prefixes
                .iter()
                .any(|prefix| name.starts_with(prefix.as_str()))
        };
        self.by_name.retain(|name, _| is_kept(name));
        self
    }

    /// Counts the parameters that have a gradient.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether no parameter has a gradient.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Replaces a gradient; a name without one is ignored.
    pub(crate) fn replace(&mut self, name: &str, gradient_n: Tensor<1>) {
        if let Some(place) = self.by_name.get_mut(name) {
            *place = gradient_n;
        }
    }

    /// Adds the gradients of another batch of the same step.
    pub fn add(&mut self, other: Self) {
        for (name, more_n) in other.by_name {
            let sum_n = match self.by_name.remove(&name) {
                Some(gradient_n) => gradient_n + more_n,
                None => more_n,
            };
            self.by_name.insert(name, sum_n);
        }
    }

    /// Multiplies every gradient by `factor`.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        self.map(|gradient_n| gradient_n * factor)
    }

    /// Multiplies every gradient by a factor that is on the device.
    #[must_use]
    pub(crate) fn scale_by(self, factor_1: &Tensor<1>) -> Self {
        self.map(|gradient_n| gradient_n * factor_1.clone())
    }

    /// Returns the length of all gradients taken as one vector, left on the device; `None` if
    /// there are no gradients.
    pub(crate) fn norm(&self) -> Option<Tensor<1>> {
        self.by_name
            .values()
            .map(|gradient_n| sum_of_squares(gradient_n.clone()))
            .reduce(|sum, square| sum + square)
            .map(Tensor::sqrt)
    }

    /// Scales all gradients together so that their norm is at most `most`, without reading
    /// anything back. Also returns the norm from before.
    pub fn clip(self, most: f64) -> (Self, Option<Tensor<1>>) {
        let Some(norm) = self.norm() else {
            return (self, None);
        };
        let factor = ((norm.clone() + NORM_EPSILON).recip() * most).clamp_max(1.0);
        (self.scale_by(&factor), Some(norm))
    }

    fn map(self, change: impl Fn(Tensor<1>) -> Tensor<1>) -> Self {
        let by_name = self.by_name.into_iter();
        Self {
            by_name: by_name
                .map(|(name, gradient_n)| (name, change(gradient_n)))
                .collect(),
        }
    }
}

struct Collecting {
    path: Path,
    gradients: Gradients,
    found: NamedGradients,
}

impl ModuleVisitor for Collecting {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = param.val().grad_remove(&mut self.gradients) {
            let count = gradient.shape().num_elements();
            let gradient_n = gradient.reshape([count]);
            self.found.by_name.insert(self.path.name(), gradient_n);
        }
    }
}
