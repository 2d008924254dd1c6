//! A prepared dataset, in the form that the stages need.

use std::path::Path;

use myxtts_audio::units::Samples;
use myxtts_text::{
    CleanOptions, EncodeError, Language, LanguageError, Training, VocabError, Vocabulary,
    clean_with,
};

use crate::host_stage::Clip;
use crate::layout::Split;
use crate::prepare::{Manifest, PrepareError, Quarantined};
use crate::schedule::ClipLength;
use crate::units::{Codes, Tokens};

/// The clips of one split; all lists are in the same order.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The recording and the text of each clip.
    pub clips: Vec<Clip>,
    /// The lengths of the clips, counted with the vocabulary in use.
    pub lengths: Vec<ClipLength>,
    /// The lengths in samples, as the loader returns them.
    pub samples: Vec<Samples>,
    /// Hashes of the recordings; `None` where the manifest has none.
    pub contents: Vec<Option<[u8; 32]>>,
    /// The names of the clips in the manifest.
    pub ids: Vec<String>,
    /// The speaker of each clip, where the dataset names one.
    pub speakers: Vec<Option<String>>,
}

/// The reasons for which a prepared dataset cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// The manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] PrepareError),
    /// The manifest has a language tag that is not known.
    #[error("clip {id} of the manifest: {source}")]
    Language {
        /// The name of the clip in the manifest.
        id: String,
        /// What is wrong with its language tag.
        source: LanguageError,
    },
    /// A text cannot be encoded with this vocabulary.
    #[error("the transcript of clip {id} cannot be tokenised: {source}")]
    Encode {
        /// The name of the clip in the manifest.
        id: String,
        /// What is wrong with its text.
        source: EncodeError,
    },
    /// No vocabulary can be made from the texts.
    #[error(transparent)]
    Vocabulary(#[from] VocabError),
}

impl Corpus {
    /// Reads the clips of `split` from the manifest in `folder`.
    ///
    /// Tokens are counted here, not taken from the manifest, which may have been made with
    /// another vocabulary or with none.
    pub fn read(folder: &Path, split: Split, vocabulary: &Vocabulary) -> Result<Self, CorpusError> {
        let mut corpus = Self {
            clips: vec![],
            lengths: vec![],
            samples: vec![],
            contents: vec![],
            ids: vec![],
            speakers: vec![],
        };
        for Entry {
            id,
            clip,
            samples,
            content,
            speaker,
        } in entries(folder, split)?
        {
            let cleaned = clean_with(&clip.text, &clip.language, &CleanOptions::default());
            let tokens = vocabulary.encode(&cleaned.text, &clip.language);
            let tokens = tokens.map_err(|source| CorpusError::Encode {
                id: id.clone(),
                source,
            })?;
            corpus.lengths.push(ClipLength {
                text: Tokens(u32::try_from(tokens.len()).unwrap_or(u32::MAX)),
                audio: Codes::of(samples),
            });
            corpus.samples.push(samples);
            corpus.contents.push(content);
            corpus.clips.push(clip);
            corpus.ids.push(id);
            corpus.speakers.push(speaker);
        }
        Ok(corpus)
    }
}

impl Corpus {
    /// Adds the clips of another corpus.
    pub fn join(&mut self, other: Self) {
        self.clips.extend(other.clips);
        self.lengths.extend(other.lengths);
        self.samples.extend(other.samples);
        self.contents.extend(other.contents);
        self.ids.extend(other.ids);
        self.speakers.extend(other.speakers);
    }
}

impl Corpus {
    /// Removes the clips whose texts have more than `most` tokens, and returns them as well:
    /// `prepare` can judge texts only if it knows the vocabulary.
    pub fn without_long_texts(self, most: Tokens) -> (Self, Vec<Quarantined>) {
        let fits = |index: &usize| self.lengths[*index].text <= most;
        let (kept, long): (Vec<usize>, Vec<usize>) = (0..self.lengths.len()).partition(fits);
        let quarantined = |index: usize| Quarantined {
            reason: "text_too_long".to_owned(),
            why: format!(
                "{} tokens, but max_text_length is {}",
                self.lengths[index].text.0, most.0
            ),
            source: self.ids[index].clone(),
            audio: Some(self.clips[index].audio.display().to_string()),
            text: Some(self.clips[index].text.clone()),
        };
        let left_out = long.into_iter().map(quarantined).collect();
        let corpus = Self {
            clips: kept.iter().map(|i| self.clips[*i].clone()).collect(),
            lengths: kept.iter().map(|i| self.lengths[*i]).collect(),
            samples: kept.iter().map(|i| self.samples[*i]).collect(),
            contents: kept.iter().map(|i| self.contents[*i]).collect(),
            ids: kept.iter().map(|i| self.ids[*i].clone()).collect(),
            speakers: kept.iter().map(|i| self.speakers[*i].clone()).collect(),
        };
        (corpus, left_out)
    }
}

/// Returns the cleaned texts of a prepared dataset, of all splits, and their languages.
pub fn train_texts(folder: &Path) -> Result<(Vec<String>, Vec<Language>), CorpusError> {
    let (mut texts, mut languages) = (Vec::new(), Vec::new());
    for split in [Split::Train, Split::Validation] {
        for Entry { clip, .. } in entries(folder, split)? {
            texts.push(clean_with(&clip.text, &clip.language, &CleanOptions::default()).text);
            languages.push(clip.language);
        }
    }
    languages.sort();
    languages.dedup();
    Ok((texts, languages))
}

/// Trains a vocabulary on the texts of a prepared dataset, of all splits.
pub fn train_vocabulary(folder: &Path) -> Result<Vocabulary, CorpusError> {
    let (texts, languages) = train_texts(folder)?;
    let training = Training {
        languages,
        ..Training::default()
    };
    Ok(Vocabulary::train(texts, &training)?)
}

struct Entry {
    id: String,
    clip: Clip,
    samples: Samples,
    content: Option<[u8; 32]>,
    speaker: Option<String>,
}

fn entries(folder: &Path, split: Split) -> Result<Vec<Entry>, CorpusError> {
    let mut manifest = Manifest::open(folder)?;
    let mut entries = vec![];
    while let Some(clip) = manifest.next().transpose()? {
        if clip.split != split {
            continue;
        }
        let language: Language = clip
            .language
            .parse()
            .map_err(|source| CorpusError::Language {
                id: clip.id.clone(),
                source,
            })?;
        let (audio, content) = (manifest.audio(&clip), clip.content_hash());
        let spoken = Clip {
            audio,
            span: clip.span,
            text: clip.text,
            language,
        };
        entries.push(Entry {
            id: clip.id,
            clip: spoken,
            samples: clip.samples,
            content,
            speaker: clip.speaker,
        });
    }
    Ok(entries)
}
