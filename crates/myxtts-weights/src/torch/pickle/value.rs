//! What a pickle builds: values in an arena, which may share and even hold
//! each other.

use super::globals::Known;
use crate::tensor::Dtype;

/// The place of a value in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::torch) struct Id(usize);

#[derive(Debug)]
pub(in crate::torch) enum Node {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// Bytes, or a number past 64 bits: nothing we need.
    Other,
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Global(Known),
    Storage(StorageSpec),
    Tensor(TensorSpec),
    /// What an unknown class or function would have made.
    Opaque {
        global: String,
        /// Whether it was given a tensor.
        holds_tensor: bool,
    },
}

/// A storage, as a persistent id describes it.
#[derive(Clone, Debug)]
pub(in crate::torch) struct StorageSpec {
    /// The type of the elements; `None` for bytes of no type.
    pub(in crate::torch) dtype: Option<Dtype>,
    /// The name of the entry below `data/`.
    pub(in crate::torch) key: String,
    pub(in crate::torch) elements: i64,
}

/// A tensor, as the pickle describes it; nothing is checked yet.
#[derive(Clone, Debug)]
pub(in crate::torch) struct TensorSpec {
    pub(in crate::torch) storage: StorageSpec,
    pub(in crate::torch) dtype: Dtype,
    pub(in crate::torch) offset: i64,
    pub(in crate::torch) shape: Vec<i64>,
    pub(in crate::torch) strides: Vec<i64>,
}

/// The arena of values. It only grows, by at most one value per instruction.
#[derive(Debug, Default)]
pub(in crate::torch) struct Heap {
    nodes: Vec<Node>,
}

/// What an id of another heap stands for, which no caller has.
const NOTHING: &Node = &Node::None;

impl Heap {
    pub(super) fn add(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        Id(self.nodes.len() - 1)
    }

    pub(in crate::torch) fn get(&self, id: Id) -> &Node {
        self.nodes.get(id.0).unwrap_or(NOTHING)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Node> {
        self.nodes.get_mut(id.0)
    }

    /// Returns the values of a tuple or list.
    pub(super) fn items(&self, id: Id) -> Option<&[Id]> {
        match self.get(id) {
            Node::Tuple(items) | Node::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn int(&self, id: Id) -> Option<i64> {
        match self.get(id) {
            Node::Int(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn ints(&self, id: Id) -> Option<Vec<i64>> {
        self.items(id)?.iter().map(|item| self.int(*item)).collect()
    }

    pub(super) fn text(&self, id: Id) -> Option<&str> {
        match self.get(id) {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether a tensor is among the arguments, up to a few tuples deep.
    pub(super) fn holds_tensor(&self, id: Id, depth: usize) -> bool {
        match self.get(id) {
            Node::Tensor(_) | Node::Storage(_) => true,
            Node::Opaque { holds_tensor, .. } => *holds_tensor,
            Node::Tuple(items) => {
                depth > 0
                    && items
                        .iter()
                        .take(8)
                        .any(|item| self.holds_tensor(*item, depth - 1))
            }
            _ => false,
        }
    }
}
