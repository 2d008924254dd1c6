//! A generation in progress: rows that come and go.

use burn::tensor::{Device, Tensor};

use super::beams::search;
use super::ending::Ending;
use super::engine::{Engine, Scored};
use super::error::GenerateError;
use super::sampling::{Sampler, SamplingConfig};
use super::speaking::{Prefix, SpeakingGpt};

/// The identity of a row in a generation; no two are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(u64);

/// One more code of a row, and the vector it was chosen from.
#[derive(Clone, Debug)]
pub struct Step {
    /// The row that it belongs to.
    pub row: RowId,
    /// The code; STOP if the model ended the row.
    pub code: u32,
    /// The vector for the waveform decoder, `(1, 1, channels)`.
    pub latent_11d: Tensor<3>,
    /// Why this is the row's last code, if it is.
    pub ended: Option<Ending>,
}

/// All codes of a text.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The codes, with STOP at the end if that is how they ended.
    pub codes: Vec<u32>,
    /// A vector per code for the waveform decoder, `(1, codes, channels)`.
    pub latents_1nd: Tensor<3>,
    /// Why there are no more codes.
    pub ended: Ending,
}

impl Generated {
    /// Whether the model itself ended the text.
    pub fn stopped(&self) -> bool {
        self.ended == Ending::Stop
    }
}

/// Makes the codes of many texts, one code of each at a time.
///
/// Rows may be admitted and cancelled while others run. A row's codes do not depend on its
/// neighbours, except for rounding.
pub struct Generation {
    gpt: SpeakingGpt,
    engine: Engine,
    /// The running rows, in the engine's order.
    running: Vec<Row>,
    waiting: Vec<(Row, Prefix)>,
    next: u64,
}

/// What is known about a row apart from its keys and values.
struct Row {
    id: RowId,
    config: SamplingConfig,
    chooser: Chooser,
    codes: Vec<u32>,
    limit: usize,
}

/// Chooses the codes of a row.
#[derive(Clone)]
struct Chooser {
    sampler: Sampler,
    made: usize,
    min_codes: usize,
}

impl Chooser {
    fn code(&mut self, mut scores: Vec<f32>, stop: u32) -> u32 {
        if self.made < self.min_codes
            && let Some(score) = scores.get_mut(stop as usize)
        {
            *score = f32::NEG_INFINITY;
        }
        self.made += 1;
        self.sampler.next(scores)
    }
}

impl Generation {
    /// Makes a generation without rows.
    pub fn new(gpt: &SpeakingGpt) -> Self {
        Self {
            engine: Engine::new(gpt),
            gpt: gpt.clone(),
            running: vec![],
            waiting: vec![],
            next: 0,
        }
    }

    /// Adds a row: a voice, `(1, latents, channels)` as
    /// [`Gpt::condition`](crate::gpt::Gpt::condition) returns it, and the tokens of a text. The
    /// next [`step`](Self::step) makes its first code.
    pub fn admit(
        &mut self,
        voice_1nd: Tensor<3>,
        text: &[u32],
        config: SamplingConfig,
    ) -> Result<RowId, GenerateError> {
        if config.num_beams > 1 {
            // Beams are rows of one text, while a generation's rows are different texts.
            return Err(GenerateError::BeamsInRows(config.num_beams));
        }
        let prefix = self.gpt.prefix(voice_1nd, text)?;
        let vocabulary = self.gpt.config().vocabulary;
        let id = RowId(self.next);
        self.next += 1;
        let row = Row {
            id,
            config,
            chooser: Chooser {
                sampler: Sampler::new(config, &vocabulary),
                made: 0,
                min_codes: config.min_codes,
            },
            codes: vec![],
            limit: config.most_codes(&vocabulary, text.len()),
        };
        if row.limit > 0 {
            self.waiting.push((row, prefix));
        }
        Ok(id)
    }

    /// Counts the rows that have more codes to come.
    pub fn live(&self) -> usize {
        self.running.len() + self.waiting.len()
    }

    /// Whether this row has more codes to come.
    pub fn is_live(&self, row: RowId) -> bool {
        let waiting = self.waiting.iter().map(|(row, _)| row);
        self.running
            .iter()
            .chain(waiting)
            .any(|live| live.id == row)
    }

    /// Ends a row; one that has ended already is ignored.
    pub fn cancel(&mut self, row: RowId) {
        self.waiting.retain(|(waiting, _)| waiting.id != row);
        self.retain(|running| running.id != row);
    }

    /// Makes one more code of every row, in the order of their admission; empty when all have
    /// ended.
    pub fn step(&mut self) -> Result<Vec<Step>, GenerateError> {
        let positions: Vec<(u32, usize)> = self
            .running
            .iter()
            .filter_map(|row| Some((*row.codes.last()?, row.codes.len())))
            .collect();
        let stop = self.gpt.config().vocabulary.stop_audio();
        let mut scored = match &*self.running {
            [alone] if self.waiting.is_empty() => {
                let mut next = alone.guess();
                let mut predict =
                    |scores| Some(next.code(scores, stop)).filter(|code| *code != stop);
                self.engine
                    .advance(&self.gpt, &positions, Some(&mut predict))?
            }
            _ => self.engine.advance(&self.gpt, &positions, None)?,
        };
        for (row, prefix) in std::mem::take(&mut self.waiting) {
            let first = self.engine.begin(&self.gpt, prefix, row.limit)?;
            scored.push(first);
            self.running.push(row);
        }
        let mut steps = Vec::with_capacity(scored.len());
        for (row, scored) in self.running.iter_mut().zip(scored) {
            steps.push(row.choose(scored, stop)?);
        }
        let ended: Vec<RowId> = steps
            .iter()
            .filter(|step| step.ended.is_some())
            .map(|step| step.row)
            .collect();
        self.retain(|row| !ended.contains(&row.id));
        Ok(steps)
    }

    fn retain(&mut self, keep: impl Fn(&Row) -> bool) {
        let order: Vec<usize> = (0..)
            .zip(&self.running)
            .filter(|(_, row)| keep(row))
            .map(|(at, _)| at)
            .collect();
        if order.len() < self.running.len() {
            self.engine.keep(&order);
            self.running.retain(keep);
        }
    }
}

impl Row {
    /// Returns a copy of the chooser, to guess the codes after the next with.
    fn guess(&self) -> Chooser {
        self.chooser.clone()
    }

    fn choose(&mut self, scored: Scored, stop: u32) -> Result<Step, GenerateError> {
        let Scored { latent_11d, scores } = scored;
        let made = self.codes.len();
        if scores.iter().any(|score| score.is_nan()) {
            return Err(GenerateError::NotANumber(made));
        }
        let code = self.chooser.code(scores, stop);
        self.codes.push(code);
        let ended = if code == stop {
            Some(Ending::Stop)
        } else if let Some(from) = self.config.guards.looping(&self.codes) {
            Some(Ending::Loop { from })
        } else {
            (self.codes.len() >= self.limit).then_some(Ending::Limit)
        };
        Ok(Step {
            row: self.id,
            code,
            latent_11d,
            ended,
        })
    }
}

/// Makes all codes of one text.
pub fn generate(
    gpt: &SpeakingGpt,
    voice_1nd: Tensor<3>,
    text: &[u32],
    config: SamplingConfig,
) -> Result<Generated, GenerateError> {
    if config.num_beams > 1 {
        return search(gpt, voice_1nd, text, config);
    }
    let mut generation = Generation::new(gpt);
    let [_, _, channels] = voice_1nd.dims();
    let device = voice_1nd.device();
    generation.admit(voice_1nd, text, config)?;
    let mut codes = vec![];
    let mut latents = vec![];
    let mut ended = Ending::Limit;
    while generation.live() > 0 {
        for step in generation.step()? {
            codes.push(step.code);
            latents.push(step.latent_11d);
            ended = step.ended.unwrap_or(ended);
        }
    }
    Ok(Generated {
        codes,
        latents_1nd: joined(latents, channels, &device),
        ended,
    })
}

/// Joins the vectors of codes into one tensor.
pub(super) fn joined(latents: Vec<Tensor<3>>, channels: usize, device: &Device) -> Tensor<3> {
    if latents.is_empty() {
        Tensor::zeros([1, 0, channels], &device.clone().inner())
    } else {
        Tensor::cat(latents, 1)
    }
}
