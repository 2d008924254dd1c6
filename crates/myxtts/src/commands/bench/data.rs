//! `myxtts bench data`

use std::path::PathBuf;

use clap::ArgMatches;
use myxtts_base::report;
use myxtts_data::bench::{BenchError, generate, measure};
use myxtts_text::Vocabulary;
use serde_json::json;

use super::Document;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let path = |name: &str| matches.get_one::<PathBuf>(name);
    let number = |name: &str| matches.get_one::<u32>(name).copied().unwrap_or(1);
    if let Some(folder) = path("make-corpus") {
        let clips = number("clips");
        generate(folder, clips).map_err(job)?;
        return output.result(
            &json!({ "corpus": folder, "clips": clips }),
            format_args!("{clips} clips in {}", folder.display()),
        );
    }
    let vocabulary = path("vocab").map(|file| Vocabulary::read(file));
    let vocabulary = vocabulary.transpose().map_err(Failure::usage)?;
    // Kept until the end: dropping it removes the folder.
    let mut generated = None;
    let corpus = match path("corpus") {
        Some(folder) => folder.clone(),
        None => {
            let folder = tempfile::tempdir().map_err(|why| {
                Failure::Job(report!(
                    "cannot make a folder for the generated corpus: {why}"
                ))
            })?;
            generate(folder.path(), number("clips")).map_err(job)?;
            let path = folder.path().to_owned();
            generated = Some(folder);
            path
        }
    };
    let passes = usize::try_from(number("passes")).unwrap_or(usize::MAX);
    let report = measure(&corpus, vocabulary, passes).map_err(|error| match error {
        BenchError::Layout(error) => Failure::usage(error),
        error => job(error),
    })?;
    drop(generated);
    Document::print(report, output)
}

fn job(error: BenchError) -> Failure {
    Failure::job(error)
}
