//! Parameters by the names of the public checkpoint.
//!
//! A field path is a key: `h.0.attn.c_attn.weight`. Where a key has a part
//! that cannot name a field, three rules make one of it: `_3` reads `3`, a
//! name that ends in `_` is left out, and so is the variant of an enum.

use std::cell::RefCell;
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

/// A tensor that could not be read back from its device.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("tensor `{name}` could not be read from its device: {why}")]
pub struct ReadError {
    /// The tensor.
    pub name: String,
    /// The engine's words.
    pub why: String,
}

/// A tensor by name that stays on its device until it is read.
///
/// Whoever reads one after the other has one in memory at a time, and a device
/// that was lost is an error of the tensor it was noticed at.
pub struct Unread {
    name: String,
    shape: Vec<usize>,
    read: Box<dyn Fn() -> Result<TensorData, String> + Send + Sync>,
}

impl Unread {
    /// A tensor as it is now: steps that replace it do not change it here.
    pub fn of<const D: usize>(name: impl Into<String>, tensor: Tensor<D>) -> Self {
        let shape = tensor.shape().to_vec();
        let read = move || tensor.try_to_data().map_err(|why| why.to_string());
        Self::with(name, shape, read)
    }

    /// One that `read` reads.
    pub fn with(
        name: impl Into<String>,
        shape: Vec<usize>,
        read: impl Fn() -> Result<TensorData, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            shape,
            read: Box::new(read),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its sizes, slowest dimension first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its numbers.
    ///
    /// # Errors
    /// When the device does not give them.
    pub fn read(&self) -> Result<TensorData, ReadError> {
        (self.read)().map_err(|why| ReadError {
            name: self.name.clone(),
            why,
        })
    }
}

impl std::fmt::Debug for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.name, self.shape)
    }
}

/// Where weights are asked for by name.
pub trait Weights {
    /// The tensor under a name.
    fn tensor(&self, name: &str) -> Option<TensorData>;
}

impl Weights for StateDict {
    fn tensor(&self, name: &str) -> Option<TensorData> {
        self.get(name).cloned()
    }
}

/// Weights that are handed over: each tensor is given once, without a copy.
#[derive(Debug)]
pub struct HandedOver(RefCell<StateDict>);

impl From<StateDict> for HandedOver {
    fn from(weights: StateDict) -> Self {
        Self(RefCell::new(weights))
    }
}

impl Weights for HandedOver {
    fn tensor(&self, name: &str) -> Option<TensorData> {
        self.0.borrow_mut().remove(name)
    }
}

/// Every float parameter's name, in declaration order.
pub fn names<M: Module>(module: &M) -> Vec<String> {
    unread(module)
        .into_iter()
        .map(|tensor| tensor.name)
        .collect()
}

/// Every float parameter with its name, in declaration order, on its device.
pub fn unread<M: Module>(module: &M) -> Vec<Unread> {
    let mut visitor = Named::default();
    module.visit(&mut visitor);
    visitor.found
}

/// Every float parameter with its name, read back to the host.
///
/// # Errors
/// When the device does not give one.
pub fn state_dict<M: Module>(module: &M) -> Result<StateDict, ReadError> {
    read_all(unread(module))
}

/// Tensors read back to the host.
///
/// # Errors
/// When a device does not give one.
pub fn read_all(tensors: impl IntoIterator<Item = Unread>) -> Result<StateDict, ReadError> {
    let read = |tensor: Unread| Ok((tensor.name.clone(), tensor.read()?));
    tensors.into_iter().map(read).collect()
}

/// Loads every float parameter from `weights`, below `prefix`.
///
/// Tensors the module does not have are left alone: whoever owns the file
/// decides whether surplus is an error.
pub fn load<M: Module>(module: M, weights: &dyn Weights, prefix: &str) -> Result<M, LoadError> {
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

#[derive(Default)]
struct Named {
    path: Path,
    found: Vec<Unread>,
}

impl ModuleVisitor for Named {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let name = self.path.name();
        self.found.push(Unread::of(name, param.val()));
    }
}

struct Loading<'a> {
    weights: &'a dyn Weights,
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
        let Some(data) = self.weights.tensor(&name) else {
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
        param.transform_for_load(Tensor::from_data(data, &device), id)
    }
}
