//! Finds how a model draws its codes best, on sentences it did not learn from.
//!
//! Each held-out sentence is spoken with every candidate, and the result is compared with its
//! recording, both as the DVAE's mels. No other model is needed: one that lost its way, or found
//! no end, is far from the recording, whatever it said instead. The likelihood of the true codes
//! would not help: it is the same for every way of drawing.

use burn::tensor::{Int, Tensor, TensorData};
use myxtts_infer::SamplingDefaults;
use myxtts_model::dvae::Dvae;
use myxtts_model::generate::{SamplingConfig, generate};
use myxtts_model::gpt::{Gpt, GptBatch, Quirks};
use myxtts_run::signals::StopRequest;
use myxtts_text::TokenId;

use crate::error::{TrainError, unless_stopped};

/// The most sentences that are spoken with each candidate.
const SENTENCES: usize = 12;

/// The cost of a sentence without an end, in deviations of a mel band. Two recordings of
/// different sentences are about one apart.
const ENDLESS: f64 = 2.0;

/// The cost of a sentence that is a factor of e too long or too short, in the same unit: the
/// alignment forgives a sound that is held or swallowed.
const HURRIED: f64 = 1.0;

/// A candidate, and what speaking with it cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tried {
    /// The sampling settings that were tried.
    pub(super) sampling: SamplingDefaults,
    /// The mean distance to the recordings (their sum, until all are spoken); lower is better.
    pub(super) distance: f64,
    /// Sentences that came to an end.
    pub(super) ended: usize,
    /// Sentences that were spoken.
    pub(super) sentences: usize,
}

impl Tried {
    /// Starts a candidate before its first sentence.
    fn new(sampling: SamplingDefaults) -> Self {
        Self {
            sampling,
            distance: 0.0,
            ended: 0,
            sentences: 0,
        }
    }
}

/// Lists what to try: what the card says already, the best code each time, and some ways in
/// between. The first of equals wins, so the order is one of preference.
fn candidates(present: SamplingDefaults) -> Vec<SamplingDefaults> {
    let here = SamplingDefaults::TRAINED_HERE;
    let at = |temperature: f32| SamplingDefaults {
        temperature,
        ..here
    };
    let best = SamplingDefaults { top_k: 1, ..here };
    let mut candidates = vec![present];
    for other in [at(0.5), at(0.25), best, at(0.75)] {
        if !candidates.contains(&other) {
            candidates.push(other);
        }
    }
    candidates
}

/// A held-out sentence and its recording.
struct Sentence {
    tokens: Vec<TokenId>,
    voice_1nd: Tensor<3>,
    codes: usize,
    recorded: Frames,
}

/// Tries every candidate on the first `most` sentences of these batches. Empty if there are none,
/// or if no candidate ends the first sentence: such a model gives nothing to choose by.
pub(super) fn tried<'a>(
    gpt: &Gpt,
    dvae: &Dvae,
    batches: impl Iterator<Item = &'a GptBatch>,
    most: usize,
    present: SamplingDefaults,
    quirks: Quirks,
    stop: &StopRequest,
) -> Result<Vec<Tried>, TrainError> {
    let mut sentences = vec![];
    for batch in batches {
        let left = most.min(SENTENCES) - sentences.len();
        sentences.extend(sentences_of(gpt, dvae, batch, left)?);
    }
    let speaking = gpt.for_speaking();
    let mut tried: Vec<Tried> = candidates(present).into_iter().map(Tried::new).collect();
    for (seed, sentence) in (0..).zip(&sentences) {
        for candidate in &mut tried {
            unless_stopped(stop)?;
            let config = SamplingConfig {
                // What is twice as long as the recording is lost, whatever follows.
                max_codes: Some(2 * sentence.codes + 8),
                ..candidate.sampling.with_seed(seed, quirks)
            };
            let voice_1nd = sentence.voice_1nd.clone();
            let spoken = generate(&speaking, voice_1nd, &sentence.tokens, config);
            let spoken = spoken.map_err(TrainError::failed)?;
            let known = gpt.config().vocabulary.codes;
            let codes: Vec<i64> = spoken
                .codes
                .iter()
                .filter(|code| **code < known)
                .map(|code| i64::from(*code))
                .collect();
            candidate.sentences += 1;
            candidate.ended += usize::from(spoken.stopped());
            candidate.distance += match (spoken.stopped(), codes.is_empty()) {
                (true, false) => apart(&mel(dvae, &codes)?, &sentence.recorded),
                _ => ENDLESS,
            };
        }
        if tried.iter().all(|tried| tried.ended == 0) {
            break;
        }
    }
    for tried in &mut tried {
        tried.distance /= tried.sentences.max(1) as f64;
    }
    tried.retain(|tried| tried.ended > 0);
    Ok(tried)
}

/// Returns the best of those tried.
pub(super) fn best(tried: &[Tried]) -> Option<Tried> {
    let nearer = |a: &&Tried, b: &&Tried| a.distance.total_cmp(&b.distance);
    tried.iter().min_by(nearer).copied()
}

/// Describes the choice for the log.
pub(super) fn words(chosen: &Tried, tried: &[Tried]) -> String {
    let values = |sampling: &SamplingDefaults| match sampling.top_k {
        1 => "the best code each time".to_owned(),
        _ => format!(
            "temperature {}, top-k {}, top-p {}, repetition penalty {}",
            sampling.temperature, sampling.top_k, sampling.top_p, sampling.repetition_penalty
        ),
    };
    let others: Vec<String> = tried
        .iter()
        .filter(|other| other.sampling != chosen.sampling)
        .map(|other| format!("{:.3} with {}", other.distance, values(&other.sampling)))
        .collect();
    format!(
        "speaks best with {}: {:.3} from the recordings of {} held-out sentences, {} of them ended \
         (others: {}); kept with the model",
        values(&chosen.sampling),
        chosen.distance,
        chosen.sentences,
        chosen.ended,
        others.join("; ")
    )
}

fn sentences_of(
    gpt: &Gpt,
    dvae: &Dvae,
    batch: &GptBatch,
    most: usize,
) -> Result<Vec<Sentence>, TrainError> {
    let numbers = |values: Tensor<1, Int>| {
        let data = values.try_into_data().map_err(TrainError::failed)?;
        let numbers: Vec<i64> = data.iter::<i64>().collect();
        Ok::<_, TrainError>(numbers)
    };
    let length = |value: &i64| usize::try_from(*value).unwrap_or(0);
    let texts = numbers(batch.text_lengths_b.clone())?;
    let audios = numbers(batch.code_lengths_b.clone())?;
    let mut sentences = vec![];
    for (row, (text, codes)) in texts.iter().zip(&audios).enumerate() {
        let (text, codes) = (length(text), length(codes));
        if sentences.len() == most || text == 0 || codes == 0 {
            continue;
        }
        let row_of = |values_bt: &Tensor<2, Int>, length: usize| {
            let row_1t = values_bt.clone().narrow(0, row, 1).narrow(1, 0, length);
            numbers(row_1t.reshape([length]))
        };
        let tokens = row_of(&batch.text_bt, text)?;
        let recorded = row_of(&batch.codes_bm, codes)?;
        let conditioning_1cs = batch.conditioning_bcs.clone().narrow(0, row, 1);
        sentences.push(Sentence {
            tokens: tokens
                .into_iter()
                .map(|token| TokenId::try_from(token).unwrap_or(0))
                .collect(),
            voice_1nd: gpt.condition(conditioning_1cs),
            codes,
            recorded: mel(dvae, &recorded)?,
        });
    }
    Ok(sentences)
}

/// The frames of a mel, each with all its bands.
struct Frames {
    bands: usize,
    values: Vec<f32>,
}

impl Frames {
    fn iter(&self) -> impl ExactSizeIterator<Item = &[f32]> + Clone {
        self.values.chunks_exact(self.bands.max(1))
    }
}

/// Decodes codes to a mel with the DVAE.
fn mel(dvae: &Dvae, codes: &[i64]) -> Result<Frames, TrainError> {
    let device = dvae.codebook.embed.device();
    let data = TensorData::new(codes.to_vec(), [1, codes.len()]);
    let mel_1ct = dvae.decode(Tensor::<2, Int>::from_data(data, &device));
    let [_, bands, _] = mel_1ct.dims();
    let mel_1tc = mel_1ct.swap_dims(1, 2);
    let values = mel_1tc.try_into_vec_as::<f32>();
    Ok(Frames {
        bands,
        values: values.map_err(TrainError::failed)?,
    })
}

/// Returns how far two mels are apart: the mean difference of a band along the best alignment,
/// plus what the difference in length costs.
fn apart(spoken: &Frames, recorded: &Frames) -> f64 {
    let (a, b) = (spoken.iter().len() as f64, recorded.iter().len() as f64);
    aligned(spoken, recorded) + HURRIED * (a / b).ln().abs()
}

/// Aligns by dynamic time warping: the cheapest path from both beginnings to both ends, advancing
/// by a frame of either or of both, divided by the lengths of the two.
fn aligned(spoken: &Frames, recorded: &Frames) -> f64 {
    let columns = recorded.iter().len();
    let mut row = vec![f64::INFINITY; columns + 1];
    row[0] = 0.0;
    for frame in spoken.iter() {
        // `corner` is the cell diagonally before this one, and `left` the cell beside it.
        let (mut corner, mut left) = (row[0], f64::INFINITY);
        row[0] = f64::INFINITY;
        for (other, cell) in recorded.iter().zip(&mut row[1..]) {
            let difference = difference(frame, other);
            // A step of both frames counts twice, so that every path has the same length.
            let next = (corner + 2.0 * difference).min(cell.min(left) + difference);
            corner = *cell;
            left = next;
            *cell = next;
        }
    }
    row[columns] / (spoken.iter().len() + columns).max(1) as f64
}

fn difference(one: &[f32], other: &[f32]) -> f64 {
    let sum: f32 = one.iter().zip(other).map(|(a, b)| (a - b).abs()).sum();
    f64::from(sum) / one.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(values: &[f32]) -> Frames {
        Frames {
            bands: 1,
            values: values.to_vec(),
        }
    }

    /// Every way there is, one by one.
    fn cheapest(a: &[f32], b: &[f32]) -> f64 {
        match (a, b) {
            ([], []) => 0.0,
            ([], _) | (_, []) => f64::INFINITY,
            ([rest_a @ .., x], [rest_b @ .., y]) => {
                let cost = f64::from((x - y).abs());
                if rest_a.is_empty() && rest_b.is_empty() {
                    return 2.0 * cost;
                }
                let both = cheapest(rest_a, rest_b) + 2.0 * cost;
                let one = cheapest(rest_a, b).min(cheapest(a, rest_b)) + cost;
                both.min(one)
            }
        }
    }

    #[test]
    fn the_alignment_is_the_cheapest_of_all() {
        let cases: [(&[f32], &[f32]); 5] = [
            (&[1.0], &[1.0]),
            (&[0.0, 1.0, 2.0], &[0.0, 1.0, 1.0, 2.0]),
            (&[3.0, 1.0, 4.0, 1.0, 5.0], &[2.0, 7.0, 1.0, 8.0]),
            (&[0.5, -2.0], &[9.0, 9.0, 9.0, -9.0, 0.25]),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[6.0]),
        ];
        for (a, b) in cases {
            let found = aligned(&frames(a), &frames(b));
            let expected = cheapest(a, b) / (a.len() + b.len()) as f64;
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn holding_a_sound_costs_only_its_length() {
        let said = frames(&[0.0, 1.0, 1.0, 2.0]);
        assert!(apart(&said, &said).abs() < 1e-12);
        let held = frames(&[0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
        assert!((apart(&held, &said) - HURRIED * 2.0_f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn what_the_card_says_is_tried_first_and_once() {
        let here = candidates(SamplingDefaults::TRAINED_HERE);
        assert_eq!(here.len(), 4);
        assert_eq!(here[0], SamplingDefaults::TRAINED_HERE);
        let public = candidates(SamplingDefaults::RELEASED);
        assert_eq!(public.len(), 5);
        assert_eq!(public[0], SamplingDefaults::RELEASED);
    }

    #[test]
    fn what_was_chosen_in_words() {
        let of = |sampling, distance, ended| Tried {
            sampling,
            distance,
            ended,
            sentences: 12,
        };
        let greedy = SamplingDefaults {
            top_k: 1,
            ..SamplingDefaults::TRAINED_HERE
        };
        let tried = [
            of(SamplingDefaults::TRAINED_HERE, 0.5, 11),
            of(greedy, 0.25, 12),
        ];
        let chosen = best(&tried).unwrap();
        assert_eq!(chosen.sampling, greedy);
        assert_eq!(best(&[]), None);
        insta::assert_snapshot!(words(&chosen, &tried));
        insta::assert_snapshot!(words(&tried[0], &tried));
    }
}
