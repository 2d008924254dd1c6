//! The run: rows out to the workers, outcomes back in order.
//!
//! Row i goes to worker i mod n and comes back from it, over channels that hold
//! a few rows each: the order is the dataset's, memory is bounded, and there is
//! nothing to sort. A slow clip makes the others wait only once they are a
//! channel's length ahead.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::findings::Note;
use super::inspect::{Inspector, Job, Outcome};
use super::manifest::Clip;
use super::outliers::Usual;
use super::quarantine::Quarantined;
use super::report::{Report, Summary};
use super::tally::Tally;
use super::{
    AUDIO, MANIFEST, PrepareError, QUARANTINE, REPORT, REPORT_TEXT, Request, freshness, jsonl,
    paths,
};
use crate::atomic;
use crate::layout::{self, Layout, OUTPUT_MARK, Split};
use crate::split::held_out_of;

/// Rows on their way to one worker, and outcomes on their way back.
const WINDOW: usize = 16;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Rows done.
    pub done: u64,
    /// Lines of the metadata, which is about the number of rows.
    pub about: u64,
    /// Rows quarantined so far.
    pub quarantined: u64,
}

/// Prepares a dataset: reads every clip once and writes the manifest, the
/// quarantine and the report to the output folder. `watch` is told of every
/// row.
///
/// Too many bad clips are no error here: the report says so, and
/// [`Report::check`] is for those who go on to train.
pub fn prepare(
    request: &Request<'_>,
    watch: &mut dyn FnMut(Progress),
) -> Result<Report, PrepareError> {
    let language = request.settings.language()?;
    let dataset = absolute(&request.dataset)?;
    let out = absolute(&request.out)?;
    let layout = layout::detect(&dataset)?;
    let root = layout.root().to_owned();
    if same_folder(&root, &out) {
        return Err(PrepareError::SameFolder { path: out });
    }
    open_output(&out)?;
    let metadata = |why| PrepareError::Metadata {
        path: dataset.clone(),
        why,
    };
    let about = layout.lines().map_err(metadata)?;
    let fingerprint = freshness::fingerprint(&layout, &dataset)?;
    let audio = request.settings.convert.then(|| out.join(AUDIO));

    let mut tally = Tally::new(request, &root, &out);
    let mut spool = jsonl::Writer::<Clip>::create(&out.join(MANIFEST))?;
    let mut quarantine = jsonl::Writer::<Quarantined>::create(&out.join(QUARANTINE))?;
    let mut progress = Progress {
        done: 0,
        about,
        quarantined: 0,
    };
    thread::scope(|scope| {
        let mut jobs = Vec::new();
        let mut outcomes = Vec::new();
        for _ in 0..request.workers.get() {
            let (job, next_job) = sync_channel(WINDOW);
            let (outcome, next_outcome) = sync_channel(WINDOW);
            let inspector = Inspector::new(request, &language, audio.as_deref());
            scope.spawn(move || work(inspector, &next_job, &outcome));
            jobs.push(job);
            outcomes.push(next_outcome);
        }
        scope.spawn(|| feed(&layout, &root, jobs));
        for outcome in in_turn(&outcomes) {
            let outcome = match outcome {
                Ok(outcome) => outcome?,
                Err(why) => return Err(metadata(why)),
            };
            let rejected = match outcome {
                Outcome::Accepted(accepted) => match tally.accept(*accepted) {
                    Ok(clip) => {
                        spool.write(&clip)?;
                        None
                    }
                    Err(rejected) => Some(rejected),
                },
                Outcome::Rejected(rejected) => Some(*rejected),
            };
            if let Some(rejected) = rejected {
                quarantine.write(&tally.reject(rejected))?;
                progress.quarantined += 1;
            }
            progress.done += 1;
            watch(progress);
        }
        Ok(())
    })?;

    let usual = Usual::of(&tally.speech);
    let mut summary = Summary::new(&request.settings);
    let kept = finish_manifest(request, &tally, usual, spool, &mut summary, &out)?;
    let quarantined = quarantine.finish()?;
    let total = progress.done;
    if kept + quarantined != total {
        return Err(PrepareError::Lost {
            total,
            kept,
            quarantined,
        });
    }
    let counts = (total, kept, quarantined);
    let report = summary.report(request, &tally, usual, counts, fingerprint);
    write_report(&report, &out)?;
    Ok(report)
}

/// The second pass: what is unusual and what is held out.
fn finish_manifest(
    request: &Request<'_>,
    tally: &Tally<'_>,
    usual: Option<Usual>,
    spool: jsonl::Writer<Clip>,
    summary: &mut Summary,
    out: &Path,
) -> Result<u64, PrepareError> {
    let settings = &request.settings;
    let held_out = match tally.has_validation {
        true => vec![],
        false => held_out_of(
            &tally.drawn,
            settings.held_out_fraction,
            settings.held_out_most,
        ),
    };
    let spool = spool.flushed()?;
    let mut manifest = jsonl::Writer::<Clip>::create(&out.join(MANIFEST))?;
    for (index, clip) in jsonl::Reader::<Clip>::open(&spool)?.enumerate() {
        let mut clip = clip?;
        if held_out.get(index) == Some(&true) {
            clip.split = Split::Validation;
        }
        let speech = tally.speech.get(index).copied().unwrap_or_default();
        if usual.is_some_and(|usual| usual.is_outlier(speech)) {
            clip.notes.push(Note::TextOutlier);
            clip.notes.sort_unstable();
        }
        summary.add(&clip, speech);
        manifest.write(&clip)?;
    }
    manifest.finish()
}

fn write_report(report: &Report, out: &Path) -> Result<(), PrepareError> {
    let document = serde_json::to_vec_pretty(report).map_err(io::Error::from);
    let path = out.join(REPORT);
    document
        .and_then(|document| atomic::write(&path, &document))
        .map_err(PrepareError::output(&path))?;
    let path = out.join(REPORT_TEXT);
    atomic::write(&path, report.to_string().as_bytes()).map_err(PrepareError::output(&path))
}

/// A row, or why there are no more.
type Fed = io::Result<Job>;
type Done = io::Result<Result<Outcome, PrepareError>>;

/// Gives rows to the workers in turn, each with a name of its own.
fn feed(layout: &Layout, root: &Path, jobs: Vec<SyncSender<Fed>>) {
    let mut names = HashSet::new();
    let mut turn = jobs.iter().cycle();
    let mut send = |fed| turn.next().is_some_and(|job| job.send(fed).is_ok());
    let rows = match layout::rows(layout) {
        Ok(rows) => rows,
        Err(why) => {
            send(Err(why));
            return;
        }
    };
    for (number, row) in (1_u64..).zip(rows) {
        let fed = row.map(|row| {
            let id = row.as_ref().map_or(String::new(), |entry| {
                let id = paths::id(&entry.audio, root);
                let mut hasher = DefaultHasher::new();
                id.hash(&mut hasher);
                match names.insert(hasher.finish()) {
                    true => id,
                    false => format!("{id}#{number}"),
                }
            });
            Job { id, row }
        });
        let last = fed.is_err();
        // Nobody listens any more once the run has failed.
        if !send(fed) || last {
            return;
        }
    }
}

fn work(mut inspector: Inspector<'_>, jobs: &Receiver<Fed>, outcomes: &SyncSender<Done>) {
    for fed in jobs {
        if outcomes
            .send(fed.map(|job| inspector.inspect(job)))
            .is_err()
        {
            return;
        }
    }
}

/// Outcomes in the order of the rows, until there are no more.
fn in_turn(outcomes: &[Receiver<Done>]) -> impl Iterator<Item = Done> {
    outcomes.iter().cycle().map_while(|next| next.recv().ok())
}

fn open_output(out: &Path) -> Result<(), PrepareError> {
    let mark = out.join(OUTPUT_MARK);
    fs::create_dir_all(out).map_err(PrepareError::output(out))?;
    let text = "Written by `myxtts prepare`; report.txt says what is here.\n";
    atomic::write(&mark, text.as_bytes()).map_err(PrepareError::output(out))
}

/// Whether two paths lead to one folder, as far as both exist.
fn same_folder(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, PrepareError> {
    std::path::absolute(path).map_err(|why| PrepareError::Metadata {
        path: path.to_owned(),
        why,
    })
}
