//! The synthesis loop: one thread, one model, all clients.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use myxtts_audio::units::{SampleRate, Samples};
use myxtts_device::check_for_oom;
use myxtts_infer::{Event, Speaking, Synthesizer, Ticket, Utterance};
use myxtts_run::signals::{LOOK_EVERY, StopRequest};
use tokio::sync::mpsc::UnboundedSender;

use crate::error::{ApiError, ServeError};
use crate::metrics::{Ending, Metrics};
use crate::queue::{Job, Queue, Reply};
use crate::voices::VoiceBook;

/// The synthesis loop and what it works with.
pub(crate) struct Speaker<'a> {
    pub(crate) queue: &'a Queue,
    pub(crate) metrics: &'a Metrics,
    pub(crate) voices: &'a VoiceBook,
    pub(crate) rate: SampleRate,
    /// The most texts that are spoken together.
    pub(crate) rows: usize,
    /// How long speech that was begun may take to end after a stop.
    pub(crate) grace: Duration,
}

/// A text that is being spoken.
struct Talk {
    reply: UnboundedSender<Reply>,
    since: Instant,
    has_sound: bool,
}

type Talks = BTreeMap<Ticket, Talk>;

impl Speaker<'_> {
    /// Speaks until `stop` is asked for and what was begun has ended or was cut.
    /// Returns how many texts were cut. `stopping` is called when the loop takes no
    /// more requests.
    pub(crate) fn run(
        &self,
        synthesizer: &mut Synthesizer,
        stop: &StopRequest,
        mut stopping: impl FnMut(),
    ) -> Result<usize, ServeError> {
        let mut until: Option<Instant> = None;
        loop {
            let mut speaking = synthesizer.speaking(self.rows).keeping_a_row();
            let mut talks = Talks::new();
            let caught = catch_unwind(AssertUnwindSafe(|| {
                self.speak(&mut speaking, &mut talks, stop, &mut until, &mut stopping)
            }));
            drop(speaking);
            if let Ok(ended) = caught {
                return ended;
            }
            // Speech that was under way when the engine panicked is lost; whoever
            // comes next finds a loop that works.
            self.fail_all(&mut talks, &ApiError::engine());
        }
    }

    fn speak(
        &self,
        speaking: &mut Speaking<'_>,
        talks: &mut Talks,
        stop: &StopRequest,
        until: &mut Option<Instant>,
        stopping: &mut impl FnMut(),
    ) -> Result<usize, ServeError> {
        loop {
            if until.is_none() && stop.is_asked() {
                *until = Some(Instant::now() + self.grace);
                self.queue.close();
                stopping();
            }
            self.forget(speaking, talks);
            self.admit(speaking, talks);
            self.metrics.rows(talks.len());
            if talks.is_empty() {
                match until {
                    Some(_) => return Ok(0),
                    None => self.queue.wait(LOOK_EVERY),
                }
                continue;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                let cut = talks.len();
                self.fail_all(talks, &ApiError::stopping());
                return Ok(cut);
            }
            let before = Instant::now();
            let events = speaking.step();
            if let Err(why) = check_for_oom() {
                let why = ServeError::Device(why.to_string());
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                self.queue.close();
                stopping();
                self.fail_all(
                    talks,
                    &ApiError::new(status, crate::error::plain(&why.to_string())),
                );
                return Err(why);
            }
            let mut made = Samples(0);
            for event in events {
                if let Event::Sound(_, samples) = &event {
                    made.0 += samples.len();
                }
                self.hand_out(event, talks);
            }
            self.metrics.stepped(made.at(self.rate).0, before.elapsed());
        }
    }

    /// Cancels speech whose client has left.
    fn forget(&self, speaking: &mut Speaking<'_>, talks: &mut Talks) {
        talks.retain(|ticket, talk| {
            let is_wanted = !talk.reply.is_closed();
            if !is_wanted {
                speaking.cancel(*ticket);
                self.metrics.ended(Ending::Cancelled);
            }
            is_wanted
        });
    }

    /// Gives free rows to texts that wait.
    fn admit(&self, speaking: &mut Speaking<'_>, talks: &mut Talks) {
        while talks.len() < self.rows {
            let Some(job) = self.queue.take() else {
                return;
            };
            let Job {
                text,
                voice,
                options,
                reply,
                since,
            } = job;
            let admitted = match self.voices.voice(&voice) {
                Some(voice) => speaking
                    .admit(Utterance {
                        text,
                        voice: voice.clone(),
                        options,
                    })
                    .map_err(|why| ApiError::of(&why)),
                None => Err(ApiError::request("voice", "there is no such voice")),
            };
            match admitted {
                Ok(ticket) => {
                    let talk = Talk {
                        reply,
                        since,
                        has_sound: false,
                    };
                    talks.insert(ticket, talk);
                }
                Err(refusal) => {
                    self.metrics.ended(Ending::Failed);
                    // A client that has left need not be told.
                    let _ = reply.send(Reply::Failed(refusal));
                }
            }
        }
    }

    fn hand_out(&self, event: Event, talks: &mut Talks) {
        let (ticket, ending, reply) = match event {
            Event::Sound(ticket, samples) => {
                if let Some(talk) = talks.get_mut(&ticket) {
                    if !talk.has_sound {
                        talk.has_sound = true;
                        self.metrics.first_audio(talk.since.elapsed());
                    }
                    // Whether the client is still there is checked before the next step.
                    let _ = talk.reply.send(Reply::Sound(samples));
                }
                return;
            }
            Event::Done(ticket, _) => (ticket, Ending::Spoken, Reply::Done),
            Event::Failed(ticket, why) => {
                let failed = Reply::Failed(ApiError::of(&why));
                (ticket, Ending::Failed, failed)
            }
        };
        if let Some(talk) = talks.remove(&ticket) {
            self.metrics.ended(ending);
            let _ = talk.reply.send(reply);
        }
    }

    fn fail_all(&self, talks: &mut Talks, why: &ApiError) {
        while let Some((_, talk)) = talks.pop_first() {
            self.metrics.ended(Ending::Failed);
            let _ = talk.reply.send(Reply::Failed(why.clone()));
        }
        self.metrics.rows(0);
    }
}
