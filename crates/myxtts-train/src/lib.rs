//! Training the model.

pub mod bench;
pub mod optim;
