//! Commands that are not implemented yet. They say so.

use crate::output::Failure;

pub(super) fn run(name: &str) -> Result<(), Failure> {
    Err(Failure::Usage(format!(
        "`myxtts {name}` is not in this version\n  \
         found: this version prepares data, trains and speaks\n  \
         next:  `myxtts train`, `myxtts synthesize`, `myxtts devices` and `myxtts plan` work today"
    )))
}
