//! Why a model cannot speak.

use std::path::PathBuf;

use myxtts_audio::units::{SampleRate, Seconds};
use myxtts_audio::{GriffinLimError, MelError};
use myxtts_model::dvae::DvaeConfigError;
use myxtts_model::generate::GenerateError;
use myxtts_model::gpt::TooLong;
use myxtts_model::hifigan::{HifiganConfigError, WaveError};
use myxtts_model::params::LoadError;
use myxtts_model::speaker::SpeakerConfigError;
use myxtts_text::{EncodeError, SplitError, VocabError};
use myxtts_weights::{Fault, WeightsError};

use crate::check::CardFault;
use crate::voice_file::VoiceFileError;

const CARD_FIX: &str = "take the config.json that was written with these weights, or import or \
                        train them again";

impl From<CardFault> for InferError {
    fn from(fault: CardFault) -> Self {
        Self::Field(fault)
    }
}

/// Why a model cannot speak.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InferError {
    /// There is nothing to speak with.
    #[error(
        "{} holds no trained model: {why}\n  \
         fix:   train one with `myxtts train`, import one with `myxtts import`, or name its folder",
        folder.display()
    )]
    NoCheckpoint {
        /// Where it was looked for.
        folder: PathBuf,
        /// What is missing there.
        why: String,
    },
    /// A run that has not trained its GPT.
    #[error(
        "{} cannot speak: it has a DVAE (step {step}) and no GPT yet\n  fix:   {fix}",
        folder.display()
    )]
    NoGpt {
        /// The run.
        folder: PathBuf,
        /// Of its newest checkpoint.
        step: u64,
        /// How it gets one.
        fix: String,
    },
    /// There is a model, and not the one that was asked for.
    #[error("{} has no best checkpoint: {why}\n  fix:   take its newest", folder.display())]
    NoBest {
        /// The run.
        folder: PathBuf,
        /// What is missing.
        why: String,
    },
    /// A file of weights.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A tensor that could not be made.
    #[error("tensor `{name}` cannot be stored: {fault}")]
    Tensor {
        /// Of the tensor.
        name: String,
        /// Why.
        fault: Fault,
    },
    /// A model card of another version.
    #[error(
        "the description of the model in config.json cannot be used: {0}\n  \
         fix:   use the version of this program that wrote it, or train again"
    )]
    Card(#[from] serde_json::Error),
    /// A field of a model card that cannot be read.
    #[error(
        "the description of the model in config.json cannot be used: its field `{field}`: {why}\n  \
         fix:   {CARD_FIX}"
    )]
    Unreadable {
        /// Its dotted path.
        field: String,
        /// The reader's words.
        why: String,
    },
    /// A field of a model card that cannot be true.
    #[error(
        "the description of the model in config.json cannot be used: `{}` is {}, but {}\n  \
         fix:   {CARD_FIX}",
        .0.field, .0.found, .0.needed
    )]
    Field(CardFault),
    /// Public files of a kind that is not spoken with.
    #[error("{0}\n  fix:   use files of XTTS v2, which were trained with the perceiver resampler")]
    NotXttsV2(String),
    /// Weights that lack a part.
    #[error("the weights have no {what}\n  fix:   {fix}")]
    Missing {
        /// The part.
        what: &'static str,
        /// Where to get it.
        fix: &'static str,
    },
    /// Weights that are not those of the card.
    #[error("the {part} cannot be loaded: {why}")]
    Load {
        /// The module.
        part: &'static str,
        /// Why.
        why: LoadError,
    },
    /// Sizes that are impossible.
    #[error(transparent)]
    Dvae(#[from] DvaeConfigError),
    /// Sizes that are impossible.
    #[error(transparent)]
    Hifigan(#[from] HifiganConfigError),
    /// Sizes that are impossible.
    #[error(transparent)]
    Speaker(#[from] SpeakerConfigError),
    /// Parts that do not belong together.
    #[error(
        "the GPT has {gpt} codes and the DVAE {dvae}: they were not trained together\n  \
         fix:   use a DVAE and a GPT of the same training or release"
    )]
    Codes {
        /// Of the GPT.
        gpt: u32,
        /// Of the DVAE.
        dvae: usize,
    },
    /// The vocabulary.
    #[error(transparent)]
    Vocabulary(#[from] VocabError),
    /// A front end, or a recording that is too short for it.
    #[error(transparent)]
    Mel(#[from] MelError),
    /// The way back from a mel.
    #[error(transparent)]
    GriffinLim(#[from] GriffinLimError),
    /// A way to make sound that the model does not have.
    #[error("the model cannot make audio: it has neither a waveform decoder nor a DVAE")]
    NoVocoder,
    /// A voice that was made without the waveform decoder's part.
    #[error(
        "the voice was stored by a model without a waveform decoder, and this one needs its vector\n  \
         fix:   make the voice again from its recordings with this model, or speak with --vocoder griffin-lim"
    )]
    NoVoiceVector,
    /// No recording of the voice.
    #[error("a voice needs at least one recording of the speaker, and none was given")]
    NoReference,
    /// A recording that says too little.
    #[error(
        "a recording of {found} is too short for a voice: at least {least} are needed\n  \
         fix:   use a few seconds of clean speech, without the silence around it"
    )]
    ShortReference {
        /// Of the recording.
        found: Seconds,
        /// The shortest accepted.
        least: Seconds,
    },
    /// A recording without sound.
    #[error(
        "a recording of {length} is silent: its highest sample is {peak:.5} of full scale\n  \
         fix:   use a few seconds of clean speech"
    )]
    SilentReference {
        /// Of the recording.
        length: Seconds,
        /// Its highest sample.
        peak: f32,
    },
    /// A recording at another rate.
    #[error(
        "the recording is at {found}, but the model needs {needed}: \
         load it with `myxtts_audio::Loader` as the model card says"
    )]
    Rate {
        /// Of the recording.
        found: SampleRate,
        /// Of the model.
        needed: SampleRate,
    },
    /// No text.
    #[error("there is nothing to say: the text is empty")]
    NoText,
    /// A text that has no sound.
    #[error(
        "there is nothing to say in `{text}`: {why}\n  \
         fix:   write out what should be heard, in letters that the model was trained on"
    )]
    Unspeakable {
        /// Its beginning.
        text: String,
        /// Why it has none.
        why: &'static str,
    },
    /// A file of a voice.
    #[error(transparent)]
    VoiceFile(#[from] VoiceFileError),
    /// A voice that this model cannot speak with.
    #[error("the voice `{name}` cannot be used: {why}\n  fix:   {fix}")]
    Voice {
        /// Its name, or its file.
        name: String,
        /// Why not.
        why: String,
        /// What to do.
        fix: &'static str,
    },
    /// A language the model has no tag for.
    #[error(transparent)]
    Language(#[from] EncodeError),
    /// A text that cannot be cut to fit.
    #[error(
        "the text cannot be split to fit the model: `{}` alone is {} tokens with its language, and \
         the model reads {}\n  fix:   use a model with room for longer texts",
        .0.character, .0.tokens, .0.limit
    )]
    TooLong(SplitError),
    /// Making codes.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// Making sound.
    #[error(transparent)]
    Wave(#[from] WaveError),
    /// A recording that is too long to be copied.
    #[error(transparent)]
    TooLongToCopy(#[from] TooLong),
    /// A text that is longer than one breath.
    #[error(
        "a recording is copied in one piece, but its text is split into {pieces}\n  \
         fix:   split the recording at its sentences"
    )]
    CopyInPieces {
        /// Of the text.
        pieces: usize,
    },
    /// The device.
    #[error(
        "the device failed while it made speech: {0}\n  \
         fix:   a device that is out of memory does this; use another device"
    )]
    Device(String),
}
