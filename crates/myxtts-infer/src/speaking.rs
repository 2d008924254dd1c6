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

/// Codes before the first sound of a stream: few, since somebody waits.
const FIRST_CODES: usize = 4;
/// Codes between its sounds: more, since each costs a call of the device.
const NEXT_CODES: usize = 12;

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
    /// Of those, the ones that only an utterance without a row may take.
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
    /// Those that were not given out yet.
    samples: Vec<f32>,
    /// Whether some were.
    begun: bool,
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
    /// What the waveform decoder hears and has not heard yet.
    latents: Vec<Tensor<3>>,
    /// Where sound is given out in parts.
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

    /// Keeps the last free row for whoever has none, so that a text that comes
    /// while a long one is spoken does not wait for a piece of it to end.
    #[must_use]
    pub fn keeping_a_row(self) -> Self {
        Self {
            kept_rows: 1,
            ..self
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

    /// One more code of a row; its sound, where somebody waits for it.
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
                // Pieces of a stream are spoken in order: this one comes next.
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

    /// Whose piece takes the next free row: the utterance that has fewest, the
    /// oldest of those. A long text then gives the rows of its pieces to short
    /// ones as they end, and gets them back when nobody else wants them.
    fn whose_turn(&self) -> Option<Ticket> {
        let free = self.most_rows.saturating_sub(self.rows.len());
        let waiting = self.jobs.iter().filter(|(_, job)| !job.waiting.is_empty());
        let wanting = waiting.filter_map(|(&ticket, job)| {
            let rows = self.rows.iter().filter(|row| row.ticket == ticket).count();
            // Pieces of a stream are spoken one after the other.
            let takes = match (rows, job.options.stream) {
                (0, _) => free > 0,
                (_, true) => false,
                (_, false) => free > self.kept_rows,
            };
            takes.then_some((rows, ticket))
        });
        wanting.min().map(|(_, ticket)| ticket)
    }

    /// The next piece of an utterance becomes a row.
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
            // A search has its rows to itself.
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

    /// A piece that has all its codes becomes sound.
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
    /// The breath between a piece and the one before it.
    fn silence_before(&self, place: usize, rate: SampleRate) -> Vec<f32> {
        let pause = place.checked_sub(1).and_then(|at| self.pauses.get(at));
        let length = pause.map_or(0, |pause| {
            Samples::in_time(Seconds(pause.0 / self.options.speed), rate).0
        });
        vec![0.0; length]
    }

    /// The sound of the pieces whose turn it is.
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
    /// A model that lost its way says the same over and over until it is
    /// stopped; a little of it is enough to hear where it did.
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

/// The rest of a waveform's sound.
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
