//! Which parameters are decayed towards zero.
//!
//! By kind, as the public recipe has it: no bias, nothing of a norm or of an
//! embedding. What is left is decayed, the resampler's latents and the scale
//! of its own norm among it.

use myxtts_model::params::Path;

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

#[cfg(test)]
mod tests {
    use burn::module::{Module, ModuleVisitor, Param};
    use burn::tensor::{Device, Tensor};
    use myxtts_testkit_model::fixtures::Set;
    use myxtts_testkit_model::gpt_fixture::gpt;
    use serde_json::Value;

    use super::Walk;

    /// Parameter names, by whether they are decayed.
    #[derive(Default)]
    struct Groups {
        walk: Walk,
        decayed: Vec<String>,
        kept: Vec<String>,
    }

    impl ModuleVisitor for Groups {
        fn enter_module(&mut self, name: &str, layer: &str) {
            self.walk.enter(name, layer);
        }

        fn exit_module(&mut self, _: &str, _: &str) {
            self.walk.exit();
        }

        fn visit_float<const D: usize>(&mut self, _: &Param<Tensor<D>>) {
            let group = match self.walk.is_decayed() {
                true => &mut self.decayed,
                false => &mut self.kept,
            };
            group.push(self.walk.name());
        }
    }

    #[test]
    fn decay_groups_are_the_reference_s() {
        let names =
            |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
        for set in Set::all() {
            let mut groups = Groups::default();
            gpt(&set, &Device::flex()).visit(&mut groups);
            groups.decayed.sort();
            groups.kept.sort();
            let expected = &set.manifest["gpt"]["adamw"];
            assert_eq!(groups.decayed, names(&expected["decayed"]));
            assert_eq!(groups.kept, names(&expected["not_decayed"]));
        }
    }
}
