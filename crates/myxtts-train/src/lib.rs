//! Training the model.

pub mod bench;
pub mod demand;
pub mod ema;
mod error;
#[doc(hidden)]
pub mod faults;
pub mod feed;
pub mod looping;
pub mod meter;
pub mod optim;
pub mod placement;
pub mod run;
pub mod scaler;
pub mod stage_run;
pub mod team;
pub mod timing;
pub mod trainee;

pub use error::TrainError;
