//! Why a model cannot speak.

use std::path::PathBuf;

use myxtts_audio::units::{SampleRate, Seconds};
use myxtts_audio::{GriffinLimError, MelError};
use myxtts_base::report;
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
    /// No trained model was found.
    #[error(
        "{}",
        report!(
            "{} holds no trained model: {why}", folder.display();
            fix: "train one with `myxtts train`, import one with `myxtts import`, or name its \
                  folder"
        )
    )]
    NoCheckpoint {
        /// The folder that was searched.
        folder: PathBuf,
        /// What is missing there.
        why: String,
    },
    /// The run has not trained its GPT yet.
    #[error(
        "{}",
        report!(
            "{} cannot speak: it has a DVAE (step {step}) and no GPT yet", folder.display();
            fix: "{fix}"
        )
    )]
    NoGpt {
        /// The folder of the run.
        folder: PathBuf,
        /// The step of its newest checkpoint.
        step: u64,
        /// How the run gets a GPT.
        fix: String,
    },
    /// The run has checkpoints, but not the best one that was asked for.
    #[error(
        "{}",
        report!(
            "{} has no best checkpoint: {why}", folder.display();
            fix: "take its newest"
        )
    )]
    NoBest {
        /// The folder of the run.
        folder: PathBuf,
        /// What is missing there.
        why: String,
    },
    /// A file of weights cannot be read or written.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A tensor cannot be stored in a file.
    #[error("tensor `{name}` cannot be stored: {fault}")]
    Tensor {
        /// The name of the tensor.
        name: String,
        /// What is wrong with the tensor.
        fault: Fault,
    },
    /// The model card is of another version.
    #[error(
        "{}",
        report!(
            "the description of the model in config.json cannot be used: {}", .0;
            fix: "use the version of this program that wrote it, or train again"
        )
    )]
    Card(#[from] serde_json::Error),
    /// A field of the model card cannot be read.
    #[error(
        "{}",
        report!(
            "the description of the model in config.json cannot be used: its field `{field}`: {why}";
            fix: "{CARD_FIX}"
        )
    )]
    Unreadable {
        /// The dotted path of the field.
        field: String,
        /// What the parser said.
        why: String,
    },
    /// A field of the model card cannot be true.
    #[error(
        "{}",
        report!(
            "the description of the model in config.json cannot be used: `{}` is {}, but {}",
            .0.field, .0.found, .0.needed;
            fix: "{CARD_FIX}"
        )
    )]
    Field(CardFault),
    /// The public files are of a model that this program cannot speak with.
    #[error(
        "{}",
        report!(
            "{}", .0;
            fix: "use files of XTTS v2, which were trained with the perceiver resampler"
        )
    )]
    NotXttsV2(String),
    /// The weights lack a part.
    #[error(
        "{}",
        report!(
            "the weights have no {what}";
            fix: "{fix}"
        )
    )]
    Missing {
        /// The part that is missing.
        what: &'static str,
        /// Where to get the part.
        fix: &'static str,
    },
    /// The weights are not those that the card describes.
    #[error("the {part} cannot be loaded: {why}")]
    Load {
        /// The module that cannot be loaded.
        part: &'static str,
        /// Which tensor does not fit.
        why: LoadError,
    },
    /// The card's DVAE sizes are impossible.
    #[error(transparent)]
    Dvae(#[from] DvaeConfigError),
    /// The card's waveform decoder sizes are impossible.
    #[error(transparent)]
    Hifigan(#[from] HifiganConfigError),
    /// The card's speaker encoder sizes are impossible.
    #[error(transparent)]
    Speaker(#[from] SpeakerConfigError),
    /// The GPT and the DVAE do not belong together.
    #[error(
        "{}",
        report!(
            "the GPT has {gpt} codes and the DVAE {dvae}: they were not trained together";
            fix: "use a DVAE and a GPT of the same training or release"
        )
    )]
    Codes {
        /// The number of codes of the GPT.
        gpt: u32,
        /// The number of codes of the DVAE.
        dvae: usize,
    },
    /// The vocabulary cannot be read.
    #[error(transparent)]
    Vocabulary(#[from] VocabError),
    /// A mel front end cannot be made, or a recording is too short for it.
    #[error(transparent)]
    Mel(#[from] MelError),
    /// Griffin-Lim cannot turn the mel into a waveform.
    #[error(transparent)]
    GriffinLim(#[from] GriffinLimError),
    /// The model has neither of the two vocoders.
    #[error(
        "{}",
        report!(
            "the model cannot make audio: it has neither a waveform decoder nor a DVAE";
            fix: "give --checkpoint a folder of weights that have one of them"
        )
    )]
    NoVocoder,
    /// The voice lacks the vector that the waveform decoder needs.
    #[error(
        "{}",
        report!(
            "the voice was stored by a model without a waveform decoder, and this one needs its \
             vector";
            fix: "make the voice again from its recordings with this model, or speak with \
                  --vocoder griffin-lim"
        )
    )]
    NoVoiceVector,
    /// No recording of the voice was given.
    #[error(
        "{}",
        report!(
            "a voice needs at least one recording of the speaker, and none was given";
            fix: "give a few seconds of clean speech with --speaker-wav"
        )
    )]
    NoReference,
    /// A recording is too short to hear a voice in.
    #[error(
        "{}",
        report!(
            "a recording of {found} is too short for a voice: at least {least} are needed";
            fix: "use a few seconds of clean speech, without the silence around it"
        )
    )]
    ShortReference {
        /// The length of the recording.
        found: Seconds,
        /// The shortest length that is accepted.
        least: Seconds,
    },
    /// A recording is silent.
    #[error(
        "{}",
        report!(
            "a recording of {length} is silent: its highest sample is {peak:.5} of full scale";
            fix: "use a few seconds of clean speech"
        )
    )]
    SilentReference {
        /// The length of the recording.
        length: Seconds,
        /// The highest sample, as a share of full scale.
        peak: f32,
    },
    /// A recording is at another sample rate.
    #[error(
        "{}",
        report!(
            "the recording is at {found}, but the model needs {needed}";
            fix: "load it with `myxtts_audio::Loader` as the model card says"
        )
    )]
    Rate {
        /// The sample rate of the recording.
        found: SampleRate,
        /// The sample rate that the model needs.
        needed: SampleRate,
    },
    /// The text is empty.
    #[error(
        "{}",
        report!(
            "there is nothing to say: the text is empty";
            fix: "give what should be heard with --text, or a file of it with --text-file"
        )
    )]
    NoText,
    /// Nothing in the text can be spoken.
    #[error(
        "{}",
        report!(
            "there is nothing to say in `{text}`: {why}";
            fix: "write out what should be heard, in letters that the model was trained on"
        )
    )]
    Unspeakable {
        /// The beginning of the text.
        text: String,
        /// Why nothing of it can be spoken.
        why: &'static str,
    },
    /// A voice file cannot be read.
    #[error(transparent)]
    VoiceFile(#[from] VoiceFileError),
    /// This model cannot speak with the voice.
    #[error(
        "{}",
        report!(
            "the voice `{name}` cannot be used: {why}";
            fix: "{fix}"
        )
    )]
    Voice {
        /// The name of the voice, or its file.
        name: String,
        /// Why it cannot be used.
        why: String,
        /// What the user can do.
        fix: &'static str,
    },
    /// The model has no tag for the language.
    #[error(transparent)]
    Language(#[from] EncodeError),
    /// The text cannot be split into pieces that fit the model.
    #[error(
        "{}",
        report!(
            "the text cannot be split to fit the model: `{}` alone is {} tokens with its language, \
             and the model reads {}", .0.character, .0.tokens, .0.limit;
            fix: "use a model with room for longer texts"
        )
    )]
    TooLong(SplitError),
    /// The GPT could not generate codes.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The waveform decoder could not make audio.
    #[error(transparent)]
    Wave(#[from] WaveError),
    /// The recording is too long to be copied.
    #[error(transparent)]
    TooLongToCopy(#[from] TooLong),
    /// The text of a recording to copy does not fit in one piece.
    #[error(
        "{}",
        report!(
            "a recording is copied in one piece, but its text is split into {pieces}";
            fix: "split the recording at its sentences"
        )
    )]
    CopyInPieces {
        /// The number of pieces that the text is split into.
        pieces: usize,
    },
    /// The device failed while speech was made.
    #[error(
        "{}",
        report!(
            "the device failed while it made speech: {}", .0;
            why: "a device that is out of memory does this";
            fix: "use another device"
        )
    )]
    Device(String),
}
