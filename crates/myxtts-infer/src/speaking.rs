//! Speaks many texts at once, and returns their audio as it becomes known.
//!
//! ```text
//! admit(text) -> pieces ─> rows of the GPT, a code each per step ─> sound, in the order of the text
//! ```
//!
//! A text is split into pieces that the model can say in one breath. Each piece is a row of the
//! GPT; the rows of all texts advance together, which costs a device little more than one row
//! alone. Speaking one sentence, speaking a file of them and answering requests all use the same
//! loop: admit, then step until idle.

use std::collections::{BTreeMap, VecDeque};

use burn::tensor::Tensor;
use myxtts_audio::Mel;
use myxtts_audio::units::{SampleRate, Samples, Seconds};
use myxtts_model::generate::{
    Choice, Ending, Generation, Guards, RowId, SamplingConfig, Step, generate,
};
use myxtts_model::hifigan::WaveStream;
use myxtts_text::Language;

use crate::decoder::Vocoder;
use crate::error::InferError;
use crate::reading::Reading;
use crate::synthesizer::Synthesizer;
use crate::voice::Voice;

/// Codes before the first audio of a stream: few, since somebody is waiting.
const FIRST_CODES: usize = 4;
/// Codes between the later parts of a stream: more, since each part costs a call to the device.
const NEXT_CODES: usize = 12;

/// How a text is spoken.
#[derive(Clone, Debug)]
pub struct SpeakOptions {
    /// The language of the text.
    pub language: Language,
    /// How codes are sampled.
    pub sampling: SamplingConfig,
    /// What makes the waveform.
    pub vocoder: Vocoder,
    /// The speed: 1 is as the model speaks, 2 is twice as fast.
    pub speed: f64,
    /// Whether audio is wanted as soon as there is some: pieces are then spoken one after the
    /// other, and each gives its audio in parts.
    pub stream: bool,
}

/// One text in one voice.
#[derive(Clone, Debug)]
pub struct Utterance {
    /// The text to speak.
    pub text: String,
    /// The voice to speak in.
    pub voice: Voice,
    /// How to speak it.
    pub options: SpeakOptions,
}

/// Identifies an utterance that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// Something that happened to an utterance in a step.
#[derive(Debug)]
pub enum Event {
    /// The utterance's next samples, at [`Synthesizer::rate`] of its vocoder.
    Sound(Ticket, Vec<f32>),
    /// All of the utterance's audio was given out.
    Done(Ticket, Said),
    /// The utterance ended early with an error.
    Failed(Ticket, InferError),
}

/// The result of an utterance, apart from its audio.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The codes that were generated, without STOP.
    pub codes: Vec<u32>,
    /// The DVAE's mel of each piece, if Griffin-Lim spoke.
    pub mels: Vec<Mel>,
    /// The number of pieces that the model did not end with STOP.
    pub unended: usize,
    /// The number of pieces of the text.
    pub pieces: usize,
    /// What a listener should know about how the text was read.
    pub notices: Vec<String>,
}

/// The texts that are being spoken.
pub struct Speaking<'a> {
    synthesizer: &'a mut Synthesizer,
    /// The largest number of rows that advance together.
    most_rows: usize,
    /// How many of those rows only an utterance without a row may take.
    kept_rows: usize,
    jobs: BTreeMap<Ticket, Job>,
    generation: Generation,
    rows: Vec<Row>,
    next_ticket: u64,
}

/// An utterance that is not finished.
struct Job {
    voice: Voice,
    options: SpeakOptions,
    /// Pieces that have no row yet, with their place in the text.
    waiting: VecDeque<(usize, Vec<u32>)>,
    /// The silence after each piece but the last, at the usual speed.
    pauses: Vec<Seconds>,
    /// Pieces that were finished before an earlier one was.
    early: BTreeMap<usize, Piece>,
    /// The place of the piece whose audio comes next.
    next: usize,
    said: Said,
}

/// A piece that was spoken.
struct Piece {
    /// The samples that were not given out yet.
    samples: Vec<f32>,
    /// Whether some samples were given out already.
    begun: bool,
    codes: Vec<u32>,
    mel: Option<Mel>,
    stopped: bool,
}

/// A piece that is being spoken.
struct Row {
    ticket: Ticket,
    place: usize,
    /// The row in the generation; `None` once it has all its codes.
    id: Option<RowId>,
    codes: Vec<u32>,
    /// The latents that the waveform decoder has not consumed yet.
    latents: Vec<Tensor<3>>,
    /// The open waveform, if audio is given out in parts.
    wave: Option<WaveStream>,
    begun: bool,
}

impl<'a> Speaking<'a> {
    pub(crate) fn new(synthesizer: &'a mut Synthesizer, most_rows: usize) -> Self {
        Self {
            generation: Generation::new(synthesizer.gpt()),
            synthesizer,
            most_rows: most_rows.max(1),
            kept_rows: 0,
            jobs: BTreeMap::new(),
            rows: vec![],
            next_ticket: 0,
        }
    }

    /// Keeps the last free row for an utterance that has none, so that a text that arrives while
    /// a long one is spoken does not wait for one of its pieces to end.
    #[must_use]
    pub fn keeping_a_row(self) -> Self {
        Self {
            kept_rows: 1,
            ..self
        }
    }

    /// Admits a text. A text that cannot be spoken is refused here.
    pub fn admit(&mut self, utterance: Utterance) -> Result<Ticket, InferError> {
        let Utterance {
            text,
            voice,
            options,
        } = utterance;
        self.synthesizer.check(&options)?;
        let Reading { phrases, notices } = self.synthesizer.reading(&text, &options.language)?;
        let said = Said {
            pieces: phrases.len(),
            notices,
            ..Said::default()
        };
        let pauses = phrases.iter().map(|phrase| phrase.pause).collect();
        let pieces = phrases.into_iter().map(|phrase| phrase.tokens);
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

    /// Returns the model, for making a voice between two steps.
    pub fn synthesizer(&mut self) -> &mut Synthesizer {
        self.synthesizer
    }

    /// Drops an utterance; it causes no further events.
    pub fn cancel(&mut self, ticket: Ticket) {
        self.jobs.remove(&ticket);
        for row in self.rows.extract_if(.., |row| row.ticket == ticket) {
            if let Some(id) = row.id {
                self.generation.cancel(id);
            }
        }
    }

    /// Returns whether everything admitted has been spoken.
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Generates one more code for every row, and returns the events that follow from it.
    pub fn step(&mut self) -> Vec<Event> {
        let mut events = vec![];
        self.fill(&mut events);
        match self.generation.step() {
            Ok(steps) => {
                for step in steps {
                    self.take(step, &mut events);
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

    /// Takes one more code of a row, and gives out its audio if somebody is waiting for it.
    fn take(&mut self, step: Step, events: &mut Vec<Event>) {
        let is_its = |row: &&mut Row| row.id == Some(step.row);
        let Some(row) = self.rows.iter_mut().find(is_its) else {
            return;
        };
        row.codes.push(step.code);
        if self.synthesizer.hears(step.code) {
            row.latents.push(step.latent_11d);
        }
        if let Some(ending) = step.ended {
            row.id = None;
            row.forget_the_loop(ending);
            return;
        }
        let due = if row.begun { NEXT_CODES } else { FIRST_CODES };
        let Some(wave) = row.wave.as_mut().filter(|_| row.latents.len() >= due) else {
            return;
        };
        let ticket = row.ticket;
        match wave.push(Tensor::cat(std::mem::take(&mut row.latents), 1)) {
            Ok(samples) if samples.is_empty() => {}
            Ok(mut samples) => {
                // The pieces of a stream are spoken in order: this one comes next.
                if let Some(job) = self.jobs.get(&ticket).filter(|_| !row.begun) {
                    let rate = self.synthesizer.rate(Vocoder::Hifigan);
                    samples.splice(0..0, job.silence_before(row.place, rate));
                }
                row.begun = true;
                events.push(Event::Sound(ticket, samples));
            }
            Err(why) => self.fail(ticket, why.into(), events),
        }
    }

    /// Gives free rows to waiting pieces.
    fn fill(&mut self, events: &mut Vec<Event>) {
        while let Some(ticket) = self.whose_turn() {
            if let Err(why) = self.begin(ticket) {
                self.fail(ticket, why, events);
            }
        }
    }

    /// Returns the utterance whose piece takes the next free row: the one with the fewest rows,
    /// or the oldest of those. A long text then gives up its rows to short ones as its pieces
    /// end, and gets them back when nobody else wants them.
    fn whose_turn(&self) -> Option<Ticket> {
        let free = self.most_rows.saturating_sub(self.rows.len());
        let waiting = self.jobs.iter().filter(|(_, job)| !job.waiting.is_empty());
        let wanting = waiting.filter_map(|(&ticket, job)| {
            let rows = self.rows.iter().filter(|row| row.ticket == ticket).count();
            // The pieces of a stream are spoken one after the other.
            let takes = match (rows, job.options.stream) {
                (0, _) => free > 0,
                (_, true) => false,
                (_, false) => free > self.kept_rows,
            };
            takes.then_some((rows, ticket))
        });
        wanting.min().map(|(_, ticket)| ticket)
    }

    /// Makes the next piece of an utterance a row.
    fn begin(&mut self, ticket: Ticket) -> Result<(), InferError> {
        let Some(job) = self.jobs.get_mut(&ticket) else {
            return Ok(());
        };
        let Some((place, tokens)) = job.waiting.pop_front() else {
            return Ok(());
        };
        let latents_1nd = job.voice.latents_1nd.clone();
        let sampling = of_piece(job.options.sampling, place);
        let mut row = Row {
            ticket,
            place,
            id: None,
            codes: vec![],
            latents: vec![],
            wave: None,
            begun: false,
        };
        if job.options.stream {
            row.wave = self.synthesizer.wave_stream(&job.voice, &job.options)?;
        }
        if sampling.num_beams > 1 {
            // A beam search has its rows to itself.
            let gpt = self.synthesizer.gpt();
            let found = generate(gpt, latents_1nd, &tokens, sampling)?;
            let latent = |at| found.latents_1nd.clone().narrow(1, at, 1);
            let codes = (0..).zip(&found.codes);
            let heard = codes.filter(|(_, code)| self.synthesizer.hears(**code));
            row.latents = heard.map(|(at, _)| latent(at)).collect();
            row.codes = found.codes;
        } else {
            let id = self.generation.admit(latents_1nd, &tokens, sampling)?;
            row.id = self.generation.is_live(id).then_some(id);
        }
        self.rows.push(row);
        Ok(())
    }

    fn fail(&mut self, ticket: Ticket, why: InferError, events: &mut Vec<Event>) {
        self.cancel(ticket);
        events.push(Event::Failed(ticket, why));
    }

    /// Turns a piece that has all its codes into audio.
    fn end(&mut self, row: Row, events: &mut Vec<Event>) {
        let ticket = row.ticket;
        let Some(job) = self.jobs.get_mut(&ticket) else {
            return;
        };
        let stop = self.synthesizer.gpt().config().vocabulary.stop_audio();
        let stopped = row.codes.last() == Some(&stop);
        let sound = match row.wave {
            Some(wave) => last_sound(wave, row.latents).map(|samples| (samples, None)),
            None => {
                let Job { voice, options, .. } = &*job;
                let latents = row.latents;
                self.synthesizer.sound(&row.codes, latents, voice, options)
            }
        };
        let (samples, mel) = match sound {
            Ok(sound) => sound,
            Err(why) => return self.fail(ticket, why, events),
        };
        let mut codes = row.codes;
        self.synthesizer.keep_sounds(&mut codes);
        let piece = Piece {
            samples,
            begun: row.begun,
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
    /// Returns the pause between a piece and the one before it.
    fn silence_before(&self, place: usize, rate: SampleRate) -> Vec<f32> {
        let pause = place.checked_sub(1).and_then(|at| self.pauses.get(at));
        let length = pause.map_or(0, |pause| {
            Samples::in_time(Seconds(pause.0 / self.options.speed), rate).0
        });
        vec![0.0; length]
    }

    /// Returns the audio of the pieces whose turn it is.
    fn in_order(&mut self, rate: SampleRate) -> Vec<f32> {
        let mut sound = vec![];
        while let Some(piece) = self.early.remove(&self.next) {
            if !piece.begun {
                sound.extend(self.silence_before(self.next, rate));
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

impl Row {
    /// Cuts off a loop: a model that lost its way repeats itself until it is stopped, and a
    /// little of that is enough to hear where it did.
    fn forget_the_loop(&mut self, ending: Ending) {
        let Ending::Loop { from } = ending else {
            return;
        };
        let kept = from + 2 * Guards::LONGEST_CYCLE;
        if self.wave.is_none() && kept < self.codes.len() {
            let dropped = self.codes.len() - kept;
            self.codes.truncate(kept);
            self.latents
                .truncate(self.latents.len().saturating_sub(dropped));
        }
    }
}

/// Returns the rest of a waveform's audio.
pub(crate) fn last_sound(
    mut wave: WaveStream,
    latents: Vec<Tensor<3>>,
) -> Result<Vec<f32>, InferError> {
    if latents.is_empty() {
        return Ok(wave.finish()?);
    }
    let mut samples = wave.push(Tensor::cat(latents, 1))?;
    samples.extend(wave.finish()?);
    Ok(samples)
}

/// Returns the sampling of a piece, which draws with a seed of its own.
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
