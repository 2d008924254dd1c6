//! Training the model.

pub mod optim;
