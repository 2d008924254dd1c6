//! Training the model.

pub mod bench;
pub mod feed;
pub mod optim;
