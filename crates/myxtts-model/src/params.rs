//! Parameters by the names of the public checkpoint.
//!
//! A field path is a key: `h.0.attn.c_attn.weight`. Where a key has a part
//! that cannot name a field, three rules make one of it: `_3` reads `3`, a
//! name that ends in `_` is left out, and so is the variant of an enum.

use std::cell::RefCell;
use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};

/// Tensors on the host, by name.
pub type StateDict = BTreeMap<String, TensorData>;

/// The reasons for which weights do not fit a module.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LoadError {
    /// The module has a parameter the weights lack.
    #[error("the weights have no tensor `{0}`: the file is of another model or is incomplete")]
    Missing(String),
    /// A tensor has another number of dimensions than the parameter.
    #[error("tensor `{name}` has shape {found:?} in place of {needed} dimensions")]
    Dimensions {
        /// The name of the tensor.
        name: String,
        /// Its shape in the weights.
        found: Vec<usize>,
        /// The number of dimensions in the model.
        needed: usize,
    },
    /// A tensor has another shape than the parameter.
    #[error(
        "tensor `{name}` has shape {found:?}, the model needs {needed:?}: \
         the sizes in the configuration are not those of the weights"
    )]
    Shape {
        /// The name of the tensor.
        name: String,
        /// Its shape in the weights.
        found: Vec<usize>,
        /// Its shape in the model.
        needed: Vec<usize>,
    },
}

/// A tensor that could not be read back from its device.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("tensor `{name}` could not be read from its device: {why}")]
pub struct ReadError {
    /// The name of the tensor.
    pub name: String,
    /// What the engine reported.
    pub why: String,
}

/// A named tensor that stays on its device until it is read.
///
/// Reading one after the other keeps only one in host memory at a time, and a lost device is
/// reported for the tensor at which it was noticed.
pub struct Unread {
    name: String,
    shape: Vec<usize>,
    read: Box<dyn Fn() -> Result<TensorData, String> + Send + Sync>,
}

impl Unread {
    /// Holds a tensor as it is now: steps that replace it do not change it here.
    pub fn of<const D: usize>(name: impl Into<String>, tensor: Tensor<D>) -> Self {
        let shape = tensor.shape().to_vec();
        let read = move || tensor.try_to_data().map_err(|why| why.to_string());
        Self::with(name, shape, read)
    }

    /// Holds a tensor that the closure `read` reads.
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

    /// Returns the name of the tensor.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the sizes, slowest dimension first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Reads the numbers to the host.
    ///
    /// # Errors
    /// When the device does not return them.
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

/// A source of weights by name.
pub trait Weights {
    /// Returns the tensor of a name.
    fn tensor(&self, name: &str) -> Option<TensorData>;
}

impl Weights for StateDict {
    fn tensor(&self, name: &str) -> Option<TensorData> {
        self.get(name).cloned()
    }
}

/// Weights that are handed over: each tensor is returned once, without a copy.
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

/// Lists the name of every float parameter, in declaration order.
pub fn names<M: Module>(module: &M) -> Vec<String> {
    unread(module)
        .into_iter()
        .map(|tensor| tensor.name)
        .collect()
}

/// Lists every float parameter with its name, in declaration order, unread on its device.
pub fn unread<M: Module>(module: &M) -> Vec<Unread> {
    let mut visitor = Named::default();
    module.visit(&mut visitor);
    visitor.found
}

/// Reads every float parameter back to the host.
///
/// # Errors
/// When a tensor cannot be read from the device.
pub fn state_dict<M: Module>(module: &M) -> Result<StateDict, ReadError> {
    read_all(unread(module))
}

/// Reads tensors back to the host.
///
/// # Errors
/// When a tensor cannot be read from its device.
pub fn read_all(tensors: impl IntoIterator<Item = Unread>) -> Result<StateDict, ReadError> {
    let read = |tensor: Unread| Ok((tensor.name.clone(), tensor.read()?));
    tensors.into_iter().map(read).collect()
}

/// Loads every float parameter from `weights`, below `prefix`.
///
/// Tensors that the module does not have are ignored: whoever owns the file decides whether
/// surplus is an error.
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

/// The position of a walk through a module.
#[derive(Default)]
pub struct Path {
    parts: Vec<Option<String>>,
}

impl Path {
    /// Starts a walk whose names begin with `prefix`.
    fn below(prefix: &str) -> Self {
        let parts = (!prefix.is_empty()).then(|| Some(prefix.to_owned()));
        Self {
            parts: parts.into_iter().collect(),
        }
    }

    /// Enters the field of this name.
    pub fn enter(&mut self, name: &str) {
        let part = match name.strip_prefix('_') {
            Some(number) => Some(number.to_owned()),
            None if name.ends_with('_') || name.starts_with(char::is_uppercase) => None,
            None => Some(name.to_owned()),
        };
        self.parts.push(part);
    }

    /// Leaves the field entered last.
    pub fn exit(&mut self) {
        self.parts.pop();
    }

    /// Returns the dotted name of the present position.
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
