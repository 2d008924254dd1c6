//! Chooses a code from scores.

use serde::{Deserialize, Serialize};

use super::ending::Guards;
use super::processors::{repetition_penalty, softmax, temperature, top_k, top_p};
use crate::gpt::{Quirks, Vocabulary};
use crate::init::{mix, unit};

/// How a code is chosen among those that the processors leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The best one; temperature, top-k and top-p do not matter.
    Greedy,
    /// A random one, by its probability; the same seed draws the same codes.
    Sample {
        /// The seed of the draws.
        seed: u64,
    },
}

/// How codes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplingConfig {
    /// How a code is chosen among those that the processors leave.
    pub choice: Choice,
    /// How much repeated codes are penalised; 1 leaves them alone.
    pub repetition_penalty: f32,
    /// How much the distribution is flattened; 1 leaves it as it is.
    pub temperature: f32,
    /// How many codes are kept; 0 keeps all.
    pub top_k: usize,
    /// How much probability is kept; 1 keeps all.
    pub top_p: f32,
    /// The most codes to make; `None` allows as many as the model has positions for.
    pub max_codes: Option<usize>,
    /// With [`Quirks::Compat`] code 1 counts as seen from the start.
    pub quirks: Quirks,
    /// STOP cannot be chosen before this many codes.
    #[serde(default)]
    pub min_codes: usize,
    /// Rows that a beam search keeps; 1 does not search.
    #[serde(default = "one_beam")]
    pub num_beams: usize,
    /// A beam search divides by the length to this power. Above 0 favours longer rows, below 0
    /// shorter ones.
    #[serde(default = "plain_length")]
    pub length_penalty: f32,
    /// The limits that end a row if the model does not.
    #[serde(default)]
    pub guards: Guards,
}

fn one_beam() -> usize {
    1
}

fn plain_length() -> f32 {
    1.0
}

impl SamplingConfig {
    /// Returns the public model's defaults, with this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            choice: Choice::Sample { seed },
            repetition_penalty: 10.0,
            temperature: 0.75,
            top_k: 50,
            top_p: 0.85,
            max_codes: None,
            quirks: Quirks::Fixed,
            min_codes: 0,
            num_beams: one_beam(),
            length_penalty: plain_length(),
            guards: Guards::default(),
        }
    }

    /// Always takes the best code, without penalties.
    pub fn greedy() -> Self {
        Self {
            choice: Choice::Greedy,
            repetition_penalty: 1.0,
            ..Self::new(0)
        }
    }

    /// Returns the most codes that a text of `tokens` tokens gets.
    pub(super) fn most_codes(&self, vocabulary: &Vocabulary, tokens: usize) -> usize {
        let asked = self.max_codes.unwrap_or(usize::MAX);
        let guarded = self.guards.most(tokens);
        asked.min(guarded).min(vocabulary.max_new_codes())
    }
}

/// Chooses one code after the other.
#[derive(Clone, Debug)]
pub struct Sampler {
    config: SamplingConfig,
    seen: Vec<u32>,
    drawn: u64,
}

impl Sampler {
    /// Starts the codes of a new row.
    pub fn new(config: SamplingConfig, vocabulary: &Vocabulary) -> Self {
        let seen = seen_at_start(&config, vocabulary);
        Self {
            config,
            seen,
            drawn: 0,
        }
    }

    /// Chooses the next code, given the scores of all.
    pub fn next(&mut self, mut scores: Vec<f32>) -> u32 {
        let config = self.config;
        repetition_penalty(&mut scores, &self.seen, config.repetition_penalty);
        let code = match config.choice {
            Choice::Greedy => best(&scores),
            Choice::Sample { seed } => {
                temperature(&mut scores, config.temperature);
                if config.top_k > 0 {
                    top_k(&mut scores, config.top_k);
                }
                if config.top_p < 1.0 {
                    top_p(&mut scores, config.top_p);
                }
                draw(&scores, unit(mix(seed), self.drawn))
            }
        };
        self.drawn += 1;
        self.seen.push(code);
        code
    }
}

/// Returns the codes that count as seen before the first: the public implementation fills the
/// place of the prefix with ones, and takes them for codes.
pub(super) fn seen_at_start(config: &SamplingConfig, vocabulary: &Vocabulary) -> Vec<u32> {
    match config.quirks {
        Quirks::Compat => vec![1, vocabulary.start_audio()],
        Quirks::Fixed => vec![],
    }
}

/// Returns the first of the best codes.
fn best(scores: &[f32]) -> u32 {
    let better = |best: (u32, f32), (id, &score): (u32, &f32)| {
        if score > best.1 { (id, score) } else { best }
    };
    (0..).zip(scores).fold((0, f32::NEG_INFINITY), better).0
}

/// Returns the code in whose share of `[0, 1)` the number falls.
fn draw(scores: &[f32], number: f64) -> u32 {
    let mut cumulative = 0.0;
    let mut last = 0;
    for (id, share) in (0..).zip(softmax(scores)) {
        if share > 0.0 {
            cumulative += share;
            last = id;
            if number < cumulative {
                break;
            }
        }
    }
    last
}
