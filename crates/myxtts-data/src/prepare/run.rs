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
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use myxtts_text::Language;

use super::checks::Note;
use super::freshness::Freshness;
use super::inspect::{Inspector, Job, Outcome};
use super::lock::{Access, Lock, Reading, Waiting};
use super::manifest::Clip;
use super::outliers::Usual;
use super::quarantine::Quarantined;
use super::report::{self, Report, Summary};
use super::totals::Totals;
use super::{
    AUDIO, MANIFEST, PrepareError, QUARANTINE, REPORT, REPORT_TEXT, Request, freshness, jsonl,
    language, paths,
};
use crate::atomic;
use crate::layout::{self, Layout, OUTPUT_MARK, Split};
use crate::split::held_out_of;

/// The number of rows on their way to one worker, and of outcomes on their way back.
const WINDOW: usize = 16;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of rows done.
    pub done: u64,
    /// The number of lines of the metadata, which is about the number of rows.
    pub about: u64,
    /// The number of rows quarantined so far.
    pub quarantined: u64,
}

/// What is reported during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A row is done.
    Row(Progress),
    /// Another process uses the output folder; repeated while it does.
    Waiting(Waiting),
}

/// A callback for what happens. Breaking stops the run, and then the output folder
/// is left as it was.
pub type Watch<'a> = &'a mut dyn FnMut(Event) -> ControlFlow<()>;

/// Ignores every event and never stops, for a run that nobody watches.
pub fn unwatched(_: Event) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Prepares a dataset: reads every clip once and writes the manifest, the
/// quarantine and the report to the output folder. `watch` is told of every
/// row.
///
/// Too many bad clips are not an error here: the report says so, and
/// [`Report::check`] is for those who then train.
pub fn prepare(request: &Request<'_>, watch: Watch<'_>) -> Result<Report, PrepareError> {
    let dataset = Dataset::open(request)?;
    let _lock = lock(&request.out, Access::Write, watch)?;
    make(request, &dataset, watch)
}

/// A prepared dataset that nobody replaces while it is read.
#[derive(Debug)]
pub struct Ready {
    /// The report of the preparation.
    pub report: Report,
    /// The folder it is in.
    pub folder: PathBuf,
    /// The lock that keeps the folder as it is.
    pub reading: Reading,
}

/// Returns a dataset as a request wants it, prepared earlier or now.
///
/// What the output folder holds of other settings stays: a training that wants its
/// own gets a folder below it, named by its settings.
pub fn ready(request: &Request<'_>, watch: Watch<'_>) -> Result<Ready, PrepareError> {
    let mut request = request.clone();
    let dataset = Dataset::open(&request)?;
    request.settings.language = Some(dataset.language.to_string());
    let mut is_keyed = false;
    loop {
        let lock_to_read = lock(&request.out, Access::Read, watch)?;
        match freshness::freshness_of(&request)? {
            Freshness::Current(report) => {
                return Ok(Ready {
                    report: *report,
                    folder: request.out,
                    reading: Reading::of(lock_to_read),
                });
            }
            Freshness::Other if !is_keyed => {
                request.out = request.out.join(SETS).join(freshness::key(&request));
                is_keyed = true;
                continue;
            }
            Freshness::Other | Freshness::Absent => {}
        }
        drop(lock_to_read);
        let _lock = lock(&request.out, Access::Write, watch)?;
        // Another process may have made it, or something else, while this one
        // waited.
        match freshness::freshness_of(&request)? {
            Freshness::Current(_) => {}
            Freshness::Other if !is_keyed => {}
            Freshness::Other | Freshness::Absent => {
                make(&request, &dataset, watch)?;
            }
        }
    }
}

/// The folder for sets of other settings, below the output folder.
const SETS: &str = "sets";

/// A dataset as it is found, before a recording is read.
struct Dataset {
    path: PathBuf,
    layout: Layout,
    language: Language,
}

impl Dataset {
    fn open(request: &Request<'_>) -> Result<Self, PrepareError> {
        let path = absolute(&request.dataset)?;
        let settings = &request.settings;
        let layout = layout::detect(&path, settings.columns.as_ref())?;
        if same_folder(layout.root(), &request.out) {
            let path = request.out.clone();
            return Err(PrepareError::SameFolder { path });
        }
        let language = language::decide(settings.language.as_deref(), &layout, &path)?;
        Ok(Self {
            path,
            layout,
            language,
        })
    }

    /// Reports that the metadata cannot be read.
    fn unreadable(&self, why: io::Error) -> PrepareError {
        PrepareError::Metadata {
            path: self.path.clone(),
            why,
        }
    }
}

fn lock(out: &Path, access: Access, watch: Watch<'_>) -> Result<Lock, PrepareError> {
    fs::create_dir_all(out).map_err(PrepareError::output(out))?;
    Lock::take(out, access, &mut |waiting| watch(Event::Waiting(waiting)))
}

/// Makes the files; the caller holds the lock.
fn make(
    request: &Request<'_>,
    dataset: &Dataset,
    watch: Watch<'_>,
) -> Result<Report, PrepareError> {
    let layout = &dataset.layout;
    let out = absolute(&request.out)?;
    let root = layout.root().to_owned();
    open_output(&out)?;
    let about = layout.lines().map_err(|why| dataset.unreadable(why))?;
    let fingerprint = freshness::fingerprint(layout)?;
    let audio = request.settings.convert.then(|| out.join(AUDIO));

    let mut totals = Totals::new(request, &root, &out);
    let mut spool = jsonl::Writer::<Clip>::create(&out.join(MANIFEST))?;
    let mut quarantine = jsonl::Writer::<Quarantined>::create(&out.join(QUARANTINE))?;
    let mut progress = Progress {
        done: 0,
        about,
        quarantined: 0,
    };
    inspect(request, dataset, audio.as_deref(), |outcome| {
        let is_kept = keep(outcome, &mut totals, &mut spool, &mut quarantine)?;
        progress.quarantined += u64::from(!is_kept);
        progress.done += 1;
        match watch(Event::Row(progress)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(PrepareError::Stopped),
        }
    })?;

    let usual = Usual::of(&totals.speech);
    let mut summary = Summary::new(&request.settings);
    let (manifest, lines) = finish_manifest(request, &totals, usual, spool, &mut summary, &out)?;
    let (quarantine, quarantined) = quarantine.finish()?;
    let total = progress.done;
    // A row that was split has several lines.
    let splits = &totals.splits;
    let kept = (lines + splits.clips.count).saturating_sub(splits.pieces);
    if kept + quarantined != total {
        return Err(PrepareError::Lost {
            total,
            kept,
            quarantined,
        });
    }
    let read = report::Read {
        counts: (total, kept, quarantined),
        layout,
        language: &dataset.language,
        fingerprint,
    };
    let report = summary.report(request, &totals, usual, read);
    publish(&report, &out, manifest, quarantine)?;
    Ok(report)
}

/// Has the workers inspect every row, and hands on the outcomes in the dataset's order.
fn inspect(
    request: &Request<'_>,
    dataset: &Dataset,
    audio: Option<&Path>,
    mut take: impl FnMut(Outcome) -> Result<(), PrepareError>,
) -> Result<(), PrepareError> {
    let layout = &dataset.layout;
    thread::scope(|scope| {
        let mut jobs = Vec::new();
        let mut outcomes = Vec::new();
        for _ in 0..request.workers.get() {
            let (job, next_job) = sync_channel(WINDOW);
            let (outcome, next_outcome) = sync_channel(WINDOW);
            let inspector = Inspector::new(request, &dataset.language, audio);
            scope.spawn(move || work(inspector, &next_job, &outcome));
            jobs.push(job);
            outcomes.push(next_outcome);
        }
        scope.spawn(|| feed(layout, layout.root(), jobs));
        for outcome in in_turn(&outcomes) {
            match outcome {
                Ok(outcome) => take(outcome?)?,
                Err(why) => return Err(dataset.unreadable(why)),
            }
        }
        Ok(())
    })
}

/// Writes a clip to the manifest or to the quarantine, and returns whether it was kept.
fn keep(
    outcome: Outcome,
    totals: &mut Totals<'_>,
    spool: &mut jsonl::Writer<Clip>,
    quarantine: &mut jsonl::Writer<Quarantined>,
) -> Result<bool, PrepareError> {
    let rejected = match outcome {
        Outcome::Accepted(accepted) => match totals.accept(*accepted) {
            Ok(clip) => {
                spool.write(&clip)?;
                return Ok(true);
            }
            Err(rejected) => rejected,
        },
        Outcome::Split(split) => match totals.accept_split(*split) {
            Ok(clips) => {
                for clip in &clips {
                    spool.write(clip)?;
                }
                return Ok(true);
            }
            Err(rejected) => rejected,
        },
        Outcome::Rejected(rejected) => rejected,
    };
    quarantine.write(&totals.reject(*rejected))?;
    Ok(false)
}

/// Writes the manifest in the second pass, with what is unusual and what is held out.
fn finish_manifest(
    request: &Request<'_>,
    totals: &Totals<'_>,
    usual: Option<Usual>,
    spool: jsonl::Writer<Clip>,
    summary: &mut Summary,
    out: &Path,
) -> Result<(jsonl::Finished, u64), PrepareError> {
    let settings = &request.settings;
    let held_out = match totals.has_validation {
        true => vec![],
        false => held_out_of(
            &totals.drawn,
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
        let speech = totals.speech.get(index).copied().unwrap_or_default();
        if usual.is_some_and(|usual| usual.is_outlier(speech)) {
            clip.notes.push(Note::TextOutlier);
            clip.notes.sort_unstable();
        }
        summary.add(&clip, speech);
        manifest.write(&clip)?;
    }
    manifest.finish()
}

/// Gives all files their names. A process that is killed in between leaves no
/// report, and without one nothing counts.
fn publish(
    report: &Report,
    out: &Path,
    manifest: jsonl::Finished,
    quarantine: jsonl::Finished,
) -> Result<(), PrepareError> {
    let path = out.join(REPORT);
    let document = serde_json::to_vec_pretty(report).map_err(io::Error::from);
    let document = document.map_err(PrepareError::output(&path))?;
    let document = jsonl::Finished::of(&path, &document)?;
    let text = jsonl::Finished::of(&out.join(REPORT_TEXT), report.to_string().as_bytes())?;
    match fs::remove_file(&path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => {
            return Err(PrepareError::output(&path)(why));
        }
        _ => {}
    }
    for file in [manifest, quarantine, text, document] {
        file.publish()?;
    }
    Ok(())
}

/// A row, or why there are no more.
type Fed = io::Result<Job>;
type Done = io::Result<Result<Outcome, PrepareError>>;

/// Gives rows to the workers in turn, each with an id of its own.
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

/// Yields outcomes in the order of the rows, until there are no more.
fn in_turn(outcomes: &[Receiver<Done>]) -> impl Iterator<Item = Done> {
    outcomes.iter().cycle().map_while(|next| next.recv().ok())
}

/// Marks the folder as ours and sweeps what a killed process left; nobody else
/// writes here while the lock is held.
fn open_output(out: &Path) -> Result<(), PrepareError> {
    let text = "Written by `myxtts prepare`; report.txt says what is here.\n";
    atomic::write(&out.join(OUTPUT_MARK), text.as_bytes()).map_err(PrepareError::output(out))?;
    for entry in fs::read_dir(out).map_err(PrepareError::output(out))? {
        let path = entry.map_err(PrepareError::output(out))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy());
        if name.is_some_and(|name| name.starts_with(atomic::UNFINISHED)) {
            fs::remove_file(&path).map_err(PrepareError::output(&path))?;
        }
    }
    Ok(())
}

/// Returns whether two paths lead to one folder, as far as both exist.
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
