//! Training the model.

pub mod feed;
pub mod optim;
