//! A beam search: the best of several rows for one text.
//!
//! It follows `transformers`: processors see log-probabilities; among twice as many candidates as
//! beams, those that end are finished if they rank among the first, and the best others continue;
//! a finished row's score is divided by its length to the power of the length penalty; the search
//! ends when no running row can beat the worst finished one at its present length.

use burn::tensor::Tensor;

use super::ending::Ending;
use super::engine::{Engine, Scored};
use super::error::GenerateError;
use super::processors::{log_softmax, repetition_penalty};
use super::sampling::{Choice, SamplingConfig, seen_at_start};
use super::session::{Generated, joined};
use super::speaking::SpeakingGpt;
use crate::gpt::Vocabulary;

/// A row, running or finished.
#[derive(Clone)]
struct Beam {
    codes: Vec<u32>,
    latents: Vec<Tensor<3>>,
    /// The sum of the scores of its codes; divided by the length once finished.
    score: f32,
    ended: Ending,
}

/// A code that may follow a beam.
#[derive(Clone, Copy)]
struct Candidate {
    beam: usize,
    code: u32,
    score: f32,
}

/// Finds the best row of codes for a text, with `config.num_beams` beams.
pub(super) fn search(
    gpt: &SpeakingGpt,
    voice_1nd: Tensor<3>,
    text: &[u32],
    config: SamplingConfig,
) -> Result<Generated, GenerateError> {
    if matches!(config.choice, Choice::Sample { .. }) {
        return Err(GenerateError::DrawnBeams(config.num_beams.max(1)));
    }
    let vocabulary = gpt.config().vocabulary;
    let limit = config.most_codes(&vocabulary, text.len());
    let [_, _, channels] = voice_1nd.dims();
    let device = voice_1nd.device();
    let prefix = gpt.prefix(voice_1nd, text)?;
    let mut engine = Engine::new(gpt);
    let mut rows = Rows::new(config, &vocabulary, limit);
    let mut scored = match limit {
        0 => vec![],
        _ => vec![engine.begin(gpt, prefix, limit)?],
    };
    for length in 1..=limit {
        let candidates = rows.candidates(&scored)?;
        rows.finish(&candidates, &scored, length);
        let going = rows.going(candidates, length);
        let next: Vec<Beam> = going
            .iter()
            .map(|candidate| followed(candidate, &rows.running, &scored))
            .collect();
        if next.first().is_none_or(|best| rows.is_over(best, length)) {
            break;
        }
        let parents: Vec<usize> = going.iter().map(|candidate| candidate.beam).collect();
        engine.keep(&parents);
        let codes: Vec<(u32, usize)> = going.iter().map(|c| (c.code, length)).collect();
        rows.running = next;
        scored = engine.advance(gpt, &codes, None)?;
    }
    let best = rows.finished.into_iter().next();
    let (codes, latents, ended) = best.map_or((vec![], vec![], Ending::Limit), |best| {
        (best.codes, best.latents, best.ended)
    });
    Ok(Generated {
        codes,
        latents_1nd: joined(latents, channels, &device),
        ended,
    })
}

/// The rows of a search.
struct Rows {
    config: SamplingConfig,
    beams: usize,
    /// The code that ends a row.
    stop: u32,
    /// The length at which every row ends.
    limit: usize,
    /// The codes that count as seen before the first.
    start: Vec<u32>,
    running: Vec<Beam>,
    /// At most one for each beam, the best first.
    finished: Vec<Beam>,
}

impl Rows {
    /// Begins with one row that has no code.
    fn new(config: SamplingConfig, vocabulary: &Vocabulary, limit: usize) -> Self {
        Self {
            config,
            beams: config.num_beams.max(1),
            stop: vocabulary.stop_audio(),
            limit,
            start: seen_at_start(&config, vocabulary),
            running: vec![Beam {
                codes: vec![],
                latents: vec![],
                score: 0.0,
                ended: Ending::Limit,
            }],
            finished: vec![],
        }
    }

    /// Returns the codes that may follow the running rows, the best first: twice as many as
    /// there are beams.
    fn candidates(&self, scored: &[Scored]) -> Result<Vec<Candidate>, GenerateError> {
        let mut candidates = vec![];
        for (index, (beam, scored)) in self.running.iter().zip(scored).enumerate() {
            let scores = processed(scored, beam, &self.start, &self.config, self.stop)?;
            candidates.extend((0..).zip(scores).map(|(code, score)| Candidate {
                beam: index,
                code,
                score: beam.score + score,
            }));
        }
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
        candidates.truncate(2 * self.beams);
        Ok(candidates)
    }

    fn ends(&self, candidate: &Candidate, length: usize) -> bool {
        candidate.code == self.stop || length == self.limit
    }

    /// Returns the score of a row that would end at a length.
    fn final_score(&self, score: f32, length: usize) -> f32 {
        score / (length as f32).powf(self.config.length_penalty)
    }

    /// Finishes the candidates that end, if they rank among the first, and keeps the best of
    /// all that finished.
    fn finish(&mut self, candidates: &[Candidate], scored: &[Scored], length: usize) {
        for candidate in candidates.iter().take(self.beams) {
            if !self.ends(candidate, length) {
                continue;
            }
            let mut beam = followed(candidate, &self.running, scored);
            beam.score = self.final_score(beam.score, length);
            if candidate.code == self.stop {
                beam.ended = Ending::Stop;
            }
            self.finished.push(beam);
        }
        self.finished.sort_by(|a, b| b.score.total_cmp(&a.score));
        self.finished.truncate(self.beams);
    }

    /// Returns the best candidates that do not end, one for each beam.
    fn going(&self, candidates: Vec<Candidate>, length: usize) -> Vec<Candidate> {
        let going = candidates.into_iter().filter(|c| !self.ends(c, length));
        going.take(self.beams).collect()
    }

    /// Returns whether the best running row cannot beat the worst finished one.
    fn is_over(&self, best: &Beam, length: usize) -> bool {
        let attainable = self.final_score(best.score, length);
        let worst = self.finished.get(self.beams - 1);
        worst.is_some_and(|worst| worst.score >= attainable)
    }
}

/// Returns log-probabilities, after the processors that a search uses.
fn processed(
    scored: &Scored,
    beam: &Beam,
    start: &[u32],
    config: &SamplingConfig,
    stop: u32,
) -> Result<Vec<f32>, GenerateError> {
    let made = beam.codes.len();
    if scored.scores.iter().any(|score| score.is_nan()) {
        return Err(GenerateError::NotANumber(made));
    }
    let mut scores = log_softmax(&scored.scores);
    let seen: Vec<u32> = start.iter().chain(&beam.codes).copied().collect();
    repetition_penalty(&mut scores, &seen, config.repetition_penalty);
    if made < config.min_codes
        && let Some(score) = scores.get_mut(stop as usize)
    {
        *score = f32::NEG_INFINITY;
    }
    Ok(scores)
}

fn followed(candidate: &Candidate, running: &[Beam], scored: &[Scored]) -> Beam {
    let mut beam = running[candidate.beam].clone();
    beam.codes.push(candidate.code);
    beam.latents.push(scored[candidate.beam].latent_11d.clone());
    beam.score = candidate.score;
    beam
}
