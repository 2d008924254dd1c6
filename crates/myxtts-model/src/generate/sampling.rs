//! From scores to a code.

use serde::{Deserialize, Serialize};

use super::processors::{repetition_penalty, softmax, temperature, top_k, top_p};
use crate::gpt::{Quirks, Vocabulary};
use crate::init::{mix, unit};

/// How a code is chosen among those left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The best; temperature, top-k and top-p have no part in it.
    Greedy,
    /// At random by its probability; the same seed draws the same.
    Sample {
        /// Of the draws.
        seed: u64,
    },
}

/// How codes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplingConfig {
    /// Among those left.
    pub choice: Choice,
    /// 1 leaves repeated codes alone.
    pub repetition_penalty: f32,
    /// 1 leaves the distribution as it is.
    pub temperature: f32,
    /// How many codes are kept; 0 keeps all.
    pub top_k: usize,
    /// How much probability is kept; 1 keeps all.
    pub top_p: f32,
    /// Most codes to make; `None` for as many as the model has positions for.
    pub max_codes: Option<usize>,
    /// With [`Quirks::Compat`] code 1 counts as seen from the start.
    pub quirks: Quirks,
}

impl SamplingConfig {
    /// The public model's defaults, with this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            choice: Choice::Sample { seed },
            repetition_penalty: 10.0,
            temperature: 0.75,
            top_k: 50,
            top_p: 0.85,
            max_codes: None,
            quirks: Quirks::Fixed,
        }
    }

    /// Always the best code, nothing penalised.
    pub fn greedy() -> Self {
        Self {
            choice: Choice::Greedy,
            repetition_penalty: 1.0,
            ..Self::new(0)
        }
    }
}

/// Chooses code after code.
#[derive(Clone, Debug)]
pub struct Sampler {
    config: SamplingConfig,
    seen: Vec<u32>,
    drawn: u64,
}

impl Sampler {
    /// At the start of a generation.
    pub fn new(config: SamplingConfig, vocabulary: &Vocabulary) -> Self {
        // The public implementation fills the place of the prefix with ones,
        // and takes them for codes.
        let seen = match config.quirks {
            Quirks::Compat => vec![1, vocabulary.start_audio()],
            Quirks::Fixed => vec![],
        };
        Self {
            config,
            seen,
            drawn: 0,
        }
    }

    /// The next code, from the scores of all.
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

/// The first of the best.
fn best(scores: &[f32]) -> u32 {
    let better = |best: (u32, f32), (id, &score): (u32, &f32)| {
        if score > best.1 { (id, score) } else { best }
    };
    (0..).zip(scores).fold((0, f32::NEG_INFINITY), better).0
}

/// The code in whose share of `[0, 1)` the number falls.
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
