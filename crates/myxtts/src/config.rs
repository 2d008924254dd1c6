//! The configuration of a command: the library's, and the flags that set its keys.

use myxtts_config::Keys;

use crate::cli::flags;

pub(crate) use myxtts::internal::config::{
    Init, Sizes, load, load_with, plan_request, settings_in_environment, sizes, user_layer,
};
pub(crate) use myxtts::{Config, Given, GivenFlag};

/// Returns every key that there is, with the flag that sets it.
pub(crate) fn keys() -> Keys {
    let flags = flags::all().map(|flag| (format!("--{}", flag.long), flag.key.to_owned()));
    myxtts::internal::config::keys().with_flags(flags)
}
