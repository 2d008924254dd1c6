//! Where what is shown comes from: the files of a run, the list of runs, the
//! devices. Two threads look at them; what is new goes to the drawing thread
//! through a bounded channel, so a file that grows faster than it can be shown
//! waits on its disk.

pub(crate) mod batch;
mod devices;
pub(crate) mod findings;
pub(crate) mod life;
pub(crate) mod log;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod step;
mod tail;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

pub use devices::ReadMachine;
use run::{RunFiles, RunNews};
use runs::{Place, RunEntry};

use crate::error::MonitorError;
use crate::sample::MachineSample;
use crate::units::{Seconds, WallTime};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How often the list of runs is made.
const LIST: Duration = Duration::from_secs(2);
/// Where a run recorded its devices this recently, drivers are not asked as
/// well.
const RECENT: Seconds = Seconds(10.0);

/// Something new to show.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    /// The list of runs.
    Runs(Vec<RunEntry>),
    /// What the files of the followed run say.
    Run(Box<RunNews>),
    /// The devices, as they were read here.
    Machine(Box<MachineSample>),
}

/// Starts both threads. A path sent to `open` is the run to follow from then
/// on; the threads end when the receiver of `news` is gone.
pub(crate) fn start(
    place: Place,
    read: ReadMachine,
    open: Receiver<PathBuf>,
    news: SyncSender<News>,
) -> Result<(), MonitorError> {
    let wanted = Arc::new(AtomicBool::new(true));
    devices::start(read, Arc::clone(&wanted), news.clone())?;
    let thread = thread::Builder::new().name("run files".to_owned());
    let started = thread.spawn(move || follow(&place, &wanted, &open, &news));
    started.map(drop).map_err(|source| MonitorError::Thread {
        name: "run files",
        source,
    })
}

fn follow(place: &Place, wanted: &AtomicBool, open: &Receiver<PathBuf>, news: &SyncSender<News>) {
    let mut files: Option<RunFiles> = None;
    let mut recorded: Option<WallTime> = None;
    let mut listed: Option<Instant> = None;
    loop {
        if listed.is_none_or(|listed| listed.elapsed() >= LIST) {
            listed = Some(Instant::now());
            if news.send(News::Runs(place.list(WallTime::now()))).is_err() {
                return;
            }
        }
        let mut wait = LOOK;
        if let Some(files) = &mut files {
            let (found, more) = files.read();
            if more {
                wait = Duration::ZERO;
            }
            recorded = found.samples.last().map(|s| s.wall_time).or(recorded);
            wanted.store(needs_reading(recorded, &found), Ordering::Relaxed);
            if news.send(News::Run(Box::new(found))).is_err() {
                return;
            }
        }
        match open.recv_timeout(wait) {
            Ok(path) => {
                files = Some(RunFiles::new(&path));
                recorded = None;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Returns whether the devices must be asked, because the run does not record them.
fn needs_reading(recorded: Option<WallTime>, run: &RunNews) -> bool {
    let recent = recorded.is_some_and(|at| run.now.since(at) <= RECENT);
    !(recent && run.life.is_running())
}

/// Reads everything there is to know at once, for one frame.
pub(crate) fn look_once(
    place: &Place,
    mut read: ReadMachine,
    first: impl Fn(&[RunEntry]) -> Option<PathBuf>,
) -> Vec<News> {
    let runs = place.list(WallTime::now());
    let chosen = first(&runs);
    let mut news = vec![News::Runs(runs)];
    let mut reading = true;
    if let Some(path) = chosen {
        let mut files = RunFiles::new(&path);
        let mut recorded = None;
        // No more is read than a tail begins with, so this ends.
        loop {
            let (found, more) = files.read();
            recorded = found.samples.last().map(|s| s.wall_time).or(recorded);
            reading = needs_reading(recorded, &found);
            news.push(News::Run(Box::new(found)));
            if !more {
                break;
            }
        }
    }
    if reading {
        news.push(News::Machine(Box::new(read())));
    }
    news
}
