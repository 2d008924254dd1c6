//! Nested dictionaries flattened to dotted names.

use std::collections::BTreeMap;

use super::pickle::{Heap, Id, Node, TensorSpec};
use crate::error::Fault;

/// The most levels of nesting; a trainer's checkpoint has six.
const MAX_DEPTH: usize = 64;
/// The most values in all: bounds what a few dictionaries that hold each other unfold to.
const MAX_VALUES: usize = 200_000;
/// The longest name, in bytes.
const MAX_NAME: usize = 512;

/// A plain value of a pickle.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// The `None` of Python.
    None,
    /// A truth value, `True` or `False`.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A floating-point number of 64 bits.
    Float(f64),
    /// A piece of text.
    Text(String),
}

/// What a pickle holds, by name.
#[derive(Debug, Default)]
pub(super) struct Flat {
    pub(super) tensors: BTreeMap<String, TensorSpec>,
    pub(super) scalars: BTreeMap<String, Scalar>,
    /// Python objects that were not built: their classes by name.
    pub(super) objects: BTreeMap<String, String>,
    values: usize,
}

/// A fault and the name it was met under.
pub(super) type NamedFault = (String, Fault);

impl Flat {
    pub(super) fn new(heap: &Heap, root: Id) -> Result<Self, NamedFault> {
        let mut flat = Self::default();
        if let Node::Opaque { global, .. } = heap.get(root) {
            return Err((String::new(), Fault::Object(global.clone())));
        }
        flat.add(heap, root, String::new(), 0)?;
        Ok(flat)
    }

    fn add(&mut self, heap: &Heap, id: Id, name: String, depth: usize) -> Result<(), NamedFault> {
        let too_much = |what, limit| Fault::TooMuch { what, limit };
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err((String::new(), too_much("values", MAX_VALUES)));
        }
        if depth > MAX_DEPTH {
            return Err((String::new(), too_much("levels of nesting", MAX_DEPTH)));
        }
        if name.len() > MAX_NAME {
            return Err((String::new(), too_much("bytes in a name", MAX_NAME)));
        }
        let scalar = match heap.get(id) {
            Node::Dict(entries) => {
                for (key, value) in entries {
                    let Some(key) = key_text(heap, *key) else {
                        return Err((
                            name,
                            Fault::Description("a key is neither text nor a number"),
                        ));
                    };
                    self.add(heap, *value, join(&name, &key), depth + 1)?;
                }
                return Ok(());
            }
            Node::List(items) | Node::Tuple(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.add(heap, *item, join(&name, &index.to_string()), depth + 1)?;
                }
                return Ok(());
            }
            Node::Tensor(spec) => {
                return match self.tensors.insert(name.clone(), spec.clone()) {
                    None => Ok(()),
                    Some(_) => Err((name, Fault::DuplicateName)),
                };
            }
            Node::Opaque {
                global,
                holds_tensor: true,
            } => {
                return Err((name, Fault::Wrapped(global.clone())));
            }
            Node::Opaque { global, .. } => {
                self.objects.insert(name, global.clone());
                return Ok(());
            }
            // A class, a storage or bytes: nothing anybody asks for by name.
            Node::Global(_) | Node::Storage(_) | Node::Other => return Ok(()),
            Node::None => Scalar::None,
            Node::Bool(value) => Scalar::Bool(*value),
            Node::Int(value) => Scalar::Int(*value),
            Node::Float(value) => Scalar::Float(*value),
            Node::Text(value) => Scalar::Text(value.clone()),
        };
        self.scalars.insert(name, scalar);
        Ok(())
    }
}

fn join(name: &str, key: &str) -> String {
    if name.is_empty() {
        key.to_owned()
    } else {
        format!("{name}.{key}")
    }
}

fn key_text(heap: &Heap, key: Id) -> Option<String> {
    match heap.get(key) {
        Node::Text(text) => Some(text.clone()),
        Node::Int(number) => Some(number.to_string()),
        _ => None,
    }
}
