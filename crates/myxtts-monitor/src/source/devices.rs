//! Reading the devices, on a thread of its own: a driver may take its time,
//! and a card that fell off the bus may never answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use super::News;
use crate::error::MonitorError;
use crate::sample::MachineSample;

/// A function that reads what the devices of a machine do.
pub type ReadMachine = Box<dyn FnMut() -> MachineSample + Send>;

/// The pause between two readings: drivers are asked no more often than this.
const EVERY: Duration = Duration::from_secs(2);

/// Starts a thread that reads the devices while `wanted`, until nobody listens any more.
pub(super) fn start(
    mut read: ReadMachine,
    wanted: Arc<AtomicBool>,
    news: SyncSender<News>,
) -> Result<(), MonitorError> {
    let begin = move || {
        loop {
            if wanted.load(Ordering::Relaxed) && news.send(News::Machine(Box::new(read()))).is_err()
            {
                return;
            }
            thread::sleep(EVERY);
        }
    };
    let thread = thread::Builder::new().name("devices".to_owned());
    let started = thread.spawn(begin).map(drop);
    started.map_err(|source| MonitorError::Thread {
        name: "devices",
        source,
    })
}
