//! Many texts at once, and their sound as it becomes known.
//!
//! ```text
//! admit(text) -> pieces ─> rows of the GPT, a code each per step ─> sound, in the order of the text
//! ```
//!
//! A text is cut into pieces that the model can say in one breath. Each piece is
//! a row of the GPT; rows of all texts advance together, which costs a device
//! little more than one row alone. Whoever speaks one sentence, a file of them,
//! or answers requests uses the same loop: admit, then step until it is idle.

use std::collections::{BTreeMap, VecDeque};

use burn::tensor::Tensor;
use myxtts_audio::Mel;
use myxtts_audio::units::{SampleRate, Seconds};
use myxtts_model::generate::{Choice, Generation, RowId, SamplingConfig, generate};
use myxtts_text::Language;

use crate::decoder::Vocoder;
use crate::error::InferError;
use crate::reading::Reading;
use crate::synthesizer::Synthesizer;
use crate::voice::Voice;

/// How a text is spoken.
#[derive(Clone, Debug)]
pub struct SpeakOptions {
    /// Of the text.
    pub language: Language,
    /// How codes are drawn.
    pub sampling: SamplingConfig,
    /// What makes the waveform.
    pub vocoder: Vocoder,
    /// 1 is as the model speaks, 2 twice as fast.
    pub speed: f64,
    /// Whether sound is wanted as soon as there is some: pieces are then spoken
    /// one after the other, and each gives its sound in parts.
    pub stream: bool,
}

/// One text in one voice.
#[derive(Clone, Debug)]
pub struct Utterance {
    /// What to say.
    pub text: String,
    /// Whose voice.
    pub voice: Voice,
    /// How.
    pub options: SpeakOptions,
}

/// An utterance that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// What happened to an utterance in a step.
#[derive(Debug)]
pub enum Event {
    /// Its next samples, at [`Synthesizer::rate`] of its vocoder.
    Sound(Ticket, Vec<f32>),
    /// All of its sound was given.
    Done(Ticket, Said),
    /// It ended early.
    Failed(Ticket, InferError),
}

/// What became of an utterance, besides its sound.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The codes, without STOP.
    pub codes: Vec<u32>,
    /// What the DVAE made of the codes of each piece, where Griffin-Lim spoke.
    pub mels: Vec<Mel>,
    /// Pieces that the model did not end by itself.
    pub unended: usize,
    /// Pieces of the text.
    pub pieces: usize,
    /// What a listener should know of the text.
    pub notices: Vec<String>,
}

/// Texts being spoken.
pub struct Speaking<'a> {
    synthesizer: &'a mut Synthesizer,
    /// Most rows that advance together.
    most_rows: usize,
    jobs: BTreeMap<Ticket, Job>,
    generation: Generation,
    rows: Vec<Row>,
    next_ticket: u64,
}

/// An utterance that is not finished.
struct Job {
    voice: Voice,
    options: SpeakOptions,
    /// Pieces that no row speaks yet, with their place in the text.
    waiting: VecDeque<(usize, Vec<u32>)>,
    /// The silence after each piece but the last, at the usual speed.
    pauses: Vec<Seconds>,
    /// Pieces that were spoken before an earlier one was.
    early: BTreeMap<usize, Piece>,
    /// The piece whose sound comes next.
    next: usize,
    said: Said,
}

/// A piece that was spoken.
struct Piece {
    samples: Vec<f32>,
    codes: Vec<u32>,
    mel: Option<Mel>,
    stopped: bool,
}

/// A piece that is being spoken.
struct Row {
    ticket: Ticket,
    place: usize,
    /// In the generation; `None` once it has all its codes.
    id: Option<RowId>,
    codes: Vec<u32>,
    latents: Vec<Tensor<3>>,
}

impl<'a> Speaking<'a> {
    pub(crate) fn new(synthesizer: &'a mut Synthesizer, most_rows: usize) -> Self {
        Self {
            generation: Generation::new(synthesizer.gpt()),
            synthesizer,
            most_rows: most_rows.max(1),
            jobs: BTreeMap::new(),
            rows: vec![],
            next_ticket: 0,
        }
    }

    /// Takes a text. What cannot be said is refused here.
    pub fn admit(&mut self, utterance: Utterance) -> Result<Ticket, InferError> {
        let Utterance {
            text,
            voice,
            options,
        } = utterance;
        self.synthesizer.check(&options)?;
        let Reading { breaths, notices } = self.synthesizer.reading(&text, &options.language)?;
        let said = Said {
            pieces: breaths.len(),
            notices,
            ..Said::default()
        };
        let pauses = breaths.iter().map(|breath| breath.pause).collect();
        let pieces = breaths.into_iter().map(|breath| breath.tokens);
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let job = Job {
            voice,
            options,
            waiting: pieces.enumerate().collect(),
            pauses,
            early: BTreeMap::new(),
            next: 0,
            said,
        };
        self.jobs.insert(ticket, job);
        Ok(ticket)
    }

    /// The model that speaks: for making a voice between two steps.
    pub fn synthesizer(&mut self) -> &mut Synthesizer {
        self.synthesizer
    }

    /// Forgets an utterance; nothing more is heard of it.
    pub fn cancel(&mut self, ticket: Ticket) {
        self.jobs.remove(&ticket);
        for row in self.rows.extract_if(.., |row| row.ticket == ticket) {
            if let Some(id) = row.id {
                self.generation.cancel(id);
            }
        }
    }

    /// Whether everything admitted was spoken.
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// One more code of every row; what became known by it.
    pub fn step(&mut self) -> Vec<Event> {
        let mut events = vec![];
        self.fill(&mut events);
        match self.generation.step() {
            Ok(steps) => {
                for step in steps {
                    let is_its = |row: &&mut Row| row.id == Some(step.row);
                    let Some(row) = self.rows.iter_mut().find(is_its) else {
                        continue;
                    };
                    row.codes.push(step.code);
                    row.latents.push(step.latent_11d);
                    if step.ended.is_some() {
                        row.id = None;
                    }
                }
            }
            // What the rows share has failed: the device, or the model.
            Err(why) => {
                let tickets: Vec<Ticket> = self.rows.iter().map(|row| row.ticket).collect();
                for ticket in tickets {
                    if self.jobs.contains_key(&ticket) {
                        self.fail(ticket, why.clone().into(), &mut events);
                    }
                }
            }
        }
        let ended: Vec<Row> = self.rows.extract_if(.., |row| row.id.is_none()).collect();
        for row in ended {
            self.end(row, &mut events);
        }
        events
    }

    /// Gives free rows to waiting pieces, the oldest utterance first.
    fn fill(&mut self, events: &mut Vec<Event>) {
        let mut failed = vec![];
        for (&ticket, job) in &mut self.jobs {
            while self.rows.len() < self.most_rows {
                let in_order = job.options.stream;
                if in_order && self.rows.iter().any(|row| row.ticket == ticket) {
                    break;
                }
                let Some((place, tokens)) = job.waiting.pop_front() else {
                    break;
                };
                let latents_1nd = job.voice.latents_1nd.clone();
                let sampling = of_piece(job.options.sampling, place);
                let mut row = Row {
                    ticket,
                    place,
                    id: None,
                    codes: vec![],
                    latents: vec![],
                };
                let begun = if sampling.num_beams > 1 {
                    // A search has its rows to itself.
                    let gpt = self.synthesizer.gpt();
                    generate(gpt, latents_1nd, &tokens, sampling).map(|found| {
                        let latent = |at| found.latents_1nd.clone().narrow(1, at, 1);
                        row.latents = (0..found.codes.len()).map(latent).collect();
                        row.codes = found.codes;
                    })
                } else {
                    let id = self.generation.admit(latents_1nd, &tokens, sampling);
                    id.map(|id| row.id = self.generation.is_live(id).then_some(id))
                };
                match begun {
                    Ok(()) => self.rows.push(row),
                    Err(why) => {
                        failed.push((ticket, why));
                        break;
                    }
                }
            }
        }
        for (ticket, why) in failed {
            self.fail(ticket, why.into(), events);
        }
    }

    fn fail(&mut self, ticket: Ticket, why: InferError, events: &mut Vec<Event>) {
        self.cancel(ticket);
        events.push(Event::Failed(ticket, why));
    }

    /// A piece that has all its codes becomes sound.
    fn end(&mut self, row: Row, events: &mut Vec<Event>) {
        let ticket = row.ticket;
        let Some(job) = self.jobs.get_mut(&ticket) else {
            return;
        };
        let stop = self.synthesizer.gpt().config().vocabulary.stop_audio();
        let stopped = row.codes.last() == Some(&stop);
        let sound = self
            .synthesizer
            .sound(&row.codes, row.latents, &job.voice, &job.options);
        let (samples, mel) = match sound {
            Ok(sound) => sound,
            Err(why) => return self.fail(ticket, why, events),
        };
        let mut codes = row.codes;
        self.synthesizer.keep_sounds(&mut codes);
        let piece = Piece {
            samples,
            codes,
            mel,
            stopped,
        };
        job.early.insert(row.place, piece);
        let rate = self.synthesizer.rate(job.options.vocoder);
        let sound = job.in_order(rate);
        if !sound.is_empty() {
            events.push(Event::Sound(ticket, sound));
        }
        if job.next == job.said.pieces
            && let Some(job) = self.jobs.remove(&ticket)
        {
            events.push(Event::Done(ticket, job.said));
        }
    }
}

impl Job {
    /// The sound of the pieces whose turn it is.
    fn in_order(&mut self, rate: SampleRate) -> Vec<f32> {
        let mut sound = vec![];
        while let Some(piece) = self.early.remove(&self.next) {
            if let Some(pause) = self.next.checked_sub(1).and_then(|at| self.pauses.get(at)) {
                let pause = Seconds(pause.0 / self.options.speed);
                sound.resize(sound.len() + pause.samples(rate).0, 0.0);
            }
            sound.extend(piece.samples);
            self.said.codes.extend(piece.codes);
            self.said.mels.extend(piece.mel);
            self.said.unended += usize::from(!piece.stopped);
            self.next += 1;
        }
        sound
    }
}

/// Each piece draws with a seed of its own.
fn of_piece(sampling: SamplingConfig, place: usize) -> SamplingConfig {
    match sampling.choice {
        Choice::Greedy => sampling,
        Choice::Sample { seed } => SamplingConfig {
            choice: Choice::Sample {
                seed: seed.wrapping_add(place as u64),
            },
            ..sampling
        },
    }
}
