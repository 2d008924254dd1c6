//! A training run without its tensors.
//!
//! [`schedule`] says how fast to learn and [`guard`] whether a step may count.
//! [`checkpoint`] keeps what was learnt; [`metrics`], [`tensorboard`] and
//! [`progress`] report it, and an [`observer`] watches; [`run_folder`] says where everything lies. [`signals`]
//! says when to stop, and [`compare`] whether a run may resume under a changed
//! configuration. Nothing here touches a device.

mod base64;
pub mod checkpoint;
pub mod config_diff;
mod exact_float;
mod file_error;
pub mod guard;
pub mod lr;
pub mod metrics;
pub mod observer;
pub mod progress;
pub mod rotating;
pub mod run_folder;
pub mod signals;
pub mod tensorboard;
pub mod units;

pub use base64::base64;
pub use file_error::FileError;
