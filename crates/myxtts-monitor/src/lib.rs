//! A run and its devices, in the terminal.
//!
//! `source` follows the files of a run and asks the devices, `state` says
//! what is shown after all that happened, `view` draws it, and [`Screen`]
//! holds the terminal. Everything is only read: the run that is looked at never
//! notices.

mod error;
mod reading;
mod sample;
mod source;
mod state;
mod terminal;
mod units;
mod view;
mod watch;

pub use error::MonitorError;
pub use reading::Reading;
pub use sample::{DeviceSample, HostSample, MachineSample};
pub use source::ReadMachine;
pub use terminal::{Screen, is_capable};
pub use units::{Seconds, WallTime};
pub use watch::{Ending, Once, watch};
