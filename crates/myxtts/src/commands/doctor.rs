//! `myxtts doctor`

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts_doctor::{Extra, Lang, Report, read_run};

use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let lang = lang(matches.get_one::<String>("lang").map(String::as_str));
    let Some(folder) = matches.get_one::<PathBuf>("run") else {
        return Err(Failure::Usage(
            "`myxtts doctor` was not told what to look at\n  \
             found: measuring this machine without a run is not in this version\n  \
             fix:   name a run's folder, as in `myxtts doctor --run runs/default`; `myxtts train` makes it"
                .to_owned(),
        ));
    };
    let report = of_run(folder, lang)?;
    output.result(&report.document(), report.in_lang(lang))?;
    if report.blocks() {
        let what = lang.pick(
            "something keeps training from running; see the report",
            "چیزی جلوی آموزش را می‌گیرد؛ گزارش را ببینید",
        );
        return Err(Failure::Result(what.to_owned()));
    }
    Ok(())
}

fn of_run(folder: &Path, lang: Lang) -> Result<Report, Failure> {
    let reading = read_run(folder).map_err(|why| Failure::Job(why.in_lang(lang)))?;
    Ok(Report::new(
        reading.signals,
        Extra {
            subject: folder.display().to_string(),
            at_step: reading.at_step,
            notes: reading.notes,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
    ))
}

/// As asked for, else as the system speaks.
pub(super) fn lang(asked: Option<&str>) -> Lang {
    let system = || std::env::var("LANG").unwrap_or_default();
    let name = asked.map_or_else(system, str::to_owned);
    match name.split(['_', '.']).next() {
        Some("fa") => Lang::Fa,
        _ => Lang::En,
    }
}
