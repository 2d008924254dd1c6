//! Which parameters are decayed towards zero.
//!
//! By kind, as the public recipe has it: no bias, nothing of a norm or of an
//! embedding. What is left is decayed, the resampler's latents and the scale
//! of its own norm among it.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::Tensor;
use myxtts_model::params::Path;

/// Parameter names, by whether they are decayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecayGroups {
    /// Decayed.
    pub decayed: Vec<String>,
    /// Left alone.
    pub kept: Vec<String>,
}

/// The groups of a module's parameters.
pub fn decay_groups<M: Module>(module: &M) -> DecayGroups {
    let mut visitor = Grouping::default();
    module.visit(&mut visitor);
    visitor.groups
}

/// A walk that knows the name of a parameter and the kind of layer it is in.
#[derive(Default)]
pub(super) struct Walk {
    path: Path,
    layers: Vec<String>,
}

impl Walk {
    pub(super) fn enter(&mut self, name: &str, layer: &str) {
        self.path.enter(name);
        self.layers.push(layer.to_owned());
    }

    pub(super) fn exit(&mut self) {
        self.path.exit();
        self.layers.pop();
    }

    pub(super) fn name(&self) -> String {
        self.path.name()
    }

    pub(super) fn is_decayed(&self) -> bool {
        let layer = self.layers.last().map(String::as_str);
        let undecayed_layer = matches!(layer, Some("Struct:NormParams" | "Struct:Embedding"));
        let name = self.name();
        let is_bias = name == "bias" || name.ends_with(".bias");
        !undecayed_layer && !is_bias
    }
}

#[derive(Default)]
struct Grouping {
    walk: Walk,
    groups: DecayGroups,
}

impl ModuleVisitor for Grouping {
    fn enter_module(&mut self, name: &str, layer: &str) {
        self.walk.enter(name, layer);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.walk.exit();
    }

    fn visit_float<const D: usize>(&mut self, _: &Param<Tensor<D>>) {
        let group = if self.walk.is_decayed() {
            &mut self.groups.decayed
        } else {
            &mut self.groups.kept
        };
        group.push(self.walk.name());
    }
}
