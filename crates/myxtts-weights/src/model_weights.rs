//! A model: its parts, its vocabulary and its configuration, in agreement.

use std::collections::{BTreeMap, BTreeSet};

use myxtts_text::Vocabulary;
use serde::{Deserialize, Serialize};

use crate::config::XttsConfig;
use crate::error::Fault;
use crate::keys::Ignored;
use crate::map::TensorMap;
use crate::tensor::Tensor;

/// A model with everything that belongs to it.
#[derive(Clone, Debug)]
pub struct ModelWeights {
    /// The GPT, under `gpt.*`.
    pub gpt: TensorMap,
    /// The vocoder and the speaker encoder, under `hifigan_decoder.*`.
    pub hifigan_decoder: TensorMap,
    /// The DVAE, under the names of `dvae.pth`.
    pub dvae: Option<TensorMap>,
    /// The mean of each mel band, by which mel spectrograms are divided.
    pub mel_stats: Option<Tensor>,
    /// The copy of the mel statistics inside the model's own state, as it was found.
    pub model_mel_stats: Option<Tensor>,
    /// The latents of named voices: `NAME.gpt_cond_latent`, `NAME.speaker_embedding`.
    pub speakers: Option<TensorMap>,
    /// The bytes of `vocab.json`.
    pub vocabulary: Option<Vec<u8>>,
    /// The configuration of the model.
    pub config: XttsConfig,
    /// What only this program knows of the model; `None` in public files.
    pub model: Option<serde_json::Value>,
    /// What the files had that was not taken over.
    pub ignored: Vec<Ignored>,
    /// What a person should know.
    pub notices: Vec<String>,
}

/// The sizes that the weights themselves have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// The number of transformer layers.
    pub layers: usize,
    /// The width of the transformer.
    pub channels: usize,
    /// The number of rows of the text embedding.
    pub text_tokens: usize,
    /// The number of rows of the code embedding.
    pub audio_tokens: usize,
    /// The number of rows of the text positions.
    pub text_positions: usize,
    /// The number of rows of the code positions.
    pub audio_positions: usize,
}

/// The shapes of tensors by name.
pub(crate) type Shapes<'a> = BTreeMap<&'a str, &'a [usize]>;

/// A fault and the tensor it is about, if there is one.
type TensorFault = (Option<&'static str>, Fault);

const TEXT_EMBEDDING: &str = "gpt.text_embedding.weight";
const TEXT_HEAD: &str = "gpt.text_head.weight";
const AUDIO_EMBEDDING: &str = "gpt.mel_embedding.weight";
const TEXT_POSITIONS: &str = "gpt.text_pos_embedding.emb.weight";
const AUDIO_POSITIONS: &str = "gpt.mel_pos_embedding.emb.weight";

/// The positions beyond the longest text: start and stop.
const TEXT_EXTRA: usize = 2;
/// The positions beyond the longest audio: start, stop and one of conditioning.
const AUDIO_EXTRA: usize = 3;

impl Sizes {
    /// Reads the sizes off the tensors of a GPT.
    pub fn of(gpt: &TensorMap) -> Result<Self, (Option<&'static str>, Fault)> {
        Self::of_shapes(
            &gpt.iter()
                .map(|(name, tensor)| (name, tensor.shape()))
                .collect(),
        )
    }

    /// Reads the sizes off shapes by name.
    pub(crate) fn of_shapes(gpt: &Shapes<'_>) -> Result<Self, (Option<&'static str>, Fault)> {
        let (text_tokens, channels) = matrix(gpt, TEXT_EMBEDDING)?;
        let rows = |name| match matrix(gpt, name)? {
            (rows, columns) if columns == channels => Ok(rows),
            (rows, columns) => Err((
                Some(name),
                Fault::Shape {
                    found: vec![rows, columns],
                    expected: format!("{channels} columns, as {TEXT_EMBEDDING} has"),
                },
            )),
        };
        let heads = rows(TEXT_HEAD)?;
        if heads != text_tokens {
            let expected = format!("{text_tokens} rows, as {TEXT_EMBEDDING} has");
            let found = vec![heads, channels];
            return Err((Some(TEXT_HEAD), Fault::Shape { found, expected }));
        }
        let layers: BTreeSet<&str> = gpt
            .keys()
            .filter_map(|name| name.strip_prefix("gpt.gpt.h.")?.split('.').next())
            .collect();
        Ok(Self {
            layers: layers.len(),
            channels,
            text_tokens,
            audio_tokens: rows(AUDIO_EMBEDDING)?,
            text_positions: rows(TEXT_POSITIONS)?,
            audio_positions: rows(AUDIO_POSITIONS)?,
        })
    }
}

fn matrix(gpt: &Shapes<'_>, name: &'static str) -> Result<(usize, usize), TensorFault> {
    let Some(shape) = gpt.get(name) else {
        let missing = name.to_owned();
        let found = gpt.len();
        return Err((None, Fault::NotXtts { missing, found }));
    };
    match *shape {
        [rows, columns] => Ok((*rows, *columns)),
        other => Err((
            Some(name),
            Fault::Shape {
                found: other.to_vec(),
                expected: "rows and columns".to_owned(),
            },
        )),
    }
}

impl ModelWeights {
    /// Checks that weights, configuration and vocabulary belong together.
    /// What the public implementation would overlook becomes a notice.
    pub fn check(&mut self) -> Result<Sizes, (Option<&'static str>, Fault)> {
        let sizes = Sizes::of(&self.gpt)?;
        self.check_sizes(sizes)?;
        let configured = &mut self.config.model_args.gpt_number_text_tokens;
        if let Some(number) = configured.replace(sizes.text_tokens)
            && number != sizes.text_tokens
        {
            // The public implementation takes the vocabulary's number instead.
            self.notices.push(format!(
                "config.json says gpt_number_text_tokens = {number}, but the weights have {}: \
                 took the number from the weights",
                sizes.text_tokens
            ));
        }
        self.check_vocabulary(sizes)?;
        self.check_mel_stats()?;
        Ok(sizes)
    }

    /// Checks the sizes that the configuration has to say exactly.
    fn check_sizes(&self, sizes: Sizes) -> Result<(), TensorFault> {
        let args = &self.config.model_args;
        let text = sizes.text_positions.saturating_sub(TEXT_EXTRA);
        let audio = sizes.audio_positions.saturating_sub(AUDIO_EXTRA);
        for (tensor, what, configured, found) in [
            (None, "gpt_layers", args.gpt_layers, sizes.layers),
            (
                Some(TEXT_EMBEDDING),
                "gpt_n_model_channels",
                args.gpt_n_model_channels,
                sizes.channels,
            ),
            (
                Some(AUDIO_EMBEDDING),
                "gpt_num_audio_tokens",
                args.gpt_num_audio_tokens,
                sizes.audio_tokens,
            ),
            (
                Some(TEXT_POSITIONS),
                "gpt_max_text_tokens",
                args.gpt_max_text_tokens,
                text,
            ),
            (
                Some(AUDIO_POSITIONS),
                "gpt_max_audio_tokens",
                args.gpt_max_audio_tokens,
                audio,
            ),
        ] {
            if configured != found {
                let disagree = Fault::Disagree {
                    what,
                    by: "config.json",
                    configured,
                    found,
                };
                return Err((tensor, disagree));
            }
        }
        Ok(())
    }

    fn check_vocabulary(&mut self, sizes: Sizes) -> Result<(), TensorFault> {
        let Some(bytes) = &self.vocabulary else {
            self.notices
                .push("there is no vocab.json: the model cannot speak without one".to_owned());
            return Ok(());
        };
        let vocabulary =
            Vocabulary::from_json(bytes).map_err(|why| (None, Fault::Vocabulary(why)))?;
        let tokens = vocabulary.text_tokens();
        if tokens > sizes.text_tokens {
            let disagree = Fault::Disagree {
                what: "the number of text tokens",
                by: "vocab.json",
                configured: tokens,
                found: sizes.text_tokens,
            };
            return Err((Some(TEXT_EMBEDDING), disagree));
        }
        if tokens < sizes.text_tokens {
            self.notices.push(format!(
                "vocab.json has {tokens} text tokens, but the weights have {}: the rest is never used, \
                 and the public implementation refuses such a pair",
                sizes.text_tokens
            ));
        }
        Ok(())
    }

    fn check_mel_stats(&mut self) -> Result<(), TensorFault> {
        for stats in [&self.mel_stats, &self.model_mel_stats]
            .into_iter()
            .flatten()
        {
            if stats.shape().len() != 1 {
                let found = stats.shape().to_vec();
                let expected = "one number per mel band".to_owned();
                return Err((Some("mel_stats"), Fault::Shape { found, expected }));
            }
        }
        if let (Some(file), Some(model)) = (&self.mel_stats, &self.model_mel_stats)
            && file != model
        {
            self.notices.push(
                "mel_stats.pth and the copy inside the model differ: training uses the file, both are kept"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
