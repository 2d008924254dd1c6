//! Commands whose work is not there yet. They say so.

use clap::ArgMatches;

use crate::config;
use crate::output::Failure;

pub(super) fn run(name: &str, matches: &ArgMatches) -> Result<(), Failure> {
    if name == "train" {
        // Wrong flags are wrong today too.
        config::user_layer(&config::keys(), &super::given(matches)?).map_err(Failure::usage)?;
    }
    Err(Failure::Usage(format!(
        "`myxtts {name}` is not in this version\n  \
         found: this version plans a training and does not run one yet\n  \
         next:  `myxtts devices`, `myxtts plan`, `myxtts prepare` and `myxtts config` work today"
    )))
}
