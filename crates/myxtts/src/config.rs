//! The configuration of a command: the library's, and the flags that set its keys.

use myxtts::settings::{self, Keys};
use myxtts::{Config, Given, Machine, Settings};

use crate::cli::flags;
use crate::output::Failure;

/// Returns every key that there is, with the flag that sets it.
pub(crate) fn keys() -> Keys {
    let flags = flags::all().map(|flag| (format!("--{}", flag.long), flag.key.to_owned()));
    settings::keys().with_flags(flags)
}

/// Puts the configuration of a command together, for `machine`.
pub(crate) fn load(given: &Given, machine: &Machine) -> Result<Settings<Config>, Failure> {
    settings::load(&keys(), given, || machine.clone()).map_err(Failure::usage)
}
