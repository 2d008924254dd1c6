//! Shows where the time of a training goes, and ranks what to change.
//!
//! [`of_run`] reads the folder of a training, in progress or finished; [`of_machine`] looks at a
//! machine and trains for a few seconds. [`fix`] writes what a report recommends.

pub mod fix;
mod live;

use std::path::Path;

use myxtts_config::Keys;
use myxtts_device::Machine;
use myxtts_doctor::{Extra, read_run};
use myxtts_run::observer::Observer;

pub use myxtts_doctor::rules::ALL as RULES;
pub use myxtts_doctor::{Lang, Report};

use crate::error::Error;
use crate::settings::Given;
pub use live::Asked;

/// Reads the run in `folder`, and measures nothing.
///
/// # Errors
/// When the folder is not that of a run.
pub fn of_run(folder: &Path, lang: Lang) -> Result<Report, Error> {
    let reading = read_run(folder).map_err(|why| Error::failed(why.in_lang(lang)))?;
    Ok(Report::new(
        reading.signals,
        Extra {
            subject: folder.display().to_string(),
            at_step: reading.at_step,
            notes: reading.notes,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Extra::default()
        },
    ))
}

/// Measures a few steps of the configuration that was given, on `machine`. Whatever keeps it from
/// that, such as a machine that could not be discovered, is in the report.
pub fn of_machine(
    keys: &Keys,
    given: &Given,
    machine: Result<Machine, Error>,
    asked: Asked,
    lang: Lang,
    observer: &dyn Observer,
) -> Report {
    let looked = live::look(keys, given, machine, asked, observer);
    let subject = lang.pick(
        "this machine, measured now",
        "این دستگاه، همین حالا سنجیده شد",
    );
    Report::new(
        looked.signals,
        Extra {
            subject: subject.to_owned(),
            problems: looked.problems,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Extra::default()
        },
    )
}
