//! `myxtts bench data`

use std::path::PathBuf;

use clap::ArgMatches;
use myxtts::bench::{Clips, data_path, make_corpus};
use serde_json::json;

use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let path = |name: &str| matches.get_one::<PathBuf>(name);
    let number = |name: &str| matches.get_one::<u32>(name).copied().unwrap_or(1);
    if let Some(folder) = path("make-corpus") {
        let clips = number("clips");
        make_corpus(folder, clips)?;
        return output.result(
            &json!({ "corpus": folder, "clips": clips }),
            format_args!("{clips} clips in {}", folder.display()),
        );
    }
    let clips = match path("corpus") {
        Some(folder) => Clips::Of(folder.clone()),
        None => Clips::Generated(number("clips")),
    };
    let passes = usize::try_from(number("passes")).unwrap_or(usize::MAX);
    let report = data_path(clips, path("vocab").map(PathBuf::as_path), passes)?;
    output.result(&report, &report)
}
