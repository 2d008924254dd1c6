//! Commands that are not implemented yet. They say so.

use myxtts::report;

use crate::output::Failure;

pub(super) fn run(name: &str) -> Result<(), Failure> {
    Err(Failure::Usage(report!(
        "`myxtts {name}` is not in this version";
        found: "this version prepares data, trains and speaks";
        fix: "`myxtts train`, `myxtts synthesize`, `myxtts devices` and `myxtts plan` work today"
    )))
}
