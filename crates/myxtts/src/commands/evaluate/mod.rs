//! `myxtts evaluate`

mod measure;
mod page;
mod picture;
mod recogniser;
mod report;
mod sentences;
mod voices;

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use myxtts::Model;
use myxtts_infer::{Synthesizer, Vocoder};

use super::model::{checkpoint, open_model};
use super::synthesize::{Chosen, failure};
use crate::output::{Failure, Output};
use crate::progress::ProgressBar;
use measure::{Bench, Way};
use page::Page;
pub(crate) use recogniser::Recogniser;
#[cfg(test)]
pub(crate) use report::MEANINGS;
use report::{Condition, Report, meanings};
use sentences::Sentences;
use voices::Voices;

/// What the table calls the recordings themselves.
const RECORDINGS: &str = "the recordings";

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let recogniser = recogniser(matches)?;
    let checkpoint = checkpoint(matches)?;
    let sentences = Sentences::of(matches, &checkpoint, output)?;
    let copies = matches.get_flag("copy");
    if copies && sentences.list.iter().all(|one| one.recording.is_none()) {
        return Err(Failure::Usage(myxtts_base::report!(
            "there is nothing to copy: no sentence of {} has a recording", sentences.from;
            fix: "name JSON lines with `recording` after --sentences, or a dataset after \
                  --dataset"
        )));
    }
    let voices = Voices::of(matches, &checkpoint)?;
    let page = match matches.get_one::<PathBuf>("page") {
        Some(folder) => Some(Page::begin(folder)?),
        None => None,
    };

    let Model {
        synthesizer,
        device,
    } = open_model(matches, &checkpoint)?;
    let chosen = Chosen::of(matches);
    let ways = ways(&synthesizer, chosen.vocoder, copies)?;
    let bench = Bench::new(synthesizer, voices, copies, recogniser, page, chosen)?;
    let report = Report {
        sentences: sentences.from.clone(),
        device,
        sampling: None,
        notices: sentences.notices.clone(),
        checkpoint,
        voice: String::new(),
        recogniser: None,
        page: None,
        conditions: vec![],
        meanings: meanings(),
    };
    let report = evaluate(bench, &sentences, &ways, report)?;
    let problem = report.problem();
    output.result(&report, &report)?;
    problem.map_or(Ok(()), |problem| Err(Failure::Result(problem.into())))
}

/// Measures every sentence in every way.
fn evaluate(
    mut bench: Bench,
    sentences: &Sentences,
    ways: &[Way],
    mut report: Report,
) -> Result<Report, Failure> {
    let mut outcomes = vec![vec![]; ways.len()];
    let mut heard = vec![];
    let mut bar = ProgressBar::new();
    let total = sentences.list.len() as u64;
    for (done, sentence) in (0..).zip(&sentences.list) {
        bar.show(done, total, " sentences");
        let told = bench.subject(sentence)?;
        if done == 0 {
            bench.warm_up(&told, ways)?;
        }
        for (way, outcomes) in ways.iter().zip(&mut outcomes) {
            outcomes.extend(bench.outcome(&told, *way)?);
        }
        heard.extend(bench.recording_heard(&told)?);
    }
    bar.clear();
    let conditions = ways.iter().zip(outcomes);
    report.conditions = conditions
        .map(|(way, outcomes)| Condition::of(way.name(), Some(way.vocoder()), outcomes))
        .collect();
    if !heard.is_empty() {
        report
            .conditions
            .push(Condition::of(RECORDINGS, None, heard));
    }
    report.voice = bench.voices_in_words();
    report.sampling = bench.sampling();
    report.recogniser = bench.recogniser_name();
    report.notices.extend(bench.notices(sentences, ways));
    report.page = match bench.into_page() {
        Some(page) => Some(page.end(&report)?),
        None => None,
    };
    Ok(report)
}

/// Returns the ways to make audio: speech by one vocoder, copies by each that the model has.
fn ways(
    synthesizer: &Synthesizer,
    asked: Option<Vocoder>,
    copies: bool,
) -> Result<Vec<Way>, Failure> {
    if !copies {
        let vocoder = synthesizer.vocoder(asked).map_err(failure)?;
        return Ok(vec![Way::Spoken(vocoder)]);
    }
    // Copies are made from codes, and these come from the DVAE.
    synthesizer
        .vocoder(Some(Vocoder::GriffinLim))
        .map_err(failure)?;
    if let Some(vocoder) = asked {
        let vocoder = synthesizer.vocoder(Some(vocoder)).map_err(failure)?;
        return Ok(vec![Way::Copied(vocoder)]);
    }
    let both = [Vocoder::GriffinLim, Vocoder::Hifigan];
    let there = both
        .into_iter()
        .filter(|one| synthesizer.vocoder(Some(*one)).is_ok());
    Ok(there.map(Way::Copied).collect())
}

fn recogniser(matches: &ArgMatches) -> Result<Option<Recogniser>, Failure> {
    let Some(recogniser) = matches.get_one::<Recogniser>("recogniser") else {
        return Ok(None);
    };
    let seconds = matches.get_one::<u64>("recogniser-timeout");
    let mut recogniser = recogniser.clone();
    if let Some(seconds) = seconds {
        recogniser.timeout = Duration::from_secs(*seconds);
    }
    Ok(Some(recogniser))
}
