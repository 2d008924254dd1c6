//! Parameters by the names of the public checkpoint.
//!
//! A field path is a key: `h.0.attn.c_attn.weight`. Where a key has a part
//! that cannot name a field, three rules make one of it: `_3` reads `3`, a
//! name that ends in `_` is left out, and so is the variant of an enum.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};

/// Tensors by name.
pub type StateDict = BTreeMap<String, TensorData>;

/// Why weights do not fit a module.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LoadError {
    /// The module has a parameter the weights lack.
    #[error("the weights have no tensor `{0}`: the file is of another model or is incomplete")]
    Missing(String),
    /// Same name, another number of dimensions.
    #[error("tensor `{name}` has shape {found:?} in place of {needed} dimensions")]
    Dimensions {
        /// Of the tensor.
        name: String,
        /// In the weights.
        found: Vec<usize>,
        /// In the model.
        needed: usize,
    },
    /// Same name, another shape.
    #[error(
        "tensor `{name}` has shape {found:?}, the model needs {needed:?}: \
         the sizes in the configuration are not those of the weights"
    )]
    Shape {
        /// Of the tensor.
        name: String,
        /// In the weights.
        found: Vec<usize>,
        /// In the module.
        needed: Vec<usize>,
    },
}

/// Every float parameter's name, in declaration order.
pub fn names<M: Module>(module: &M) -> Vec<String> {
    let mut visitor = Named::new(|name: &str, _: &dyn Fn() -> TensorData| name.to_owned());
    module.visit(&mut visitor);
    visitor.found
}

/// Every float parameter with its name, read back to the host.
pub fn state_dict<M: Module>(module: &M) -> StateDict {
    let read = |name: &str, data: &dyn Fn() -> TensorData| (name.to_owned(), data());
    let mut visitor = Named::new(read);
    module.visit(&mut visitor);
    visitor.found.into_iter().collect()
}

/// Loads every float parameter from `weights`, below `prefix`.
///
/// Tensors the module does not have are left alone: whoever owns the file
/// decides whether surplus is an error.
pub fn load<M: Module>(module: M, weights: &StateDict, prefix: &str) -> Result<M, LoadError> {
    let mut mapper = Loading {
        weights,
        path: Path::below(prefix),
        problem: None,
    };
    let module = module.map(&mut mapper);
    match mapper.problem {
        Some(problem) => Err(problem),
        None => Ok(module),
    }
}

/// Where a walk through a module is.
#[derive(Default)]
pub struct Path {
    parts: Vec<Option<String>>,
}

impl Path {
    /// A walk whose names start with `prefix`.
    pub fn below(prefix: &str) -> Self {
        let parts = (!prefix.is_empty()).then(|| Some(prefix.to_owned()));
        Self {
            parts: parts.into_iter().collect(),
        }
    }

    /// One step down.
    pub fn enter(&mut self, name: &str) {
        let part = match name.strip_prefix('_') {
            Some(number) => Some(number.to_owned()),
            None if name.ends_with('_') || name.starts_with(char::is_uppercase) => None,
            None => Some(name.to_owned()),
        };
        self.parts.push(part);
    }

    /// One step up.
    pub fn exit(&mut self) {
        self.parts.pop();
    }

    /// The dotted name.
    pub fn name(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().flatten().map(String::as_str).collect();
        parts.join(".")
    }
}

struct Named<T, F: FnMut(&str, &dyn Fn() -> TensorData) -> T> {
    path: Path,
    read: F,
    found: Vec<T>,
}

impl<T, F: FnMut(&str, &dyn Fn() -> TensorData) -> T> Named<T, F> {
    fn new(read: F) -> Self {
        Self {
            path: Path::default(),
            read,
            found: vec![],
        }
    }
}

impl<T, F: FnMut(&str, &dyn Fn() -> TensorData) -> T> ModuleVisitor for Named<T, F> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let data = || param.val().into_data();
        self.found.push((self.read)(&self.path.name(), &data));
    }
}

struct Loading<'a> {
    weights: &'a StateDict,
    path: Path,
    problem: Option<LoadError>,
}

impl ModuleMapper for Loading<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.name();
        let Some(data) = self.weights.get(&name) else {
            self.problem.get_or_insert(LoadError::Missing(name));
            return param;
        };
        let needed = param.lazy_shape();
        if data.shape() != &needed {
            self.problem.get_or_insert(LoadError::Shape {
                name,
                found: data.shape().to_vec(),
                needed: needed.to_vec(),
            });
            return param;
        }
        let (id, device) = (param.id, param.lazy_device());
        // Keeps whether the parameter is trained, which a new tensor does not know.
        param.transform_for_load(Tensor::from_data(data.clone(), &device), id)
    }
}
