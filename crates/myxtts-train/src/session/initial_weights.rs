//! Where the weights of a run come from: nowhere, earlier weights, or a checkpoint of the run
//! itself.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::TensorData;
use myxtts_base::report;
use myxtts_data::dataset::train_texts;
use myxtts_infer::{ModelCard, state_dict};
use myxtts_model::params::StateDict;
use myxtts_run::checkpoint::Checkpoint;
use myxtts_text::{Grown, Growth, Language, TokenId, Vocabulary};
use myxtts_weights::{TensorMap, read_ours, read_safetensors};

use super::job::Job;
use super::saving::{weights, without_prefix};
use crate::error::TrainError;

/// The weights and settings that a training starts from.
#[derive(Clone, Debug, Default)]
pub(crate) struct InitialWeights {
    pub(crate) vocabulary: Option<Arc<Vocabulary>>,
    pub(crate) stats: Option<Vec<f32>>,
    pub(crate) dvae: Option<StateDict>,
    pub(crate) gpt: Option<StateDict>,
    /// The waveform decoder and the speaker encoder, under their public names.
    pub(crate) hifigan: TensorMap,
    /// The description of the model that the weights belong to.
    pub(crate) card: Option<ModelCard>,
    /// Messages for the user.
    pub(crate) notices: Vec<String>,
}

impl InitialWeights {
    /// Reads weights in our format: imported, exported or of another run.
    pub(crate) fn init(folder: &Path, job: &Job) -> Result<Self, TrainError> {
        let folder = match myxtts_infer::resolve(folder, myxtts_infer::Pick::Newest) {
            Ok(folder) => folder,
            Err(why) => {
                let codes = Self::codes(folder)?;
                return codes.ok_or_else(|| TrainError::usage(why));
            }
        };
        let checkpoint = read_ours(&folder).map_err(TrainError::usage)?;
        let mut card = ModelCard::of(&checkpoint).map_err(TrainError::usage)?;
        if checkpoint.mel_stats.is_none() {
            return Err(TrainError::Usage(report!(
                "the weights of --init have no mel statistics";
                at: "{}", folder.display();
                why: "the DVAE and the GPT were trained on mels divided by them, and hear others \
                      differently";
                fix: "put mel_stats.pth beside model.pth and import again"
            )));
        }
        // What is stored is how this training loads audio, and speaking must load it the same
        // way.
        card.audio = job.clips.audio.clone();
        let state = |map: &TensorMap, prefix: &str| without_prefix(state_dict(map), prefix);
        let vocabulary = checkpoint.vocabulary.as_deref().map(Vocabulary::from_json);
        let mut initial_weights = Self {
            vocabulary: vocabulary
                .transpose()
                .map_err(TrainError::failed)?
                .map(Arc::new),
            stats: checkpoint.mel_stats.as_ref().map(|stats| stats.to_f32()),
            dvae: checkpoint.dvae.as_ref().map(|map| state(map, "")),
            gpt: Some(state(&checkpoint.gpt, "gpt.")),
            // They are kept until the last checkpoint, and copied into each.
            hifigan: checkpoint.hifigan_decoder.in_memory(),
            card: Some(card),
            notices: vec![],
        };
        initial_weights.grow(job)?;
        Ok(initial_weights)
    }

    /// Reads the vocabulary of weights in our format; `None` if they are a DVAE alone.
    pub(crate) fn vocabulary_of(folder: &Path) -> Result<Option<Arc<Vocabulary>>, TrainError> {
        let Ok(folder) = myxtts_infer::resolve(folder, myxtts_infer::Pick::Newest) else {
            return Ok(None);
        };
        let checkpoint = read_ours(&folder).map_err(TrainError::usage)?;
        let vocabulary = checkpoint.vocabulary.as_deref().map(Vocabulary::from_json);
        let vocabulary = vocabulary.transpose().map_err(TrainError::failed)?;
        Ok(vocabulary.map(Arc::new))
    }

    /// Reads a run that has trained its DVAE and nothing else: the GPT will be new, and so will
    /// its vocabulary.
    fn codes(run: &Path) -> Result<Option<Self>, TrainError> {
        let checkpoints = run.join("checkpoints");
        if !checkpoints.is_dir() {
            return Ok(None);
        }
        let Some(checkpoint) = Checkpoint::newest(&checkpoints)? else {
            return Ok(None);
        };
        let initial_weights = Self::checkpoint(&checkpoint)?;
        Ok(Some(Self {
            vocabulary: None,
            ..initial_weights
        }))
    }

    /// Reads a checkpoint of the run, of whichever stage.
    pub(crate) fn checkpoint(checkpoint: &Checkpoint) -> Result<Self, TrainError> {
        checkpoint.verify()?;
        let has = |name: &str| {
            let files = &checkpoint.manifest().files;
            files.iter().any(|file| file.name == name)
        };
        let optional = |name: &str, prefix: &str| match has(name) {
            true => weights(checkpoint, name).map(|state| Some(without_prefix(state, prefix))),
            false => Ok(None),
        };
        let vocabulary = checkpoint.load("vocab.json")?;
        let stats = read_safetensors(&checkpoint.folder().join("mel_stats.safetensors"));
        let stats = stats.map_err(TrainError::failed)?;
        let (card, hifigan) = match has("config.json") {
            true => {
                let ours = read_ours(checkpoint.folder()).map_err(TrainError::failed)?;
                let card = ModelCard::of(&ours).map_err(TrainError::failed)?;
                (Some(card), ours.hifigan_decoder.in_memory())
            }
            false => (None, TensorMap::new()),
        };
        Ok(Self {
            vocabulary: Some(Arc::new(
                Vocabulary::from_json(&vocabulary).map_err(TrainError::failed)?,
            )),
            stats: stats.get("mel_stats").map(|stats| stats.to_f32()),
            dvae: optional("dvae.safetensors", "")?,
            gpt: optional("gpt.safetensors", "gpt.")?,
            hifigan,
            card,
            notices: vec![],
        })
    }

    /// Adds the tokens that the dataset's texts need and the vocabulary lacks.
    fn grow(&mut self, job: &Job) -> Result<(), TrainError> {
        let (Some(vocabulary), Some(gpt)) = (&self.vocabulary, &mut self.gpt) else {
            return Ok(());
        };
        let (texts, languages) = train_texts(&job.dataset.folder)?;
        if let Some(card) = &mut self.card {
            // The tags are the vocabulary's own, so that every language that is learned can be
            // asked for.
            for language in &languages {
                if !card.languages.iter().any(|tag| tag == language.tag()) {
                    card.languages.push(language.tag().to_owned());
                }
            }
        }
        let knows = |language: &Language| vocabulary.languages().contains(&language.tag());
        let unset = match languages.iter().all(knows) {
            true => 0,
            false => NEW_LANGUAGE_TOKENS,
        };
        let growth = Growth {
            merged_tokens: job.new_tokens.unwrap_or(unset),
            languages,
            ..Growth::default()
        };
        let grown = vocabulary
            .grow(texts, &growth)
            .map_err(TrainError::failed)?;
        if grown.added.is_empty() {
            return Ok(());
        }
        for name in [
            "text_embedding.weight",
            "text_head.weight",
            "text_head.bias",
        ] {
            if let Some(data) = gpt.get_mut(name) {
                *data = with_rows(data, grown.new_text_tokens, &grown.pieces);
            }
        }
        if let Some(card) = &mut self.card {
            card.gpt.vocabulary.text_tokens = grown.new_text_tokens;
        }
        self.notices.push(growth_notice(&grown));
        self.vocabulary = Some(Arc::new(grown.vocabulary));
        Ok(())
    }
}

/// The most tokens that are learned for a language that the weights do not know.
const NEW_LANGUAGE_TOKENS: usize = 2000;
/// The most new tokens that a notice lists.
const LISTED_TOKENS: usize = 40;

fn growth_notice(grown: &Grown) -> String {
    let tokens = grown.added.iter().map(|(_, token)| token.as_str());
    let listed: Vec<&str> = tokens.take(LISTED_TOKENS).collect();
    let more = match grown.added.len().saturating_sub(LISTED_TOKENS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let merged = match grown.pieces.len() {
        0 => String::new(),
        merged => format!(", {merged} of them of the tokens that they replace"),
    };
    format!(
        "the vocabulary grows from {} to {} text tokens for this dataset: {}{more}; old tokens keep \
         their rows, new ones start as a mean{merged}",
        grown.old_text_tokens,
        grown.new_text_tokens,
        listed.join(" ")
    )
}

/// Adds rows. A token that stands for several others starts as their mean, so that a text begins
/// with the meaning it had; any other as the mean of all: one the model has never seen then means
/// nothing in particular, at the usual scale.
fn with_rows(data: &TensorData, rows: usize, pieces: &[(TokenId, Vec<TokenId>)]) -> TensorData {
    let mut shape = data.shape().to_vec();
    let old = shape.first().copied().unwrap_or(0);
    let width: usize = shape.iter().skip(1).product();
    let mut values: Vec<f32> = data.iter().collect();
    let mut mean = vec![0.0_f64; width];
    for row in values.chunks_exact(width.max(1)) {
        for (sum, value) in mean.iter_mut().zip(row) {
            *sum += f64::from(*value);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "a mean of f32")]
    let mean: Vec<f32> = mean
        .into_iter()
        .map(|sum| (sum / old.max(1) as f64) as f32)
        .collect();
    for _ in old..rows {
        values.extend_from_slice(&mean);
    }
    for (token, pieces) in pieces {
        let row = |id: TokenId| id as usize * width..(id as usize + 1) * width;
        let mut sum = vec![0.0_f32; width];
        for values in pieces.iter().filter_map(|piece| values.get(row(*piece))) {
            for (sum, value) in sum.iter_mut().zip(values) {
                *sum += value / pieces.len() as f32;
            }
        }
        if let Some(values) = values.get_mut(row(*token)) {
            values.copy_from_slice(&sum);
        }
    }
    if let Some(first) = shape.first_mut() {
        *first = rows.max(old);
    }
    TensorData::new(values, shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_rows_stay_and_new_ones_are_a_mean() {
        let data = TensorData::new(vec![1.0_f32, 2.0, 3.0, 6.0], [2, 2]);
        let grown = with_rows(&data, 4, &[]);
        assert_eq!(grown.shape().to_vec(), [4, 2]);
        let values: Vec<f32> = grown.iter().collect();
        assert_eq!(values, [1.0, 2.0, 3.0, 6.0, 2.0, 4.0, 2.0, 4.0]);
        let bias = with_rows(&TensorData::new(vec![1.0_f32, 3.0], [2]), 3, &[]);
        let values: Vec<f32> = bias.iter().collect();
        assert_eq!(values, [1.0, 3.0, 2.0]);
        // Row 2 is a new character, rows 3 and 4 stand for two and three tokens.
        let pieces = [(3, vec![0, 1]), (4, vec![0, 0, 2])];
        let grown = with_rows(&TensorData::new(vec![0.0_f32, 6.0], [2, 1]), 5, &pieces);
        let values: Vec<f32> = grown.iter().collect();
        assert_eq!(values, [0.0, 6.0, 3.0, 3.0, 1.0]);
    }
}
