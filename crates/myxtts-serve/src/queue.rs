//! Requests that wait for the synthesis loop: few, in order, and gone when their
//! client is.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use myxtts_infer::SpeakOptions;
use tokio::sync::mpsc::UnboundedSender;

use crate::error::ApiError;

/// A text to be spoken, and who waits for it.
pub(crate) struct Job {
    pub(crate) text: String,
    /// The name of a voice in the voice book.
    pub(crate) voice: String,
    pub(crate) options: SpeakOptions,
    /// Where the sound goes. Unbounded, because the loop must not wait for one
    /// client while others listen; what it can hold is the speech of one text,
    /// whose length is bounded.
    pub(crate) reply: UnboundedSender<Reply>,
    /// When the request came in.
    pub(crate) since: Instant,
}

/// What the loop sends to the client of a job.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The next samples of the speech.
    Sound(Vec<f32>),
    /// All samples have been sent.
    Done,
    /// The speech ended early.
    Failed(ApiError),
}

/// Why a job was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The queue is full.
    Full,
    /// The server is stopping.
    Closed,
}

/// The jobs that wait for the loop.
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Signalled when a job comes or the queue is closed.
    changed: Condvar,
    bound: usize,
}

struct State {
    waiting: VecDeque<Job>,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                closed: false,
            }),
            changed: Condvar::new(),
            bound: bound.max(1),
        }
    }

    pub(crate) fn bound(&self) -> usize {
        self.bound
    }

    pub(crate) fn length(&self) -> usize {
        self.state().waiting.len()
    }

    /// Adds a job to the end of the queue.
    pub(crate) fn push(&self, job: Job) -> Result<(), Refused> {
        let mut state = self.state();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.waiting.len() >= self.bound {
            // Places of clients that have left are free.
            state.waiting.retain(|job| !job.reply.is_closed());
        }
        if state.waiting.len() >= self.bound {
            return Err(Refused::Full);
        }
        state.waiting.push_back(job);
        self.changed.notify_one();
        Ok(())
    }

    /// Takes the job that has waited longest, of those whose client is still there.
    pub(crate) fn take(&self) -> Option<Job> {
        let mut state = self.state();
        while let Some(job) = state.waiting.pop_front() {
            if !job.reply.is_closed() {
                return Some(job);
            }
        }
        None
    }

    /// Waits until there is a job or the queue is closed, for `most` at the longest.
    pub(crate) fn wait(&self, most: Duration) {
        let state = self.state();
        let is_idle = |state: &mut State| state.waiting.is_empty() && !state.closed;
        // Whichever way the wait ended, the caller looks for itself.
        let _unused = self.changed.wait_timeout_while(state, most, is_idle);
    }

    /// Closes the queue. Jobs that wait are told that the server is stopping.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        for job in state.waiting.drain(..) {
            // A client that has left need not be told.
            let _ = job.reply.send(Reply::Failed(ApiError::stopping()));
        }
        self.changed.notify_all();
    }

    /// Locks the state. A thread that panicked holding the lock left whole jobs behind.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use myxtts_infer::Vocoder;
    use myxtts_model::generate::SamplingConfig;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    fn job(text: &str) -> (Job, UnboundedReceiver<Reply>) {
        let (reply, replies) = unbounded_channel();
        let job = Job {
            text: text.to_owned(),
            voice: "anna".to_owned(),
            options: SpeakOptions {
                language: "en".parse().unwrap(),
                sampling: SamplingConfig::greedy(),
                vocoder: Vocoder::GriffinLim,
                speed: 1.0,
                stream: false,
            },
            reply,
            since: Instant::now(),
        };
        (job, replies)
    }

    #[test]
    fn jobs_keep_their_order_within_the_bound() {
        let queue = Queue::new(2);
        let (one, _of_one) = job("one");
        let (two, _of_two) = job("two");
        let (three, _of_three) = job("three");
        queue.push(one).unwrap();
        queue.push(two).unwrap();
        assert_eq!(queue.push(three).err(), Some(Refused::Full));
        assert_eq!(queue.length(), 2);
        assert_eq!(queue.take().unwrap().text, "one");
        assert_eq!(queue.take().unwrap().text, "two");
        assert!(queue.take().is_none());
    }

    #[test]
    fn a_client_that_leaves_gives_its_place_away() {
        let queue = Queue::new(2);
        let (one, of_one) = job("one");
        let (two, _of_two) = job("two");
        let (three, of_three) = job("three");
        queue.push(one).unwrap();
        queue.push(two).unwrap();
        drop(of_one);
        queue.push(three).unwrap();
        drop(of_three);
        assert_eq!(queue.take().unwrap().text, "two");
        assert!(queue.take().is_none());
    }

    #[test]
    fn closing_tells_those_who_wait_and_wakes_the_loop() {
        let queue = Queue::new(2);
        let (one, mut of_one) = job("one");
        queue.push(one).unwrap();
        queue.close();
        assert!(matches!(of_one.try_recv(), Ok(Reply::Failed(_))));
        let (two, _of_two) = job("two");
        assert_eq!(queue.push(two).err(), Some(Refused::Closed));
        let before = Instant::now();
        queue.wait(Duration::from_secs(60));
        assert!(before.elapsed() < Duration::from_secs(30));
    }
}
