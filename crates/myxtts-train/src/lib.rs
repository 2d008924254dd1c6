//! Training the model.

pub mod bench;
pub mod demand;
pub mod ema;
mod error;
pub mod feed;
pub mod looping;
pub mod optim;
pub mod placement;
pub mod run;
pub mod scaler;
pub mod stage_run;
pub mod team;
pub mod trainee;

pub use error::TrainError;
