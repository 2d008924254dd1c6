//! Training the model.

pub mod bench;
pub mod demand;
mod error;
#[doc(hidden)]
pub mod faults;
pub mod feed;
pub mod objective;
pub mod optim;
pub mod placement;
pub mod run;
pub mod stage_run;
pub mod timing;
pub mod train_loop;

pub use error::TrainError;
