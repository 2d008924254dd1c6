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
pub fn search(
    gpt: &SpeakingGpt,
    voice_1nd: Tensor<3>,
    text: &[u32],
    config: SamplingConfig,
) -> Result<Generated, GenerateError> {
    let beams = config.num_beams.max(1);
    if matches!(config.choice, Choice::Sample { .. }) {
        return Err(GenerateError::DrawnBeams(beams));
    }
    let vocabulary = gpt.config().vocabulary;
    let stop = vocabulary.stop_audio();
    let limit = config.most_codes(&vocabulary, text.len());
    let [_, _, channels] = voice_1nd.dims();
    let device = voice_1nd.device();
    let prefix = gpt.prefix(voice_1nd, text)?;
    let mut engine = Engine::new(gpt);
    let mut running = vec![Beam {
        codes: vec![],
        latents: vec![],
        score: 0.0,
        ended: Ending::Limit,
    }];
    let mut finished: Vec<Beam> = vec![];
    let mut scored = match limit {
        0 => vec![],
        _ => vec![engine.begin(gpt, prefix, limit)?],
    };
    for length in 1..=limit {
        let start = seen_at_start(&config, &vocabulary);
        let mut candidates = vec![];
        for (index, (beam, scored)) in running.iter().zip(&scored).enumerate() {
            let scores = processed(scored, beam, &start, &config, stop)?;
            candidates.extend((0..).zip(scores).map(|(code, score)| Candidate {
                beam: index,
                code,
                score: beam.score + score,
            }));
        }
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
        candidates.truncate(2 * beams);
        let ends = |candidate: &Candidate| candidate.code == stop || length == limit;
        for candidate in candidates.iter().take(beams).filter(|c| ends(c)) {
            let mut beam = followed(candidate, &running, &scored);
            beam.score /= (length as f32).powf(config.length_penalty);
            if candidate.code == stop {
                beam.ended = Ending::Stop;
            }
            finished.push(beam);
        }
        finished.sort_by(|a, b| b.score.total_cmp(&a.score));
        finished.truncate(beams);
        let mut going = candidates.into_iter().filter(|c| !ends(c));
        let going: Vec<Candidate> = going.by_ref().take(beams).collect();
        let next: Vec<Beam> = going
            .iter()
            .map(|candidate| followed(candidate, &running, &scored))
            .collect();
        let Some(best) = next.first() else {
            break;
        };
        let attainable = best.score / (length as f32).powf(config.length_penalty);
        if let Some(worst) = finished.get(beams - 1)
            && worst.score >= attainable
        {
            break;
        }
        let parents: Vec<usize> = going.iter().map(|candidate| candidate.beam).collect();
        engine.keep(&parents);
        let codes: Vec<(u32, usize)> = going.iter().map(|c| (c.code, length)).collect();
        running = next;
        scored = engine.advance(gpt, &codes, None)?;
    }
    let best = finished.into_iter().next();
    let (codes, latents, ended) = best.map_or((vec![], vec![], Ending::Limit), |best| {
        (best.codes, best.latents, best.ended)
    });
    Ok(Generated {
        codes,
        latents_1nd: joined(latents, channels, &device),
        ended,
    })
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
