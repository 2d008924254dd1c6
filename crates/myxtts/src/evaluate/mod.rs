//! Measures how a model speaks: speed, endings, distance from recordings, error rates.
//!
//! ```text
//! Sentences ─┐
//! voice ─────┼─> Evaluation ─> speak or copy ─> scores, transcripts ─> Report, page
//! Model ─────┘
//! ```
//!
//! What can be checked before the model is loaded is checked when an [`Evaluation`] is made.

mod measure;
mod page;
mod picture;
mod recogniser;
mod report;
mod sentences;
mod table;
mod voices;

use std::path::PathBuf;

use myxtts_base::report;
use myxtts_infer::{Synthesizer, Vocoder};

use crate::error::Error;
use crate::speech::{Chosen, Model};
use crate::voice::VoiceSource;
use measure::{Bench, Way};
use page::Page;
pub use recogniser::Recogniser;
use report::{Condition, meanings};
pub use report::{MEANINGS, Report};
pub use sentences::Sentences;
use voices::Voices;

/// What the table calls the recordings themselves.
const RECORDINGS: &str = "the recordings";

/// What is asked of an evaluation.
pub struct Request {
    /// The folder of the weights, as [`resolve`](crate::resolve) returns it.
    pub checkpoint: PathBuf,
    /// The sentences to speak.
    pub sentences: Sentences,
    /// The voice to speak in; without it each sentence has its own.
    pub voice: Option<VoiceSource>,
    /// Whether recordings are turned into the model's codes and back, and nothing is spoken.
    pub copies: bool,
    /// What writes down the speech.
    pub recogniser: Option<Recogniser>,
    /// The folder of a page with pictures and audio.
    pub page: Option<PathBuf>,
    /// How to speak.
    pub chosen: Chosen,
}

/// An evaluation that only waits for its model.
pub struct Evaluation {
    checkpoint: PathBuf,
    sentences: Sentences,
    voices: Voices,
    copies: bool,
    recogniser: Option<Recogniser>,
    page: Option<Page>,
    chosen: Chosen,
}

impl Evaluation {
    /// Checks what is asked, and begins the page.
    ///
    /// # Errors
    /// When there is nothing to copy, the stored voices cannot be read, or the page cannot be
    /// written.
    pub fn of(request: Request) -> Result<Self, Error> {
        let sentences = request.sentences;
        let copies = request.copies;
        if copies && sentences.list.iter().all(|one| one.recording.is_none()) {
            return Err(Error::Refused(report!(
                "there is nothing to copy: no sentence of {} has a recording", sentences.from;
                fix: "name JSON lines with `recording` after --sentences, or a dataset after \
                      --dataset"
            )));
        }
        Ok(Self {
            voices: Voices::of(request.voice, &request.checkpoint)?,
            page: match request.page {
                Some(folder) => Some(Page::begin(&folder)?),
                None => None,
            },
            checkpoint: request.checkpoint,
            recogniser: request.recogniser,
            chosen: request.chosen,
            sentences,
            copies,
        })
    }

    /// Measures every sentence in every way. `progress` is told of sentences done, and of how
    /// many.
    ///
    /// # Errors
    /// When the model cannot do what is asked, its device runs out of memory, the recogniser cannot
    /// be started, or the page cannot be written. A single sentence that cannot be spoken is in
    /// the report.
    pub fn run(self, model: Model, progress: &mut dyn FnMut(u64, u64)) -> Result<Report, Error> {
        let Model {
            synthesizer,
            device,
        } = model;
        let ways = ways(&synthesizer, self.chosen.vocoder, self.copies)?;
        let mut bench = Bench::new(
            synthesizer,
            self.voices,
            self.copies,
            self.recogniser,
            self.page,
            self.chosen,
        )?;
        let sentences = self.sentences;
        let conditions = measured(&mut bench, &sentences, &ways, progress)?;
        let mut notices = sentences.notices.clone();
        notices.extend(bench.notices(&sentences, &ways));
        let mut report = Report {
            checkpoint: self.checkpoint,
            sentences: sentences.from,
            voice: bench.voices_in_words(),
            device,
            sampling: bench.sampling(),
            recogniser: bench.recogniser_name(),
            page: None,
            conditions,
            notices,
            meanings: meanings(),
        };
        if let Some(page) = bench.into_page() {
            report.page = Some(page.end(&report)?);
        }
        Ok(report)
    }
}

/// Makes and measures every sentence in every way.
fn measured(
    bench: &mut Bench,
    sentences: &Sentences,
    ways: &[Way],
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<Condition>, Error> {
    let mut outcomes = vec![vec![]; ways.len()];
    let mut heard = vec![];
    let total = sentences.list.len() as u64;
    for (done, sentence) in (0..).zip(&sentences.list) {
        progress(done, total);
        let told = bench.subject(sentence)?;
        if done == 0 {
            bench.warm_up(&told, ways)?;
        }
        for (way, outcomes) in ways.iter().zip(&mut outcomes) {
            outcomes.extend(bench.outcome(&told, *way)?);
        }
        heard.extend(bench.recording_heard(&told)?);
    }
    let conditions = ways.iter().zip(outcomes);
    let mut conditions: Vec<Condition> = conditions
        .map(|(way, outcomes)| Condition::of(way.name(), Some(way.vocoder()), outcomes))
        .collect();
    if !heard.is_empty() {
        conditions.push(Condition::of(RECORDINGS, None, heard));
    }
    Ok(conditions)
}

/// Returns the ways to make audio: speech by one vocoder, copies by each that the model has.
fn ways(
    synthesizer: &Synthesizer,
    asked: Option<Vocoder>,
    copies: bool,
) -> Result<Vec<Way>, Error> {
    if !copies {
        let vocoder = synthesizer.vocoder(asked)?;
        return Ok(vec![Way::Spoken(vocoder)]);
    }
    // Copies are made from codes, and these come from the DVAE.
    synthesizer.vocoder(Some(Vocoder::GriffinLim))?;
    if let Some(vocoder) = asked {
        let vocoder = synthesizer.vocoder(Some(vocoder))?;
        return Ok(vec![Way::Copied(vocoder)]);
    }
    let both = [Vocoder::GriffinLim, Vocoder::Hifigan];
    let there = both
        .into_iter()
        .filter(|one| synthesizer.vocoder(Some(*one)).is_ok());
    Ok(there.map(Way::Copied).collect())
}
