//! `myxtts doctor`

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use myxtts::doctor::{Asked, Lang, fix, of_machine, of_run};
use myxtts::machine::this_machine;
use serde_json::json;

use crate::config;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let lang = lang(matches.get_one::<String>("lang").map(String::as_str));
    let (keys, given) = (config::keys(), super::given(matches)?);
    let report = match matches.get_one::<PathBuf>("run") {
        Some(folder) => of_run(folder, lang)?,
        None => of_machine(&keys, &given, this_machine(), asked(matches), lang, output),
    };
    let (mut document, mut words) = (report.document(), report.in_lang(lang).to_string());
    if matches.get_flag("fix") {
        let fixed = fix::write(&keys, given.file.as_deref(), report.diagnosis())?;
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

fn asked(matches: &ArgMatches) -> Asked {
    let given = |name: &str| matches.get_one::<u32>(name).copied();
    let mut asked = match matches.get_flag("quick") {
        true => Asked::quick(),
        false => Asked::thorough(),
    };
    if let Some(batches) = given("num-batches") {
        asked.batches = u64::from(batches);
    }
    if let Some(seconds) = given("seconds") {
        asked.time = Duration::from_secs(u64::from(seconds));
    }
    asked
}

/// Returns the language that was asked for, or else the system's.
fn lang(asked: Option<&str>) -> Lang {
    let system = || std::env::var("LANG").unwrap_or_default();
    let name = asked.map_or_else(system, str::to_owned);
    match name.split(['_', '.']).next() {
        Some("fa") => Lang::Fa,
        _ => Lang::En,
    }
}
