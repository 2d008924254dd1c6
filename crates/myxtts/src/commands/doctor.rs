//! `myxtts doctor`

mod fix;
mod live;

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts_doctor::{Extra, Lang, Report, read_run};
use serde_json::json;

use crate::output::{Failure, Output};
use live::{Asked, Looked};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let lang = lang(matches.get_one::<String>("lang").map(String::as_str));
    let given = super::given(matches)?;
    let report = match matches.get_one::<PathBuf>("run") {
        Some(folder) => of_run(folder, lang)?,
        None => of_machine(live::look(&given, Asked::of(matches), output), lang),
    };
    let (mut document, mut words) = (report.document(), report.in_lang(lang).to_string());
    if matches.get_flag("fix") {
        let fixed = fix::write(given.file.as_deref(), report.diagnosis())?;
        words.push_str(&fix::words(fixed.as_ref(), lang));
        document["fixed"] = json!(fixed);
    }
    output.result(&document, words)?;
    if report.blocks() {
        let what = lang.pick(
            "something keeps training from running; see the report",
            "چیزی جلوی آموزش را می‌گیرد؛ گزارش را ببینید",
        );
        return Err(Failure::Result(what.into()));
    }
    Ok(())
}

fn of_run(folder: &Path, lang: Lang) -> Result<Report, Failure> {
    let reading = read_run(folder).map_err(|why| Failure::job(why.in_lang(lang)))?;
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

fn of_machine(looked: Looked, lang: Lang) -> Report {
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

/// Returns the language that was asked for, or else the system's.
pub(super) fn lang(asked: Option<&str>) -> Lang {
    let system = || std::env::var("LANG").unwrap_or_default();
    let name = asked.map_or_else(system, str::to_owned);
    match name.split(['_', '.']).next() {
        Some("fa") => Lang::Fa,
        _ => Lang::En,
    }
}
