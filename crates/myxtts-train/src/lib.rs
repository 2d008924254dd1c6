//! Training the model.

pub mod config;
pub mod demand;
mod error;
#[doc(hidden)]
pub mod faults;
pub mod feed;
pub mod objective;
pub mod optim;
pub mod placement;
pub mod probe;
pub mod session;
pub mod stage;
pub mod train_loop;

pub use error::TrainError;
